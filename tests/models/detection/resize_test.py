"""The resize rule of detectors against Pillow."""

import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized
from PIL import Image

from models.detection import resize
from models.detection.spec import DetectorSpec


class ResizeTest(parameterized.TestCase):
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
