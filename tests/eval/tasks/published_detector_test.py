"""A published-style detector with masks over COCO-C, from files to table."""

import json
import pathlib
import shutil
import tempfile
from unittest import mock

import jax
import numpy as np
import pytest
from absl.testing import absltest

from configs import coco_c
from eval.cells import table
from eval.cells.files import predictions
from eval.pipeline import blocks
from eval.run import plan as plan_lib
from eval.run import runner
from models.convert import report
from robust_tfds import models
from tests.datasets import coco_c_test


def _config(base: pathlib.Path):
  config = coco_c.get_config("mask_rcnn_r50").unlock()
  config.batch_size = 2
  config.data.corruptions = "gaussian_noise,brightness"
  config.data.severities = (1, 3)
  config.data.manual_dir = str(base / "coco")
  config.model.checkpoint = str(base / "mask_rcnn.npz")
  config.model.short_px, config.model.long_px = 64, 96
  return config.lock()


class PublishedDetectorTest(absltest.TestCase):
  @pytest.mark.slow
  def test_mask_rcnn(self):
    base = pathlib.Path(tempfile.mkdtemp(prefix="published_detector"))
    self.addCleanup(shutil.rmtree, base)
    for name, data in coco_c_test.files().items():
      path = base / "coco" / name
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_bytes(data)
    model = models.get("maskrcnn_resnet50_fpn")
    variables = model.init(jax.random.key(0))
    # Everything is a person where an anchor stands.
    heads = variables["roi_heads"]["box_predictor"]
    heads["cls_score"]["bias"] = 5.0 * (np.arange(91) == 1)
    for layer in (heads["bbox_pred"], variables["rpn"]["head"]["bbox_pred"]):
      layer["kernel"] = 0 * layer["kernel"]
    report.write_npz(variables, base / "mask_rcnn.npz")

    rows = runner.Runner(plan_lib.make(_config(base)), base / "run").run()
    cells = {r.config for r in table.select(rows, metric="segm/AP")}
    self.assertEqual(
      cells,
      {
        "clean",
        *(f"{n}_{s}" for n in ("gaussian_noise", "brightness") for s in (1, 3)),
      },
    )
    for metric in ("p", "segm/p"):
      self.assertLen(table.select(rows, metric=metric), 1)
    cell = next(base.glob("run/cells/*/*/clean/*"))
    columns, _ = predictions.read(cell, base / "run" / "examples")
    self.assertLen(columns["masks"], 3)
    shown = (columns["classes"] >= 0).sum(axis=1)
    self.assertEqual([len(m.split()) for m in columns["masks"]], shown.tolist())
    self.assertGreater(shown.sum(), 0)
    truth = json.loads((base / "run" / "truth.json").read_text())
    self.assertLen(truth["annotations"], 3)

    with mock.patch.object(blocks, "Blocks") as never:
      again = runner.Runner(plan_lib.make(_config(base)), base / "run").run()
    never.assert_not_called()
    self.assertEqual(again, rows)
