"""Names of classes in the cells of a table."""

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.eval.tasks.parts import class_names
from robust_tfds.reading.column_files import ColumnFile, Texts
from tests import in_folder


def _file(label, top1) -> ColumnFile:
  ids = Texts.of([f"x{i}" for i in range(len(label))])
  columns = {
    n: np.array(v) if isinstance(v[0], int) else Texts.of(v)
    for n, v in (("label", label), ("top1", top1))
  }
  return ColumnFile("mine.csv", list(columns), {"example_id": ids, **columns})


class ClassNamesTest(in_folder.TestCase):
  @parameterized.parameters(
    (["dog", "cat"], ["cat", " dog "], (), [1, 0], [0, 1]),
    (["dog", "cat"], ["owl", "1"], ("owl", "dog", "cat"), [1, 2], [0, 1]),
    ([1, 0], ["owl", "1"], ("owl", "dog"), [1, 0], [0, 1]),
    ([1, 0], [0, 1], ("owl", "dog"), [1, 0], [0, 1]),
    ([10, 2], [2, 10], ("10", "2"), [0, 1], [1, 0]),  # names, no numbers
    ([3, 4], ["3", ""], (), [3, 4], [3, class_names.EMPTY]),
  )
  def test_numbers(self, label, top1, names, *expected):
    file, _ = class_names.numbered(_file(label, top1), ["top1"], names)
    got = [file.numbers(n).tolist() for n in ("label", "top1")]
    self.assertEqual(got, list(expected))

  @parameterized.parameters(
    (["dog", "cat"], ["cat", "dgo"], (), r"row 2 .'x1'.: .*mean 'dog'.*--cla"),
    (["dog", "cat"], ["cat", "dgo"], ("cat", "dog"), "row 2 .*mean 'dog'"),
    (["dog", "cat"], [0, 1], (), "'label' holds names .* 'top1' numbers"),
    ([1, 2], ["1", "dog"], (), "row 2: 'dog' is not a number.* --classes=FILE"),
    (["dog", ""], ["dog", "dog"], (), "'label', row 2 .'x1'. is empty"),
    (["1.0", "nan"], [0, 1], (), "row 2: expected a whole number, got nan"),
  )
  def test_what_is_no_class(self, label, top1, names, message):
    with self.assertRaisesRegex(errors.UserError, message):
      class_names.numbered(_file(label, top1), ["top1"], names)

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
