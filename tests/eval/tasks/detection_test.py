"""Detection in the evaluator: what is kept, scored, shown; bad input."""

import collections
import json
import types

import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from eval.cells import table
from eval.cells.cell import Cell
from eval.metrics import detection as metrics
from eval.metrics import resampling
from eval.metrics.detection import coco
from eval.run import plan as plan_lib
from eval.tasks import base, detection
from eval.tasks.detections import masks, result_lists
from eval.tasks.headlines import headlines, stored_numbers
from robust_tfds import conditions
from robust_tfds.coco import rle
from robust_tfds.conditions import Condition
from tests import shared_data
from tests.eval import tiny_runs

_TASK = detection.Detection(base.Setting("coco_c"))


class RunTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tiny_runs.folder("detection")
    cls.rows = table.read(cls.folder / "table.csv")

  def test_rows(self):
    clean = {r.metric: r.value for r in table.select(self.rows, config="clean")}
    self.assertContainsSubset({"bbox/AP", "bbox/AP50", "bbox/AR100"}, clean)
    (p,) = table.select(self.rows, metric="p")
    self.assertEqual(p.value, clean["bbox/AP"])
    (mean,) = table.select(self.rows, metric="mean_ap", corruption="brightness")
    self.assertEqual(
      mean.note, "missing: brightness 2, brightness 4, brightness 5 (3 of 5)"
    )
    (mpc,) = table.select(self.rows, metric="mpc")  # two corruptions
    self.assertFalse(mpc.has_value)
    self.assertIn("(71 of 75)", mpc.note)
    truth = json.loads((self.folder / "truth.json").read_text())
    self.assertLen(truth["images"], 20)

  def test_reports(self):
    names = {p.name for p in (self.folder / "reports").iterdir()}
    self.assertContainsSubset(
      {
        "summary.txt",
        "leaderboard.md",
        "cells.md",
        "detection_bars.png",
        "detection_gallery.png",
        "report.html",
      },
      names,
    )

  def test_another_codec_on_the_fly(self):
    with self.assertRaisesRegex(ValueError, "cannot be made on the fly"):
      plan_lib.make(tiny_runs.config("detection", codec="jpeg85"))


def _truth():
  return {
    "images": [{"id": 4, "width": 50, "height": 40, "file_name": "a.png"}],
    "categories": [{"id": 1, "name": "cat"}, {"id": 7, "name": "dog"}],
    "annotations": [
      {
        "id": 1,
        "image_id": 4,
        "category_id": 7,
        "bbox": [5.0, 5, 20, 20],
        "area": 400.0,
        "iscrowd": 0,
      }
    ],
  }


def _predicted(box=(5, 5, 25, 25), label=1, **more):
  return {
    "example_id": np.array(["a.png"]),
    "group_id": np.array(["a.png"]),
    "image_id": np.array([4]),
    "boxes": np.array([[box, (0, 0, 0, 0)]], np.float32),
    "scores": np.array([[0.9, 0]], np.float32),
    "classes": np.array([[label, -1]], np.int16),
    **more,
  }


class ScoreTest(absltest.TestCase):
  def _values(self, dataset, predicted):
    task = detection.Detection(base.Setting(dataset))
    cell = Cell("m", dataset, Condition())
    rows = task.cell_rows(cell, predicted, _truth())
    return {r.metric: r.value for r in rows}

  def test_labels_become_category_ids(self):
    values = self._values("coco_c", _predicted())
    self.assertAlmostEqual(values["bbox/AP"], 1.0)
    self.assertEqual(self._values("coco_c", _predicted(label=0))["bbox/AP"], 0)
    with self.assertRaisesRegex(ValueError, "has the label 2"):
      self._values("coco_c", _predicted(label=2))

  def test_voc_rules_for_pascal(self):
    self.assertEqual(self._values("pascal_c", _predicted()), {"bbox/AP50": 1.0})

  def test_masks(self):
    gt = _truth()
    outputs = {
      "boxes": np.array([[(5, 5, 25, 25), (0, 0, 0, 0)]], np.float32),
      "classes": np.array([[1, -1]]),
      "masks": np.ones((1, 2, 28, 28), np.float32),
    }
    (text,) = masks.texts(outputs, [0], np.array([[40, 50]]))
    whole = rle.decode(rle.Mask(text, (40, 50)))
    self.assertEqual(whole.sum(), 400)
    self.assertTrue(whole[5:25, 5:25].all())
    gt["annotations"][0]["segmentation"] = {"size": [40, 50], "counts": text}
    cell = Cell("m", "coco_c", Condition())
    rows = _TASK.cell_rows(cell, _predicted(masks=np.array([text])), gt)
    values = {r.metric: r.value for r in rows}
    self.assertAlmostEqual(values["segm/AP"], 1.0)

  def test_what_the_gallery_says(self):
    kinds = [o.kind for o in _TASK.overlays("a.png", _predicted(), _truth(), 0)]
    self.assertEqual(kinds, ["hit"])
    least, why = _TASK.overlay_limit(_predicted(), _truth())
    self.assertAlmostEqual(least, 0.9)
    self.assertIn("at least 0.90, where F1 at IoU 0.5 is highest (1.00)", why)


def _benchmark(conditions_):
  """A results list of every condition: the worse, the fewer detections."""
  truth = shared_data.golden_json(
    "detection", "coco", "typical_200x10", "gt.json.gz"
  )
  results = shared_data.golden_json(
    "detection", "coco", "typical_200x10", "dt_bbox.json.gz"
  )
  truth["images"] = truth["images"][:40]
  count = collections.Counter(a["category_id"] for a in truth["annotations"])
  common = [c for c, _ in count.most_common(3)]
  truth["categories"] = [c for c in truth["categories"] if c["id"] in common]
  ids = {
    "image_id": {i["id"] for i in truth["images"]},
    "category_id": {c["id"] for c in truth["categories"]},
  }

  def kept(rows):
    return [r for r in rows if all(r[k] in few for k, few in ids.items())]

  truth["annotations"] = kept(truth["annotations"])
  results = kept(results)
  rng, cells = np.random.default_rng(0), []
  for condition in conditions_:
    share = 1 - 0.15 * condition.level
    some = [r for r in results if rng.random() < share]
    cell = Cell("m", "coco_c", condition)
    cells.append((cell, result_lists.columns(some, truth)))
  return truth, cells


class IntervalTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    shown = conditions.PICTURES.select("common", (1, 2, 3, 4, 5))
    cls.truth, cls.cells = _benchmark(shown)
    cls.scored = _TASK.score(cls.cells, cls.truth)
    cls.rows = cls.scored.rows

  def _row(self, metric, **more):
    (row,) = table.select(self.rows, metric=metric, **more)
    return row

  def test_headlines_have_intervals(self):
    for metric in ("p", "mpc", "rpc"):
      row = self._row(metric)
      self.assertLess(row.lo, row.value)
      self.assertGreater(row.hi, row.value)
      self.assertLess(row.hi - row.lo, 0.4)
      self.assertEqual(row.n, 40)
    for row in table.select(self.rows, metric="mean_ap"):
      self.assertLess(row.lo, row.value)
    for row in table.select(self.rows, metric="bbox/AP75"):
      point = "every draw gives this value" in row.note  # 0 without any block
      self.assertEqual(row.hi is None, point)
      self.assertEqual(point, row.value == 0)
    p, clean = self._row("p"), self._row("bbox/AP", config="clean")
    self.assertEqual((p.value, p.lo, p.hi), (clean.value, clean.lo, clean.hi))

  def test_one_block_is_left_out_of_all_conditions(self):
    draws = resampling.Draws.from_groups(
      _TASK.group_ids(self.cells[0][1], self.truth), blocks=100
    )
    groups = np.array([str(i["id"]) for i in self.truth["images"]])
    rest = [int(g) for g in groups[draws.blocks_of(groups) != 7]]
    aps = []
    for _, columns in self.cells:
      found = result_lists.detections("bbox", columns, self.truth)
      aps.append(
        metrics.coco_ap(
          self.truth, found.rows(), image_ids=rest, backend=coco.fastest()
        )["AP"]
      )
    got = self.scored.headlines["m"]
    mpc = got["mpc", "", None]
    self.assertAlmostEqual(mpc.jackknife[7], np.mean(aps[1:]))
    ratio = got["rpc", "", None].jackknife[7]
    self.assertAlmostEqual(ratio, np.mean(aps[1:]) / aps[0])
    lo, hi = mpc.interval()
    row = self._row("mpc")
    self.assertAlmostEqual(row.lo, max(lo, 0))
    self.assertAlmostEqual(row.hi, hi)
    self.assertAlmostEqual(row.value, float(mpc.value))

  def test_headlines_are_the_rows_over_cells(self):
    values = {
      Condition(r.corruption, r.severity): {
        r.metric: headlines.value_alone(r.value)
      }
      for r in self.rows
      if r.metric == "bbox/AP"
    }
    got = _TASK.over_cells(values)
    over = {
      (r.metric, r.corruption, None): r.value for r in self.rows if not r.config
    }
    self.assertEqual(set(got), {k for k, v in over.items() if v == v})
    for key, number in got.items():
      self.assertAlmostEqual(float(number.value), over[key])

  def test_numbers_of_others_have_none_and_say_so(self):
    columns = stored_numbers.columns({"bbox/AP": 0.25})
    (row,) = _TASK.cell_rows(self.cells[0][0], columns)
    self.assertIsNone(row.lo)
    self.assertEqual(row.note, "no interval: read without detections")
    self.assertEmpty(_TASK.group_ids(columns))

  def test_numbers_of_others_have_headlines(self):
    cells = [
      (cell, stored_numbers.columns({"bbox/AP": 0.5 * bool(cell.name)}))
      for cell, _ in self.cells
    ]
    scored = _TASK.score(cells)
    over = {r.metric: r for r in scored.rows if not r.config}
    mpc, rpc = over["mpc"], over["rpc"]
    why = "no interval: values alone"
    self.assertEqual(
      (mpc.value, mpc.lo, mpc.n, mpc.note), (0.5, None, None, why)
    )
    self.assertFalse(rpc.has_value)
    self.assertEqual(rpc.note, "undefined: P is 0")
    self.assertEqual(scored.headlines, {"m": {}})


class ReduceTest(absltest.TestCase):
  def test_sorted_and_cleared(self):
    got = detection.reduce(
      {
        "boxes": jnp.arange(12.0).reshape(1, 3, 4),
        "scores": jnp.array([[0.2, jnp.nan, 0.7]]),
        "classes": jnp.array([[1, 2, 3]]),
        "valid": jnp.array([[True, False, True]]),
      },
      jnp.array([-1]),
    )
    np.testing.assert_allclose(got["scores"], [[0.7, 0.2, 0.0]], rtol=1e-6)
    self.assertEqual(got["classes"].tolist(), [[3, 1, -1]])

  def test_columns(self):
    batch = types.SimpleNamespace(
      mask=np.array([True, False]),
      example_id=["a", ""],
      group_id=["a", ""],
      frame=np.zeros(2, np.int32),
      label=np.array([-1, -1], np.int32),
      examples=[{"image_id": 4}],
      size=np.array([[4, 4], [4, 4]]),
    )
    outputs = {
      "boxes": np.zeros((2, 3, 4), np.float32),
      "scores": np.zeros((2, 3), np.float32),
      "classes": np.full((2, 3), -1),
    }
    got = _TASK.columns(batch, outputs, Condition())
    self.assertEqual(got["boxes"].shape, (1, 3, 4))
    facts = _TASK.example_columns(batch)
    self.assertEqual(facts["image_id"].tolist(), [4])
    self.assertEqual(facts["example_id"].tolist(), ["a"])
    self.assertNotIn("label", facts)
