"""The device side: one program a reduction, NaN seen, codecs, clean pixels.

What models answer on devices and on the host alike: on_host_test.py.
"""

import types

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from robust_tfds import conditions, corruptions
from robust_tfds.corruptions.ops import jpeg
from robust_tfds.eval.pipeline import devices, predict

_CLEAN = conditions.Condition()
_KEYS = np.zeros((2, 2), np.uint32)


def _images(*shape: int) -> np.ndarray:
  return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


class _Model:
  """Mean levels as logits."""

  spec = types.SimpleNamespace(item_axes=3)
  traces = 0

  def apply(self, variables, images):
    type(self).traces += 1
    mean = images.astype(jnp.float32).mean((1, 2))
    return mean * variables["scale"]


def _whole(logits, labels):
  return {"logits": logits, "labels": labels}


class PredictorTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.mesh = devices.mesh(jax.local_devices()[:1])
    self.variables = {"scale": np.float32(2)}
    self.labels = devices.put_batch(np.array([5, -1], np.int32), self.mesh)

  def _outputs(self, predictor, images) -> dict[str, np.ndarray]:
    placed = devices.put_batch(images, self.mesh)
    return predictor(placed, self.labels, _whole).fetch()

  def test_traced_once_a_shape(self):
    predictor = predict.Predictor(_Model(), self.variables, self.mesh)
    before = _Model.traces
    for _ in range(3):
      self._outputs(predictor, _images(2, 4, 5, 3))
    self.assertEqual(_Model.traces, before + 1)

  def test_of_shapes_it_is_compiled_ahead(self):
    predictor = predict.Predictor(_Model(), self.variables, self.mesh)
    before = _Model.traces
    images = devices.put_batch(_images(2, 4, 5, 3), self.mesh)
    shape = jax.ShapeDtypeStruct(
      images.shape, images.dtype, sharding=images.sharding
    )
    labels = jax.ShapeDtypeStruct((2,), np.int32, sharding=self.labels.sharding)
    predictor(shape, labels, _whole)
    self.assertEqual(_Model.traces, before + 1)
    predictor(images, self.labels, _whole).fetch()
    self.assertEqual(_Model.traces, before + 1)

  def test_logits_that_are_not_finite(self):
    variables = {"scale": np.array([1, np.nan, 1], np.float32)}
    predictor = predict.Predictor(_Model(), variables, self.mesh)
    got = self._outputs(predictor, _images(2, 4, 5, 3))
    self.assertEqual(got["finite"].tolist(), [False, False])


class TransformTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.mesh = devices.mesh(jax.local_devices()[:1])
    self.images = _images(2, 32, 32, 3)
    self.batch = devices.put_batch(self.images, self.mesh)

  def _through(self, transform, condition=_CLEAN) -> np.ndarray:
    keys = condition.keys(0, "digits_c", ["a", "b"])
    return np.asarray(transform(self.batch, None, condition, keys))

  def test_unchanged(self):
    fog = conditions.Condition("fog", 3)
    self.assertIs(predict.unchanged(self.batch, None, fog, _KEYS), self.batch)

  def test_clean_passes(self):
    for transform in (
      predict.corruptor(self.mesh, "cifar10", "raw"),
      predict.canvas_corruptor(self.mesh, "any"),
    ):
      np.testing.assert_array_equal(self._through(transform), self.images)

  def test_clean_passes_through_the_codec(self):
    transform = predict.corruptor(self.mesh, "cifar10", "jpeg85")
    want = jax.jit(lambda x: jpeg.roundtrip_batch(x, 85))(self.images)
    got = self._through(transform)
    np.testing.assert_array_equal(got, want)
    self.assertTrue((got != self.images).any())

  def test_corrupted_as_the_library_does(self):
    condition = conditions.Condition("gaussian_noise", 3)
    transform = predict.corruptor(self.mesh, "cifar10", "raw")
    want = [
      corruptions.corrupt(
        image,
        condition.name,
        condition.level,
        edition="cifar10",
        key=condition.key(0, "digits_c", name),
      )
      for image, name in zip(self.images, "ab")
    ]
    np.testing.assert_array_equal(self._through(transform, condition), want)


if __name__ == "__main__":
  absltest.main()
