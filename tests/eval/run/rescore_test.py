"""Files and runs in, a workdir with table and reports out."""

import json
import pathlib

import pytest
from absl.testing import parameterized

from eval.cells import table
from eval.cells.workdir import Workdir
from eval.readers import base
from eval.run.results import rescore
from tests import in_folder
from tests.datasets import natural_videos
from tests.eval import tiny_runs
from tests.eval.compare import small_runs
from tests.eval.readers import (
  coco_test,
  csv_test,
  readers_test,
)
from tests.eval.report.reports import without_pictures

_ROOT = pathlib.Path(__file__).resolve().parents[3]


class RescoreTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.out = self.root / "out"

  def _score(self, *paths, **options) -> str:
    return rescore.score(paths, self.out, base.Options(**options))

  def _csv(self, name="mine.csv", names=("fog",)) -> pathlib.Path:
    return csv_test.write(csv_test.rows_of(names), self.root / name)

  def _again(self) -> bytes:
    """The table of what was scored, scored once more."""
    first = (self.out / "table.csv").read_bytes()
    with without_pictures.written():
      rescore.score([self.out], self.root / "again", base.Options())
    self.assertFalse((self.root / "again" / "cells").exists())
    self.assertEqual((self.root / "again" / "table.csv").read_bytes(), first)
    return first

  def test_csv(self):
    text = self._score(self._csv())
    self.assertIn("unnamed: 1 model(s)", text)
    workdir = Workdir(self.out)
    self.assertLen(workdir.cells(), 6)
    self.assertEqual(workdir.config().task, "classification")
    self.assertTrue((self.out / "reports" / "report.html").exists())
    self._again()

  def test_frames(self):
    natural_videos.vid(self.root)
    from eval.readers import frames

    reviewed = frames.reviewed("imagenet_vid_robust", self.root)
    rows = [(f.example_id, f.labels[0], "m") for f in reviewed]
    path = readers_test.write(self.root / "mine.csv", rows)
    text = self._score(path, metadata=self.root)
    self.assertIn("imagenet_vid_robust: 1 model(s)", text)
    self.assertTrue((self.out / "reports").exists())
    self._again()

  def test_coco(self):
    folder = coco_test.write(self.root / "mine")
    truth = self.root / "truth.json"
    truth.write_text(json.dumps(coco_test.truth()))
    text = self._score(folder, truth=truth)
    self.assertIn("mPC", text)
    self.assertEqual(Workdir(self.out).truth(), coco_test.truth())
    self._again()

  @pytest.mark.slow
  def test_raw_results(self):
    with without_pictures.written():
      text = self._score(*readers_test.files())
    self.assertIn("\n44 of 48 printed numbers agree", text)
    self.assertEqual(
      (self.out / "tables.md").read_text(),
      (_ROOT / "docs" / "evidence" / "DETECTION_TABLES.md").read_text(),
    )
    names = {p.name for p in (self.out / "reports").iterdir()}
    self.assertEqual(names, {"cityscapes", "coco", "pascal_voc"})
    datasets = {r.dataset for r in table.read(self.out / "table.csv")}
    self.assertEqual(datasets, names)
    self._again()

  @parameterized.parameters(*tiny_runs.NAMES)
  def test_a_run_without_its_data_and_models(self, name):
    run = tiny_runs.folder(name)
    with without_pictures.written():
      self._score(run)
    self.assertEqual(
      (self.out / "table.csv").read_bytes(), (run / "table.csv").read_bytes()
    )
    self.assertFalse((self.out / "cells").exists())
    names = {p.name for p in (self.out / "reports").iterdir()}
    self.assertContainsSubset({"summary.txt", "report.html"}, names)

  @without_pictures.written()
  def test_parts_of_a_run_give_its_table(self):
    models, options = {"a": 0.1, "b": 0.3}, {"names": ("fog",)}
    options["baseline"] = "model:b"
    small_runs.write(self.root / "whole", models, **options)
    self._score(self.root / "whole")
    whole = (self.out / "table.csv").read_bytes()
    for name, odd in (("one", True), ("two", False)):
      chosen = lambda _, c, odd=odd: c.level % 2 == odd  # noqa: E731
      small_runs.write(self.root / name, models, chosen=chosen, **options)
    self._score(self.root / "two", self.root / "one")
    self.assertEqual((self.out / "table.csv").read_bytes(), whole)

  @without_pictures.written()
  def test_a_later_score_replaces_an_earlier_one(self):
    self._score(self._csv("one.csv", ("fog", "snow")))
    (self.out / "mine.txt").write_text("not ours")
    self._score(self._csv("two.csv"))
    self.assertEqual({c.model for c in Workdir(self.out).cells()}, {"two"})
    self.assertTrue((self.out / "mine.txt").exists())
    self._score(self._csv("one.csv"), self._csv("two.csv"))
    models = {r.model for r in table.read(self.out / "table.csv")}
    self.assertEqual(models, {"one", "two"})

  @without_pictures.written()
  def test_nothing_is_written_when_something_is_wrong(self):
    self._score(self._csv("one.csv"))
    before = (self.out / "table.csv").read_bytes()
    bad = self.root / "bad.csv"
    bad.write_text("corruption\nfog\n")
    with self.assertRaisesRegex(ValueError, "lacks the columns"):
      self._score(bad)
    with self.assertRaisesRegex(ValueError, "Unknown baseline"):
      self._score(self._csv("one.csv"), baseline="alexnett")
    self.assertEqual((self.out / "table.csv").read_bytes(), before)
    self.assertNotIn("out.unfinished", [p.name for p in self.root.iterdir()])
