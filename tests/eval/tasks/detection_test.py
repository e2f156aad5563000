"""Detection in the evaluator: what is kept, scored, shown; bad input."""

import json
import pathlib
import shutil
import tempfile
import types

import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest

from robust_tfds.conditions import Condition
from robust_tfds.configs import quickstart_detection
from robust_tfds.datasets import rle
from robust_tfds.eval.readers import base as readers
from robust_tfds.eval.results import table
from robust_tfds.eval.results.cell import Cell
from robust_tfds.eval.run import plan as plan_lib
from robust_tfds.eval.run import rescore
from robust_tfds.eval.run import runner
from robust_tfds.eval.tasks import base
from robust_tfds.eval.tasks import detection
from robust_tfds.eval.tasks.parts import masks
from robust_tfds.models.detection.detector import DetectorSpec
from tests.eval import read_counts

_TASK = detection.Detection(base.Setting("coco_c"))


class _Brightest:
  """Finds the brightest 20 x 20 patch of a picture and calls it a 1."""

  name = "brightest"
  spec = DetectorSpec(num_classes=10, label_space="digits", short_px=0)

  def init(self, key):
    del key
    return {"nothing": np.zeros(1, np.float32)}

  def apply(self, variables, images, sizes):
    del variables
    grey = images.astype(jnp.float32).mean(-1)
    cells = (
      grey.reshape(len(grey), 32, 4, 32, 4).mean((2, 4)).reshape(len(grey), -1)
    )
    best = cells.argmax(1)
    y, x = 4.0 * (best // 32), 4.0 * (best % 32)
    box = jnp.stack([x, y, x + 20, y + 20], -1)[:, None]
    limit = jnp.concatenate([sizes[:, ::-1]] * 2, 1)[:, None]
    n = len(grey)
    return {
      "boxes": jnp.concatenate(
        [jnp.minimum(box, limit), jnp.zeros((n, 1, 4))], 1
      ),
      "scores": jnp.tile(jnp.array([0.75, 0.0]), (n, 1)),
      "classes": jnp.tile(jnp.array([1, 0]), (n, 1)),
      "valid": jnp.tile(jnp.array([True, False]), (n, 1)),
    }


def build():
  """For `module:function` in configs."""
  return _Brightest()


def _config(**data):
  config = quickstart_detection.get_config().unlock()
  config.batch_size = 8
  config.data.update(
    {"corruptions": "gaussian_noise,brightness", "limit": 20, **data}
  )
  config.data.severities = (1, 3)
  config.model.name = "tests.eval.tasks.detection_test:build"
  config.model.label = "brightest"
  del config.model["train"]
  return config.lock()


class RunTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.base = pathlib.Path(tempfile.mkdtemp(prefix="detection_run"))
    cls.addClassCleanup(shutil.rmtree, cls.base)
    cls.rows = cls._run("first")

  @classmethod
  def _run(cls, name, **data):
    return runner.Runner(plan_lib.make(_config(**data)), cls.base / name).run()

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
    truth = json.loads((self.base / "first" / "truth.json").read_text())
    self.assertLen(truth["images"], 20)

  def test_reports(self):
    names = {p.name for p in (self.base / "first" / "reports").iterdir()}
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

  @pytest.mark.slow
  def test_prepared_equals_on_the_fly(self):
    read = self._run("prepared", source="prepared")
    for name, sets in (("first", 1), ("prepared", 5)):
      reads = read_counts.of(self.base / name)
      self.assertEqual(list(reads.values()), [1.0] * sets)  # each once

    def values(rows):
      return {(r.config, r.corruption, r.metric): r.value for r in rows}

    self.assertEqual(values(read), values(self.rows))

  def test_scored_again_it_is_the_same_table(self):
    out = self.base / "scored"
    rescore.score([self.base / "first"], out, readers.Options(), "auto")
    self.assertEqual(
      (out / "table.csv").read_bytes(),
      (self.base / "first" / "table.csv").read_bytes(),
    )

  def test_a_baseline_is_refused(self):
    config = _config().unlock()
    config.baseline = "alexnet"
    with self.assertRaisesRegex(ValueError, "has no baseline model"):
      plan_lib.make(config)

  def test_another_codec_on_the_fly(self):
    with self.assertRaisesRegex(ValueError, "cannot be made on the fly"):
      self._run("jpeg", codec="jpeg85")


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
    predicted = _predicted()
    kinds = [k for k, _, _ in _TASK.overlays("a.png", predicted, _truth())]
    self.assertEqual(kinds, ["hit"])
    predicted = _predicted(box=(30, 30, 40, 40))
    kinds = [k for k, _, _ in _TASK.overlays("a.png", predicted, _truth())]
    self.assertEqual(kinds, ["wrong", "missed"])


class ReduceTest(absltest.TestCase):
  def test_sorted_and_cleared(self):
    got = detection.reduce(
      {
        "boxes": jnp.arange(12.0).reshape(1, 3, 4),
        "scores": jnp.array([[0.2, jnp.nan, 0.7]]),
        "classes": jnp.array([[1, 2, 3]]),
        "valid": jnp.array([[True, False, True]]),
      }
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


if __name__ == "__main__":
  absltest.main()
