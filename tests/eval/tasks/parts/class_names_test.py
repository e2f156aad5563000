"""Names of classes in the cells of a table."""

from absl.testing import parameterized

from eval.tasks.parts import class_names
from robust_tfds import errors
from robust_tfds.reading.column_files import ColumnFile, Texts
from tests import in_folder


def _file(**columns) -> ColumnFile:
  columns = {"example_id": ["x0", "x1"], **columns}
  texts = {name: Texts.of(column) for name, column in columns.items()}
  return ColumnFile("mine.csv", list(texts), texts)


class ClassNamesTest(in_folder.TestCase):
  def _numbers(self, label, top1, names, dataset="mine_c"):
    path = self.root / "names.txt"
    path.write_text("\n".join(names))
    file = _file(label=label, top1=top1)
    classes = class_names.Classes.of(dataset, path if names else None, label)
    return [
      classes.column(file, name, name == "top1").tolist()
      for name in ("label", "top1")
    ]

  @parameterized.parameters(
    (["dog", "cat"], ["cat", " dog "], (), [1, 0], [0, 1]),
    (["dog", "cat"], ["owl", "1"], ("owl", "dog", "cat"), [1, 2], [0, 1]),
    (["1", "0"], ["owl", "1,0"], ("owl", "dog"), [1, 0], [0, 1]),
    (["10", "2.0"], ["2", "10"], ("10", "2"), [0, 1], [1, 0]),
    (["07", "7"], ["7", "07"], ("7", "07"), [1, 0], [0, 1]),
    (["3", "4.0"], ["3", ""], (), [3, 4], [3, class_names.EMPTY]),
    (["dog", "cat"], ["0", "dog"], (), [5, 3], [0, 5], "cifar10_c"),
    (["3", "4"], ["9", "0"], (), [3, 4], [9, 0], "cifar10_c"),
  )
  def test_numbers(self, label, top1, names, labels, predicted, *dataset):
    got = self._numbers(label, top1, names, *dataset)
    self.assertEqual(got, [labels, predicted])

  @parameterized.parameters(
    (["dog", "cat"], ["cat", "dgo"], (), r"row 2 .'x1'.: .*mean 'dog'.*--cla"),
    (["dog", "cat"], ["0", "1"], (), "row 1 .*Unknown class '0'.* --classes"),
    (["10", "2"], ["3", "2"], ("10", "2"), "row 1 .*Unknown class '3'"),
    (["dog", ""], ["dog", "dog"], (), "'label', row 2 .'x1'. is empty"),
    (["1", "x"], ["1", "2"], (), "got 'x', expected a whole number"),
    (
      ["1", "-1"],
      ["1", "2"],
      (),
      "no class -1. Classes are whole numbers from",
    ),
    (["1", "10"], ["1", "2"], (), "has the classes 0-9; name", "cifar10_c"),
    (["1", "0"], ["1", "0"], ("a", "b"), "2 names, but cifar10_c", "cifar10_c"),
  )
  def test_what_is_no_class(self, label, top1, names, message, *dataset):
    with self.assertRaisesRegex(errors.UserError, message):
      self._numbers(label, top1, names, *dataset)

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
