"""The registry of detectors, the resize rule, and the small one that trains."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest
from absl.testing import parameterized
from PIL import Image

from models import detection
from models.detection import resize
from models.detection.detector import DetectorSpec


class RegistryTest(absltest.TestCase):
  def test_names(self):
    self.assertIn("tiny_retinanet", detection.names())
    with self.assertRaisesRegex(ValueError, "Did you mean 'tiny_retinanet'"):
      detection.get("tiny_retinet")
    with self.assertRaisesRegex(ValueError, "No detector at"):
      detection.get("nowhere:build")
    self.assertEqual(detection.get("tiny_retinanet", 3).spec.num_classes, 3)


class ResizeTest(parameterized.TestCase):
  @parameterized.parameters((60, 80), (80, 60), (64, 64), (30, 90))
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

  def test_one_orientation_needs_less(self):
    spec = DetectorSpec()
    self.assertEqual(resize.network_canvas(480, 640, spec), (800, 1344))
    self.assertEqual(resize.network_canvas(640, 480, spec), (1344, 800))
    self.assertEqual(resize.network_canvas(640, 640, spec), (1344, 1344))


class TinyTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.model = detection.get("tiny_retinanet")
    self.variables = self.model.init(jax.random.key(0))
    rng = np.random.default_rng(0)
    self.images = rng.integers(0, 256, (2, 128, 128, 3), np.uint8)
    self.sizes = np.array([[128, 100], [96, 128]], np.int32)

  def test_detections(self):
    got = jax.jit(self.model.apply)(self.variables, self.images, self.sizes)
    self.assertEqual(got["boxes"].shape, (2, 20, 4))
    self.assertLessEqual(float(got["boxes"][0, :, 2].max()), 100)
    self.assertLessEqual(float(got["boxes"][1, :, 3].max()), 96)

  def test_loss_falls(self):
    batch = {
      "image": self.images,
      "size": self.sizes,
      "boxes": jnp.array([[[20.0, 20, 50, 60]], [[60.0, 30, 90, 70]]]),
      "labels": jnp.array([[3], [7]]),
    }
    step = jax.jit(jax.value_and_grad(self.model.loss))
    variables, first = self.variables, None
    for _ in range(8):
      loss, gradient = step(variables, batch)
      first = loss if first is None else first
      norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient)))
      variables = jax.tree.map(
        lambda v, g: v - 0.05 * g / (1 + norm), variables, gradient
      )
    self.assertLess(float(loss), float(first))

  def test_refusals(self):
    with self.assertRaisesRegex(ValueError, "expected uint8"):
      self.model.apply(self.variables, self.images / 255.0, self.sizes)
    with self.assertRaisesRegex(ValueError, "no training loss"):
      detection.get("fasterrcnn_resnet50_fpn").loss({}, {})


if __name__ == "__main__":
  absltest.main()
