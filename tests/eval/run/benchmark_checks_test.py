"""Predictions of another program, held against the set that is named."""

import json
import pathlib
import re

from absl.testing import parameterized

from eval.cells import table
from eval.readers import base
from eval.run.results import rescore
from robust_tfds import errors
from tests import in_folder
from tests.eval.readers import coco_test
from tests.eval.report.reports import without_pictures
from tests.faults import scored

# Clean and fog 1 of four examples.
_GOOD = scored.text(
  [name, level, f"x{i}", i, i]
  for name, level in (("", 0), ("fog", 1))
  for i in range(4)
)


class OutsideTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.out = self.root / "out"
    self.enterContext(without_pictures.written())

  def _file(self, text=_GOOD) -> pathlib.Path:
    path = self.root / "mine.csv"
    path.write_text(text)
    return path

  def _score(self, path, **options) -> None:
    rescore.score([path], self.out, base.Options(**options))

  def _refused(self, message, path, **options) -> None:
    with self.assertRaisesRegex(errors.UserError, message):
      self._score(path, **options)

  def _ids(self, *ids) -> str:
    """A file of ids."""
    path = self.root / "ids.txt"
    path.write_text("\n".join(ids))
    return str(path)

  def _table(self) -> list[table.Row]:
    return table.read(self.out / "table.csv")

  @parameterized.parameters(
    ({"dataset": "imagenet_c"}, "4 examples, but imagenet_c has 50,000"),
    ({"dataset": "cifar10_c"}, "cifar10_c has"),
    ({"dataset": "digits_c"}, "digits_c has no example 'x0'"),
    ({"baseline": "alexnet"}, "--baseline=alexnet: .* by --dataset"),
    ({"subset": "ids.txt"}, "--subset=ids.txt .* by --dataset"),
    ({"dataset": "imagenet_c", "subset": "robust"}, "--subset: got 'robust'"),
  )
  def test_a_set_that_these_are_not(self, settings, message):
    self._refused(message, self._file(), **settings)

  @parameterized.parameters("ImageNet-C", "imagenet-c", "IMAGENET_C")
  def test_another_spelling_of_a_set(self, dataset):
    self._refused("write imagenet_c", self._file(), dataset=dataset)

  def test_what_is_not_verified_is_said(self):
    rows = [["", 0, f"mine_{i}", i % 10, i % 10] for i in range(10_000)]
    self._score(self._file(scored.text(rows)), dataset="cifar10_c")
    report = (self.out / "reports" / "leaderboard.md").read_text()
    self.assertIn(
      "has these examples and no others; not verified: labels", report
    )

  def test_classes_of_a_named_set(self):
    path = self._file(_GOOD.replace("x1,1,1", "x1,1,1000"))
    self._refused("has the classes 0-999", path, dataset="imagenet_c")

  def test_labels_that_ids_of_a_named_set_tell(self):
    path = self._file(_GOOD.replace(",x", ",n01440764_"))
    subset = self._ids(*(f"n01440764_{i}" for i in range(4)))
    options = {"dataset": "imagenet_c", "subset": subset}
    self._refused("got 1, but its id says class 0", path, **options)

  def test_folders_of_pictures_name_no_class(self):
    text = re.sub(r",x([01]),", r",a/\1,", _GOOD)
    text = re.sub(r",x([23]),", r",b/\1,", text)
    self._score(self._file(text), dataset="mine_c")
    ids = [f"{folder}/{i}" for i, folder in enumerate("aabb")]
    options = {"dataset": "imagenet_c", "subset": self._ids(*ids)}
    self._score(self._file(text), **options)

  def test_a_part_of_a_named_set_is_said_in_every_row(self):
    options = {
      "dataset": "imagenet_c",
      "subset": self._ids("x0", "x1", "x2", "x3"),
    }
    self._score(self._file(), **options)
    for row in self._table():
      self.assertIn("4 of 50,000 published examples", row.note)
      self.assertIn("codec unknown (published: jpeg85)", row.note)
      self.assertIn("subset ids-", row.note)
    self._ids("x0", "x1", "x2")
    words = "1 of 4 examples are not in --subset=.*, e.g. 'x3'"
    self._refused(words, self._file(), **options)

  def test_a_baseline_of_another_set_than_anybody_knows(self):
    self._score(self._file(), dataset="mine_c", baseline="alexnet")
    (row,) = table.select(self._table(), metric="mce")
    self.assertIn(
      "of imagenet_c and imagenet_p, mine_c is an unknown set", row.note
    )

  def test_results_lists_of_a_named_set(self):
    folder = coco_test.write(self.root / "mine")
    truth = self.root / "truth.json"
    truth.write_text(json.dumps(coco_test.truth()))
    for settings, message in (
      ({"dataset": "imagenet_c"}, "it is a set of pictures, but .* objects"),
      ({"dataset": "coco_c"}, "3 examples, but coco_c has 5,000"),
      (
        {"dataset": "coco_c", "subset": self._ids(*"123")},
        "2 classes, but coco_c has 80",
      ),
    ):
      self._refused(message, folder, truth=truth, **settings)
    self._score(folder, truth=truth)
    self.assertEqual({r.dataset for r in self._table()}, {"unnamed"})
