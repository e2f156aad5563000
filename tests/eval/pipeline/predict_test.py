"""The device side: one program a reduction, NaN seen, codecs, clean pixels.

What models answer on devices and on the host alike: on_host_test.py.
"""

import types

import jax
import jax.numpy as jnp
import numpy as np

from eval.pipeline import predict
from robust_tfds import conditions, corruptions
from robust_tfds.corruptions.ops import jpeg
from tests.eval.pipeline import one_device

_CLEAN = conditions.Condition()
_KEYS = np.zeros((2, 2), np.uint32)


class _Model:
  """Mean levels as logits."""

  spec = types.SimpleNamespace(item_axes=3)
  traces = 0

  def apply(self, variables, images):
    type(self).traces += 1
    mean = images.astype(jnp.float32).mean((1, 2))
    return mean * variables["scale"]


class PredictorTest(one_device.TestCase):
  def setUp(self):
    super().setUp()
    self.variables = {"scale": np.float32(2)}
    self.labels = self.put(np.array([5, -1], np.int32))

  def _outputs(self, predictor, images) -> dict[str, np.ndarray]:
    return predictor(self.put(images), self.labels, one_device.whole).fetch()

  def test_of_shapes_it_is_compiled_ahead_and_once(self):
    predictor = predict.Predictor(_Model(), self.variables, self.mesh)
    before = _Model.traces
    images = one_device.pixels(2, 4, 5, 3)
    shapes = self.shape(images), self.shape(self.labels)
    predictor(*shapes, one_device.whole)
    for _ in range(3):
      self.assertEqual(_Model.traces, before + 1)
      self._outputs(predictor, images)

  def test_logits_that_are_not_finite(self):
    variables = {"scale": np.array([1, np.nan, 1], np.float32)}
    predictor = predict.Predictor(_Model(), variables, self.mesh)
    got = self._outputs(predictor, one_device.pixels(2, 4, 5, 3))
    self.assertEqual(got["finite"].tolist(), [False, False])


class TransformTest(one_device.TestCase):
  def setUp(self):
    super().setUp()
    self.images = one_device.pixels(2, 32, 32, 3)
    self.batch = self.put(self.images)

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
