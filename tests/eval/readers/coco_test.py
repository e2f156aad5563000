"""Result files of other frameworks, one a cell."""

import json
import pathlib
import subprocess
import sys

import numpy as np
from absl.testing import absltest

from eval.metrics import detection
from eval.readers import coco as score_detections
from eval.results import table
from robust_tfds import conditions


def _truth():
  return {
    "images": [{"id": i, "width": 100, "height": 80} for i in (1, 2, 3)],
    "categories": [{"id": 5, "name": "cat"}, {"id": 9, "name": "dog"}],
    "annotations": [
      {
        "id": i,
        "image_id": i,
        "category_id": 5 if i < 3 else 9,
        "bbox": [10.0 * i, 5, 30, 40],
        "area": 1200,
        "iscrowd": 0,
      }
      for i in (1, 2, 3)
    ],
  }


def _results(shift):
  return [
    {
      "image_id": a["image_id"],
      "category_id": a["category_id"],
      "bbox": [a["bbox"][0] + shift, *a["bbox"][1:]],
      "score": 0.9,
    }
    for a in _truth()["annotations"]
  ]


class ScoreDetectionsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.folder = self.root / "mine"
    self.folder.mkdir()
    self._put("clean", 0)
    for i, name in enumerate(conditions.PICTURES.names("all")):
      for s in range(1, 6):
        self._put(f"{name}_{s}", s + i / 10)

  def _put(self, config, shift):
    (self.folder / f"{config}.json").write_text(json.dumps(_results(shift)))

  def _rows(self, rules="coco"):
    return score_detections.rows([self.folder], _truth(), "coco_c", rules)

  def test_table(self):
    rows = self._rows()
    cells = {
      n: [
        table.select(rows, config=f"{n}_{s}", metric="bbox/AP")[0].value
        for s in range(1, 6)
      ]
      for n in conditions.PICTURES.names("all")
    }
    clean = table.select(rows, config="clean", metric="bbox/AP")[0].value
    self.assertAlmostEqual(clean, 1.0)
    for scope, suffix in (("benchmark", ""), ("all", "_all")):
      want = detection.summarize(cells, clean, scope)
      for key in ("mpc", "rpc"):
        (row,) = table.select(rows, metric=f"{key}{suffix}", corruption="")
        self.assertAlmostEqual(row.value, want[key], delta=1e-12)
    (fog,) = table.select(rows, metric="mean_ap", corruption="fog")
    self.assertAlmostEqual(fog.value, np.mean(cells["fog"]))

  def test_voc_rules(self):
    rows = self._rows("voc")
    self.assertEqual(
      table.select(rows, config="clean", metric="bbox/AP50")[0].value, 1.0
    )
    self.assertNotEmpty(table.select(rows, metric="mpc"))

  def test_an_incomplete_folder_has_no_mean(self):
    (self.folder / "fog_3.json").unlink()
    rows = self._rows()
    self.assertEmpty(table.select(rows, metric="mpc"))
    self.assertNotEmpty(table.select(rows, metric="mpc_validation"))

  def test_refusals(self):
    (self.folder / "fogg_3.json").write_text("[]")
    with self.assertRaisesRegex(ValueError, "fogg_3.json is named after no"):
      self._rows()
    (self.folder / "fogg_3.json").unlink()
    (self.folder / "fog_3.json").write_text("[{")
    with self.assertRaisesRegex(ValueError, "fog_3.json"):
      self._rows()
    bad = _results(0)
    bad[1]["category_id"] = 6
    (self.folder / "fog_3.json").write_text(json.dumps(bad))
    for rules in ("coco", "voc"):
      with self.assertRaisesRegex(ValueError, "fog_3.json: Detection 1"):
        self._rows(rules)
    self._put("fog_3", 1)
    (self.folder / "clean.json").unlink()
    with self.assertRaisesRegex(ValueError, "holds no clean.json"):
      self._rows()

  def test_nothing_found_anywhere(self):
    for path in self.folder.glob("*.json"):
      path.write_text("[]")
    rows = self._rows()
    self.assertEqual(table.select(rows, metric="mpc")[0].value, 0.0)
    self.assertEmpty(table.select(rows, metric="rpc"))

  def test_command(self):
    truth = self.root / "truth.json"
    truth.write_text(json.dumps(_truth()))
    out = self.root / "out"
    done = subprocess.run(
      [
        sys.executable,
        "-m",
        "eval.readers.coco",
        f"--truth={truth}",
        f"--results={self.folder}",
        f"--out={out}",
      ],
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("mPC", done.stdout)
    names = {p.name for p in (out / "reports").iterdir()}
    self.assertContainsSubset(
      {"leaderboard.md", "cells.md", "detection_bars.png", "report.html"}, names
    )


if __name__ == "__main__":
  absltest.main()
