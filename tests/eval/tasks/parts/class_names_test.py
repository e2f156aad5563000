"""Names of classes in the cells of a table."""

from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.eval.tasks.parts import class_names
from robust_tfds.reading.column_files import ColumnFile, Texts
from tests import in_folder


def _file(**columns) -> ColumnFile:
  columns = {"example_id": ["x0", "x1"], **columns}
  texts = {name: Texts.of(column) for name, column in columns.items()}
  return ColumnFile("mine.csv", list(texts), texts)


class ClassNamesTest(in_folder.TestCase):
  @parameterized.parameters(
    (["dog", "cat"], ["cat", " dog "], (), (), [1, 0], [0, 1]),
    (["dog", "cat"], ["owl", "1"], ("owl", "dog", "cat"), (), [1, 2], [0, 1]),
    (["dog", "cat"], ["0", "dog"], (), ("owl", "dog", "cat"), [1, 2], [0, 1]),
    (["1", "0"], ["owl", "1,0"], ("owl", "dog"), (), [1, 0], [0, 1]),
    (["10", "2.0"], ["2", "10"], ("10", "2"), (), [0, 1], [1, 0]),
    (["3", "4.0"], ["3", ""], (), ("owl",), [3, 4], [3, class_names.EMPTY]),
  )
  def test_numbers(self, label, top1, names, of_set, *expected):
    file = _file(label=label, top1=top1)
    file, _ = class_names.numbered(file, ["top1"], names, of_set)
    got = [file.numbers(n).tolist() for n in ("label", "top1")]
    self.assertEqual(got, list(expected))

  @parameterized.parameters(
    (["dog", "cat"], ["cat", "dgo"], (), r"row 2 .'x1'.: .*mean 'dog'.*--cla"),
    (["dog", "cat"], ["0", "1"], (), "row 1 .*Unknown class '0'.* --classes"),
    (["10", "2"], ["3", "2"], ("10", "2"), "row 1 .*Unknown class '3'"),
    (["dog", ""], ["dog", "dog"], (), "'label', row 2 .'x1'. is empty"),
  )
  def test_what_is_no_class(self, label, top1, names, message):
    with self.assertRaisesRegex(errors.UserError, message):
      class_names.numbered(_file(label=label, top1=top1), ["top1"], names)

  @parameterized.parameters(
    ("cat\n", "1 names, expected"),
    ("cat\n\ndog\n", "line 2: empty, expected the name of class 1"),
    ("cat\ndog\ncat\n", "line 3: 'cat' stands twice"),
  )
  def test_files(self, text, message):
    path = self.root / "names.txt"
    path.write_text("\ufeffcat \r\ndog\n\n")
    self.assertEqual(class_names.read(path), ("cat", "dog"))
    path.write_text(text)
    with self.assertRaisesRegex(errors.UserError, message):
      class_names.read(path)
