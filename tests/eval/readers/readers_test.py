"""Which reader files have."""

import pathlib

from absl.testing import parameterized

from eval import readers
from eval.readers import base
from tests import in_folder


class ChooseTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    for name in ("a.csv", "a.npz", "a.parquet", "a.json", "a.txt"):
      (self.root / name).write_text("")
    for name in ("run/config.json", "mine/clean.json", "other/x.txt"):
      (self.root / name).parent.mkdir()
      (self.root / name).write_text("")

  def _kind(self, *names, form=readers.AUTO, **options) -> str:
    paths = [self.root / name for name in names]
    return readers.choose(paths, form, base.Options(**options)).kind

  @parameterized.parameters(
    ("a.csv", {}, "a file of classifications"),
    ("a.npz", {}, "a file of classifications"),
    ("a.parquet", {}, "a file of classifications"),
    (
      "a.csv",
      {"metadata": pathlib.Path("x")},
      "a file of predictions on frames",
    ),
    ("a.npz", {"dataset": "ytbb_robust"}, "a file of predictions on frames"),
    ("a.json", {}, "a file of raw results"),
    ("mine", {}, "a folder of COCO results lists"),
    ("run", {}, "a workdir"),
  )
  def test_auto(self, name, options, kind):
    self.assertEqual(self._kind(name, **options), kind)

  def test_by_name(self):
    self.assertEqual(
      self._kind("a.txt", form="frames"), "a file of predictions on frames"
    )
    with self.assertRaisesRegex(ValueError, "Unknown format 'cvs'.*'csv'"):
      self._kind("a.txt", form="cvs")

  @parameterized.parameters("a.txt", "other")
  def test_nothing_fits(self, name):
    with self.assertRaisesRegex(ValueError, f"{name} is of no known format"):
      self._kind(name)

  def test_one_format_at_a_time(self):
    with self.assertRaisesRegex(
      ValueError, "a.csv is read as csv, .*run as wor"
    ):
      self._kind("a.csv", "run")
    with self.assertRaisesRegex(FileNotFoundError, "none.csv does not exist"):
      self._kind("none.csv")

  def test_every_format_says_what_it_is(self):
    for name in readers.names():
      reader = readers.get(name)
      self.assertNotEmpty(reader.kind)
      self.assertContainsSubset(
        reader.options, base.Options.__dataclass_fields__
      )
