"""Enhancements: against their libraries, composed, under jit."""

import sys
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized

from models import adapters, enhancements
from models.enhancements import clahe, ten_crop
from models.spec import Spec
from robust_tfds import errors, models
from tests.models import drawn

_equalize = jax.jit(clahe.equalize)


def _pictures(side: int, n: int = 2) -> np.ndarray:
  rng = np.random.default_rng(side)
  y, x = np.mgrid[:side, :side] / side
  ramp = np.stack([x, y, (x + y) / 2], -1) * 120 + 40
  noise = rng.normal(0, 12, (n, side, side, 3))
  return np.clip(ramp + noise, 0, 255).astype(np.uint8)


class EnhancementsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("digits_cnn")
    cls.variables = cls.model.init(jax.random.key(0))
    cls.pictures = _pictures(32, 3)

  def test_names(self):
    self.assertEqual(enhancements.names(), ("clahe", "denoise", "ten_crop"))
    self.assertIs(enhancements.wrap(self.model), self.model)

  def test_contract(self):
    model = enhancements.wrap(self.model, "clahe", "ten_crop")
    self.assertEqual(model.name, "digits_cnn+clahe+ten_crop")
    self.assertNotEqual(str(model.spec), str(self.model.spec))
    got = jax.jit(model.apply)(self.variables, self.pictures)
    self.assertEqual(got.shape, (3, 10))
    self.assertEqual(got.dtype, jnp.float32)
    one = jax.jit(model.apply)(self.variables, self.pictures[2:])
    np.testing.assert_allclose(one, got[2:], atol=1e-5)
    with self.assertRaisesRegex(ValueError, "expected uint8 RGB"):
      model.apply(self.variables, self.pictures.astype(np.float32))

  @parameterized.parameters(*enhancements.names())
  def test_each_keeps_the_answers_form(self, name):
    model = enhancements.wrap(self.model, name)
    self.assertEqual(model.name, f"digits_cnn+{name}")
    self.assertEqual(model.spec.num_classes, self.model.spec.num_classes)
    try:
      got = jax.jit(model.apply)(self.variables, self.pictures)
    except errors.MissingPackageError as error:
      self.skipTest(str(error))
    self.assertEqual((got.shape, got.dtype), ((3, 10), jnp.float32))
    self.assertTrue(np.isfinite(got).all())
    plain = jax.jit(self.model.apply)(self.variables, self.pictures)
    self.assertGreater(np.abs(got - plain).max(), 0)

  def test_order(self):
    both = enhancements.wrap(self.model, "clahe", "ten_crop")
    last = enhancements.wrap(self.model, "ten_crop")
    np.testing.assert_allclose(
      jax.jit(both.apply)(self.variables, self.pictures),
      jax.jit(last.apply)(self.variables, _equalize(self.pictures)),
      atol=1e-5,
    )

  @parameterized.parameters((64, 64), (224, 224), (99, 130), (64, 50))
  def test_clahe_is_opencvs(self, height, width):
    cv2 = pytest.importorskip("cv2", reason="the reference is OpenCV")
    plane = _pictures(max(height, width))[0, :height, :width, 0]
    reference = cv2.createCLAHE(clahe.CLIP, (clahe.TILES, clahe.TILES))
    want = reference.apply(plane).astype(np.int32)
    got = np.asarray(jax.jit(clahe.equalize_plane)(plane.astype(np.int32)))
    self.assertLessEqual(np.abs(got - want).max(), 1)
    # Ties of rounding between float orders, no more.
    self.assertLess((got != want).mean(), 1e-3)

  def test_clahe_widens_contrast_and_keeps_hue(self):
    flat = (_pictures(64) // 4 + 96).astype(np.uint8)
    got = np.asarray(_equalize(flat))
    self.assertGreater(got.std(), 1.5 * flat.std())
    inside = (got > 0).all(-1) & (got < 255).all(-1)
    change = got.astype(int) - flat
    np.testing.assert_array_equal(np.ptp(change[inside], axis=-1), 0)

  def test_ten_crops(self):
    views = ten_crop.crops(jnp.asarray(self.pictures))
    self.assertLen(views, 10)
    self.assertEqual(views[0].shape, (3, 28, 28, 3))
    np.testing.assert_array_equal(views[0], self.pictures[:, :28, :28])
    np.testing.assert_array_equal(views[6], self.pictures[:, 4:, 4:])
    np.testing.assert_array_equal(views[8], self.pictures[:, 2:30, 2:30])
    np.testing.assert_array_equal(views[9], views[8][:, :, ::-1])

  def test_ten_crop_of_a_softmax_is_that_of_its_logits(self):
    def net(x):
      return 9 * x.mean((1, 2)) @ jax.random.normal(jax.random.key(0), (3, 10))

    spec = Spec(num_classes=10, input_px=32, resize_px=36, flexible=False)
    got, expected = (
      enhancements.wrap(adapters.get("callable")(f, spec), "ten_crop")
      for f in (lambda x: jax.nn.softmax(net(x)), lambda x: net(x))
    )
    np.testing.assert_allclose(
      got.apply(None, self.pictures),
      expected.apply(None, self.pictures),
      rtol=1e-5,
    )

  def test_ten_crop_averages_probabilities(self):
    spec = Spec(num_classes=3)
    model = adapters.get("callable")(lambda x: 4 * x.mean((1, 2)), spec)
    variables = None
    pictures = jnp.asarray(_pictures(72))
    apply = jax.jit(enhancements.wrap(model, "ten_crop").apply)
    got = jnp.exp(apply(variables, pictures))
    views = jnp.concatenate(ten_crop.crops(pictures))
    each = jax.nn.softmax(jax.jit(model.apply)(variables, views))
    want = each.reshape(10, 2, 3).mean(0)
    np.testing.assert_allclose(got, want, atol=1e-5)

  def test_denoise_brings_the_clean_picture_nearer(self):
    pytest.importorskip("skimage", reason="the extra `denoise`")
    pytest.importorskip("pywt", reason="the extra `denoise`")
    from models.enhancements import denoise

    y, x = np.mgrid[:48, :48]
    clean = np.where((x // 12 + y // 12) % 2, 180.0, 70.0)[..., None]
    clean = np.repeat(clean, 3, -1)
    noise = np.random.default_rng(0).normal(0, 15, (2, 48, 48, 3))
    noisy = np.clip(clean + noise, 0, 255).astype(np.uint8)
    got = denoise.denoise(noisy)
    self.assertEqual(got.dtype, np.uint8)
    self.assertLess(np.abs(got - clean).mean(), 0.5 * np.abs(noise).mean())
    np.testing.assert_array_equal(
      denoise.denoise(np.full((1, 16, 16, 3), 7, np.uint8)), 7
    )
    apply = jax.jit(enhancements.wrap(self.model, "denoise").apply)
    np.testing.assert_allclose(
      apply(self.variables, self.pictures),
      self.model.apply(self.variables, denoise.denoise(self.pictures)),
      atol=1e-5,
    )

  def test_frames_of_clips_are_pictures(self):
    clips = jnp.asarray(_pictures(32, 6).reshape(2, 3, 32, 32, 3))
    want = _equalize(clips.reshape(6, 32, 32, 3)).reshape(clips.shape)
    np.testing.assert_array_equal(_equalize(clips), want)
    model = enhancements.wrap(models.get("tiny_r3d"), "clahe")
    variables = drawn.abstract(model.model)
    got = jax.eval_shape(model.apply, variables, clips)
    self.assertEqual((model.kind, got.shape), ("video", (2, 10)))

  def test_missing_library_is_said(self):
    with mock.patch.dict(sys.modules, {"pywt": None}):
      with self.assertRaisesRegex(ImportError, r"robust_tfds\[denoise\]"):
        enhancements.wrap(self.model, "denoise").apply(
          self.variables, self.pictures
        )
