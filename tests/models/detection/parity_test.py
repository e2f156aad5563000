"""Our detectors against torchvision's own modules, all weights randomised.

Two real photographs of different sizes share a canvas. Levels of the pyramid,
boxes, scores and classes of the final detections must agree within 1e-3 of
their scale, and there must be many detections of many classes.
"""

import dataclasses
import functools

import jax
import numpy as np
import pytest
from absl.testing import parameterized

from models.convert import match
from models.detection import labels
from robust_tfds import models
from tests.models.detection import oracles, pasted_masks

_TOLERANCE = 1e-3
_SHORT_PX, _LONG_PX = 192, 256
# Sharp enough heads for hundreds of detections, flat enough to differ.
_ONE_STAGE = ({"cls_logits": 0.5, "bbox_reg": 0.3}, {"cls_logits": -7.0})
_TWO_STAGES = ({"bbox_pred": 0.2, "rpn.head.cls_logits": 0.3}, {})
_RECIPES = {
  "retinanet_resnet50_fpn": _ONE_STAGE,
  "fasterrcnn_resnet50_fpn": _TWO_STAGES,
  "maskrcnn_resnet50_fpn": _TWO_STAGES,
}


@functools.cache
def compared(name: str, body: str = "resnet50") -> dict:
  """Both sides' levels and detections; `body` replaces the ResNet-50."""
  torch = oracles.import_torch()
  module = oracles.detector(torch, name, body, _SHORT_PX, _LONG_PX).eval()
  oracles.randomise(torch, module, 0, *_RECIPES[name])
  arrays = {n: t.numpy() for n, t in module.state_dict().items()}
  model = models.get(name)
  spec = dataclasses.replace(model.spec, short_px=_SHORT_PX, long_px=_LONG_PX)
  options = {**model.variant.options, "body": body}
  variant = dataclasses.replace(model.variant, options=options)
  model = dataclasses.replace(model, spec=spec, variant=variant)
  loaded = match.match_arrays(model, arrays, "torchvision")
  levels, found = oracles.run(torch, module)
  images, sizes = oracles.photographs()

  def both(variables, images, sizes):
    from models.detection import resize

    pixels, _, _ = resize.to_network(images, sizes, spec)
    with jax.default_matmul_precision("highest"):
      ours = model.merge(variables).backbone(pixels)
    return ours, model.apply(variables, images, sizes)

  ours = jax.jit(both)(loaded.variables, images, sizes)
  return {
    "levels": (ours[0], levels),
    "found": (jax.tree.map(np.asarray, ours[1]), found),
    "model": model,
    "module": module,
    "arrays": arrays,
    "loaded": loaded,
  }


@pytest.mark.slow
class ParityTest(parameterized.TestCase):
  @parameterized.parameters(
    *((name, "resnet50") for name in _RECIPES),
    ("fasterrcnn_resnet50_fpn", "resnet101"),
    ("maskrcnn_resnet50_fpn", "resnext101_64x4d"),
  )
  def test_torchvision(self, name, body):
    self._check(name, body)

  def _check(self, name, body):
    got = compared(name, body)
    worst = 0.0
    for ours, theirs in zip(*got["levels"], strict=True):
      gap = np.abs(np.asarray(ours) - theirs).max() / np.abs(theirs).max()
      worst = max(worst, float(gap))
    self.assertLess(worst, _TOLERANCE)
    ours, theirs = got["found"]
    counts, boxes, scores, masks = [], 0.0, 0.0, 0.0
    table = np.array(labels.table("torchvision", 80))
    for i, every in enumerate(theirs):
      # Random weights also fire at ids that COCO does not use.
      real = table[every["labels"]] >= 0
      want = {name: value[real] for name, value in every.items()}
      counts.append(len(want["scores"]))
      # Where theirs is full, ours has the places of what was left out here.
      full = len(every["scores"]) == got["model"].spec.detections
      extra = int(ours["valid"][i].sum()) - counts[-1]
      self.assertBetween(extra, 0, (~real).sum() if full else 0)
      kept = slice(counts[-1])
      np.testing.assert_array_equal(
        ours["classes"][i, kept], table[want["labels"]]
      )
      boxes = max(boxes, np.abs(ours["boxes"][i, kept] - want["boxes"]).max())
      scores = max(
        scores, np.abs(ours["scores"][i, kept] - want["scores"]).max()
      )
      if "masks" in want:
        masks = max(masks, self._masks(ours, i, want))
      self.assertGreater(counts[-1], 20)
      self.assertGreater(len(set(want["labels"])), 5)
    parameters = sum(p.numel() for p in got["module"].parameters())
    print(
      f"{name}, {body}: levels {worst:.1e} of scale, {counts} detections, boxes"
      f" {boxes:.1e} px, scores {scores:.1e}, masks"
      f" {masks:.1e}, {parameters:,} parameters"
    )
    self.assertLess(boxes, _TOLERANCE * _LONG_PX)
    self.assertLess(scores, _TOLERANCE)
    self.assertLess(masks, _TOLERANCE)
    self.assertEqual(got["model"].count_parameters(), parameters)
    self.assertFalse(
      np.array_equal(theirs[0]["boxes"][:20], theirs[1]["boxes"][:20])
    )

  def _masks(self, ours, i, want):
    """The largest difference of pasted masks, in [0, 1]."""
    count, _, height, width = want["masks"].shape
    pasted = pasted_masks.chances(
      ours["masks"][i, :count], want["boxes"], (height, width)
    )
    worst = 0.0
    for mask, ((top, bottom, left, right), values) in zip(
      want["masks"][:, 0], pasted, strict=True
    ):
      inside = mask[top:bottom, left:right]
      worst = max(worst, np.abs(inside - values).max())
      self.assertAlmostEqual(mask.sum(), inside.sum(), delta=1e-3 * mask.sum())
    self.assertGreater(want["masks"].std(), 0.05)
    return worst
