"""Logits to class ids: enlargement as torch does it, windows, canvases."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from models.segmentation import inference, resize
from models.segmentation.spec import SegmenterSpec
from robust_tfds import errors, models
from tests import quick
from tests.models import drawn

_SIZES = np.array([[40, 50], [48, 64]], np.int32)
_CLASSES = 11


def _canvases():
  """Two pictures on canvases, with rubbish beyond the first."""
  return np.random.default_rng(0).integers(0, 256, (2, 48, 64, 3), np.uint8)


class ClassIdsTest(parameterized.TestCase):
  @parameterized.parameters(False, True)
  def test_enlarges_as_torch(self, align_corners):
    torch = pytest.importorskip("torch")
    logits = np.random.default_rng(1).standard_normal((2, 7, 9, 5), np.float32)
    want = torch.nn.functional.interpolate(
      torch.from_numpy(logits.transpose(0, 3, 1, 2)),
      size=(30, 41),
      mode="bilinear",
      align_corners=align_corners,
    )
    want = want.numpy().transpose(0, 2, 3, 1)
    got = inference.enlarged(logits, (30, 41), align_corners=align_corners)
    np.testing.assert_allclose(got, want, atol=1e-5)
    ids = inference.class_ids(logits, (30, 41), align_corners=align_corners)
    np.testing.assert_array_equal(ids, want.argmax(-1))

  def test_refuses_one_row_a_picture(self):
    with self.assertRaisesRegex(errors.UserError, r"expected \[B, h, w, class"):
      inference.class_ids(np.zeros((2, 5)), (4, 4))


class SlidingTest(absltest.TestCase):
  @pytest.mark.slow
  def test_windows_are_mmsegmentations(self):
    model = models.get("tiny_fcn", 5)
    variables = model.init(jax.random.key(0))
    slid = model.with_fields({"window_px": 32, "stride_px": 20})
    self.assertEqual(slid.spec.inference, "slide32_20")
    images = _canvases()
    got, valid = jax.jit(slid.logits)(variables, images, _SIZES)
    np.testing.assert_array_equal(valid, _SIZES)
    crop_logits = jax.jit(lambda x: _whole(model, variables, x))
    for i, (high, wide) in enumerate(_SIZES):
      want = _slid(crop_logits, images[i, :high, :wide])
      difference = np.abs(got[i, :high, :wide] - want).max()
      self.assertLess(difference, 1e-5 * np.abs(want).max())


def _whole(model, variables, crop):
  side = jnp.array([crop.shape[:2]])
  logits, valid = model.logits(variables, crop[None], side)
  return inference.enlarged(logits, crop.shape[:2], valid=valid)[0]


def _slid(logits, image, crop=32, stride=20):
  """mmsegmentation's slide_inference, written out."""
  high, wide = image.shape[:2]
  total, count = 0.0, np.zeros((high, wide, 1))
  for row in range(max(high - crop + stride - 1, 0) // stride + 1):
    for column in range(max(wide - crop + stride - 1, 0) // stride + 1):
      y2, x2 = min(row * stride + crop, high), min(column * stride + crop, wide)
      y1, x1 = max(y2 - crop, 0), max(x2 - crop, 0)
      part = np.asarray(logits(image[y1:y2, x1:x2]))
      total += np.pad(part, ((y1, high - y2), (x1, wide - x2), (0, 0)))
      count[y1:y2, x1:x2] += 1
  return total / count


class CanvasTest(parameterized.TestCase):
  @quick.cases(
    [({},)],
    [({"short_px": 24, "long_px": 40},), ({"height_px": 32, "width_px": 40},)],
  )
  def test_a_canvas_changes_no_answer(self, fields):
    model = models.get("tiny_fcn").with_fields(fields)
    variables = drawn.variables(model)
    images = _canvases()
    got = jax.jit(model.apply)(variables, images, _SIZES)
    self.assertEqual((got.shape, got.dtype), ((2, 48, 64), np.int32))
    for i, (high, wide) in enumerate(_SIZES):
      alone = jax.jit(model.apply)(variables, images[i : i + 1, :high, :wide])
      self.assertLess((got[i, :high, :wide] != alone[0]).mean(), 1e-3)

  def test_resizes_as_pillow_but_for_its_rounding(self):
    image = pytest.importorskip("PIL.Image")
    spec = SegmenterSpec(height_px=20, width_px=30, mean=(0,) * 3, std=(1,) * 3)
    canvas = _canvases()[1:]
    resized = jax.jit(
      lambda images, sizes: resize.to_network(images, sizes, spec)
    )
    got, size = resized(canvas, _SIZES[1:])
    self.assertEqual(size.tolist(), [[20, 30]])
    small = image.fromarray(canvas[0]).resize((30, 20), image.BILINEAR)
    self.assertLess(np.abs(255 * got[0] - np.asarray(small)).max(), 1.01)

  @parameterized.parameters(
    ({"short_px": 520, "long_px": 1040}, (375, 500), (520, 693), (520, 1040)),
    ({"short_px": 520, "long_px": 1040}, (500, 100), (1040, 208), (1040, 520)),
    ({"height_px": 512, "width_px": 512}, (9, 7), (512, 512), (512, 512)),
    ({}, (9, 7), (9, 7), (9, 7)),
  )
  def test_sizes(self, fields, size, seen, canvas):
    spec = SegmenterSpec(**fields)
    got = resize.network_sizes(jnp.array([size]), spec)
    self.assertEqual(got.tolist(), [list(seen)])
    self.assertEqual(resize.network_canvas(*size, spec), canvas)

  @parameterized.parameters(
    ({"height_px": 9}, "expected both"),
    ({"short_px": 9, "long_px": 8}, "below the shorter"),
    ({"window_px": 9, "stride_px": 10}, "a stride of 1 px up to"),
  )
  def test_refuses_impossible_sizes(self, fields, words):
    with self.assertRaisesRegex(errors.UserError, words):
      SegmenterSpec(**fields)
