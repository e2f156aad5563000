"""Regions pooled, pictures resized."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from flax import nnx
from PIL import Image

from models.detection import labels, ps_roi_pool, resize, roi_align, roi_heads
from models.detection.rules import RULES
from models.detection.spec import DetectorSpec
from tests.models import extension_ops
from tests.models.detection import by_hand


def _loops(maps, box, bins, stride):
  """MXNet's kernel for one box: `[bins, bins, C]`."""
  height, width, channels = maps.shape
  outputs = channels // bins**2
  start = np.floor(box[:2] + 0.5) / stride
  end = (np.floor(box[2:] + 0.5) + 1) / stride
  step = np.maximum(end - start, 0.1) / bins
  out = np.zeros((bins, bins, outputs))
  for i, j, c in np.ndindex(bins, bins, outputs):
    top, bottom = (
      np.floor(start[1] + i * step[1]),
      np.ceil(start[1] + (i + 1) * step[1]),
    )
    left, right = (
      np.floor(start[0] + j * step[0]),
      np.ceil(start[0] + (j + 1) * step[0]),
    )
    rows = slice(*np.clip([top, bottom], 0, height).astype(int))
    columns = slice(*np.clip([left, right], 0, width).astype(int))
    part = maps[rows, columns, (c * bins + i) * bins + j]
    out[i, j, c] = part.mean() if part.size else 0
  return out


class PoolTest(absltest.TestCase):
  """Position-sensitive RoI pooling against loops and torchvision's."""

  def test_as_loops(self):
    rng = np.random.default_rng(0)
    maps = rng.standard_normal((2, 9, 12, 3 * 4), np.float32)
    boxes = np.array(
      [
        [3.2, 5.1, 60.7, 80.3],
        [0, 0, 191, 143],
        [40.5, 33, 41, 33.4],  # less than a feature
        [185, 120, 191, 143],  # at the corner
        [250, 10, 260, 20],  # beyond the maps: nothing to read
      ],
      np.float32,
    )
    pool = jax.jit(lambda m, b: ps_roi_pool.pool(m, b, 2, stride=16))
    got = pool(maps, np.stack([boxes, boxes[::-1]]))
    for i, box in enumerate(boxes):
      want = _loops(maps[0], box, 2, 16)
      np.testing.assert_allclose(got[0, i], want, atol=1e-5)
      want = _loops(maps[1], box, 2, 16)
      np.testing.assert_allclose(got[1, -1 - i], want, atol=1e-5)
    self.assertFalse(np.asarray(got[0, 4]).any())
    self.assertTrue(np.asarray(got[0, 2]).any())

  @pytest.mark.slow
  def test_as_torchvision(self):
    """Where the two agree: whole pixels, off the right and lower border.

    Theirs end without the last pixel, never read the maps' last row and column,
    and round bins before they are shifted.
    """
    torch, ops = extension_ops.torchvision()
    rng = np.random.default_rng(0)
    maps = rng.standard_normal((1, 20, 30, 5 * 49), np.float32)
    tensor = torch.from_numpy(maps.transpose(0, 3, 1, 2).copy())
    at_zero = np.pad(rng.integers(0, 18, (20, 2)), ((0, 0), (2, 0)))
    corner = rng.integers(0, 4, (20, 2))
    whole = corner + 7 * rng.integers(1, 3, (20, 2)) - 1  # of whole bins
    boxes = np.concatenate([at_zero, np.concatenate([corner, whole], 1)])
    boxes = boxes.astype(np.float32)
    ends = torch.from_numpy(boxes + np.array([0, 0, 1, 1], np.float32))
    want = ops.ps_roi_pool(tensor, [ends], 7).numpy().transpose(0, 2, 3, 1)
    got = np.asarray(ps_roi_pool.pool(maps, boxes[None], 7, stride=1)[0])
    gap = np.abs(got - want).max()
    print(f"ps_roi_pool: {gap:.1e}")
    self.assertLess(gap, 1e-5)


class RoIAlignTest(parameterized.TestCase):
  """RoIAlign against loops over its samples."""

  @parameterized.parameters((2, False, 0), (0, True, 0), (2, False, 1))
  def test_against_loops(self, samples, aligned, edge):
    rng = np.random.default_rng(0)
    levels = [
      rng.standard_normal((1, 256 >> i, 128 >> i, 3), np.float32)
      for i in range(4)
    ]
    boxes = np.array(
      [
        [3.2, 5.1, 60.7, 80.3],  # P2
        [10, 300, 200, 480],  # P3
        [0, 0, 512, 700],  # P5
        [509, 40, 512, 90],  # at the right border, thinner than a pixel
        [100, 1020, 130, 1024],  # at the lower border
      ],
      np.float32,
    )
    want_levels = [0, 1, 3, 0, 0]
    self.assertEqual(roi_align.level_of(boxes, 4).tolist(), want_levels)
    just = np.array([[0, 0, 111.5, 111.5]], np.float32)
    self.assertEqual(int(roi_align.level_of(just, 4)[0]), 0)
    self.assertEqual(int(roi_align.level_of(just, 4, edge=1.0)[0]), 1)
    got = jax.jit(
      lambda f, b: roi_align.pool(
        f, b, 7, samples=samples, aligned=aligned, edge=float(edge)
      )
    )(levels, boxes[None])
    for i, (box, level) in enumerate(zip(boxes, want_levels)):
      how = 4 * 2**level, 7, samples, aligned, edge
      want = by_hand.pooled(levels[level][0], box, *how)
      np.testing.assert_allclose(got[0, i], want, atol=2e-4)

  def test_empty_boxes_are_harmless(self):
    levels = [jnp.ones((1, 8 >> i, 8 >> i, 2)) for i in range(4)]
    pool = jax.jit(roi_align.pool, static_argnums=2)
    got = pool(levels, jnp.zeros((1, 3, 4)), 7)
    self.assertTrue(np.isfinite(np.asarray(got)).all())


class OneStageTest(absltest.TestCase):
  @pytest.mark.slow
  def test_mmdetection_1_has_a_box_for_each_output(self):
    """Also for the background, which is the first; written out in NumPy."""
    heads = roi_heads.RoIHeads(
      labels=labels.table("first", 3),
      rules=RULES["mmdetection1"],
      masks=False,
      stages=1,
      most=10,
      threshold=0.05,
      width=4,
      hidden=6,
      rngs=nnx.Rngs(0),
    )
    rng, size = np.random.default_rng(0), (60, 90)
    for last in (heads.box_predictor.cls_score, heads.box_predictor.bbox_pred):
      shape = last.kernel.shape
      last.kernel[...] = 0.4 * rng.standard_normal(shape, np.float32)
    levels = [
      rng.standard_normal((1, 16 >> i, 24 >> i, 4), np.float32)
      for i in (0, 1, 2, 3, 3)
    ]
    corner = rng.uniform(0, 40, (5, 2))
    ends = np.minimum(corner + rng.uniform(5, 50, (5, 2)), [89, 59])
    boxes = np.concatenate([corner, ends], 1).astype(np.float32)
    valid = np.array([[True, True, True, True, False]])
    factor = np.full((1, 4), 2.0, np.float32)
    sizes = np.array([size], np.int32)
    given = levels, boxes[None], valid, sizes, factor
    got = jax.jit(lambda *x: heads(*x))(*given)

    scores, moved = [], []
    for box in boxes[:4]:
      x = by_hand.pooled(levels[0][0], box, 4, 7, 2, False, 1)
      x = by_hand.linear(x.transpose(2, 0, 1).ravel(), heads.box_head.fc6)
      x = by_hand.linear(x, heads.box_head.fc7)
      last = heads.box_predictor
      logits = by_hand.linear(x, last.cls_score, relu=False)
      scores.append(by_hand.softmax(logits)[1:])
      offsets = by_hand.linear(x, last.bbox_pred, relu=False).reshape(4, 4)
      stds = np.array([0.1, 0.1, 0.2, 0.2])
      moved.append([by_hand.decoded(o, box, stds, size) for o in offsets[1:]])
    best = np.dstack(np.unravel_index(np.argsort(-np.ravel(scores)), (4, 3)))[0]
    kept: list[tuple[int, int]] = []
    for n, c in best.tolist():
      beaten = (
        c == k and by_hand.iou(2 * moved[n][c], 2 * moved[m][k], 1) > 0.5
        for m, k in kept
      )
      if scores[n][c] > 0.05 and not any(beaten):
        kept.append((n, c))
    kept = kept[:10]
    self.assertEqual(int(got["valid"].sum()), len(kept))
    self.assertGreater(len(kept), 5)
    for i, (n, c) in enumerate(kept):
      self.assertEqual(int(got["classes"][0, i]), c)
      np.testing.assert_allclose(got["scores"][0, i], scores[n][c], rtol=1e-4)
      np.testing.assert_allclose(got["boxes"][0, i], moved[n][c], atol=1e-3)


class ResizeTest(parameterized.TestCase):
  """The resize rule of detectors against Pillow."""

  @parameterized.parameters((60, 80), (80, 60), (64, 64), (30, 90))
  @pytest.mark.slow
  def test_rule_and_pixels(self, height, width):
    spec = DetectorSpec(short_px=96, long_px=160)
    rng = np.random.default_rng(0)
    coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8))
    image = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC))
    canvas = np.zeros((1, 96, 96, 3), np.uint8)
    canvas[0, :height, :width] = image
    sizes = jnp.array([[height, width]])
    pixels, shown, factor = resize.to_network(jnp.asarray(canvas), sizes, spec)
    scale = min(96 / min(height, width), 160 / max(height, width))
    want = [int(height * scale + 1e-6), int(width * scale + 1e-6)]
    self.assertEqual(shown[0].tolist(), want)
    self.assertEqual(pixels.shape, (1, 160, 160, 3))
    self.assertEqual(float(jnp.abs(pixels[0, want[0] :]).max()), 0)
    np.testing.assert_allclose(
      np.asarray(factor)[0], [width / want[1], height / want[0]] * 2, rtol=1e-6
    )
    # Enlarging needs no antialiasing: Pillow's bilinear is the same.
    if scale > 1:
      theirs = np.asarray(
        Image.fromarray(image).resize(
          (want[1], want[0]), Image.Resampling.BILINEAR
        )
      )
      ours = np.asarray(pixels)[0, : want[0], : want[1]]
      ours = (ours * np.array(spec.std) + np.array(spec.mean)) * 255
      self.assertLess(np.abs(ours - theirs).max(), 1.5)

  def test_sides_are_rounded_as_opencv_has_it(self):
    sizes = jnp.array([[480, 640]])  # 800 x 1066.67
    for round_sides, wide in ((False, 1066), (True, 1067)):
      spec = DetectorSpec(round_sides=round_sides)
      got = resize.network_sizes(sizes, spec)
      self.assertEqual(got.tolist(), [[800, wide]])

  def test_one_orientation_needs_less(self):
    spec = DetectorSpec()
    self.assertEqual(resize.network_canvas(480, 640, spec), (800, 1344))
    self.assertEqual(resize.network_canvas(640, 480, spec), (1344, 800))
    self.assertEqual(resize.network_canvas(640, 640, spec), (1344, 1344))
