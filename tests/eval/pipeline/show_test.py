"""What models are shown: placed once, the clean pixels stay, keys by id."""

import types

import jax
import jax.numpy as jnp
import numpy as np

from eval.pipeline import inputs, predict, show
from robust_tfds import conditions
from tests.eval.pipeline import one_device, stored_examples

_CLEAN = conditions.Condition()
_NOISE = conditions.Condition("gaussian_noise", 3)
_SPEC = types.SimpleNamespace()


def _batch(numbers=(1, 2), *, any_size: bool = False) -> inputs.Batch:
  examples = [stored_examples.example(i, 32) for i in numbers]
  builder = stored_examples.Builder(examples, any_size=any_size)
  source = inputs.Source(builder, "test", batch_size=len(numbers))
  return next(source.batches())


class PictureShowTest(one_device.TestCase):
  def setUp(self):
    super().setUp()
    self.corrupt = predict.corruptor(self.mesh, "cifar10", "raw")

  def _show(self, transform=None, **options) -> show.PictureShow:
    options = {"seed": 0, "dataset": "digits_c", "sized": False, **options}
    return show.PictureShow(self.mesh, transform, **options)

  def _seen(self, of: show.PictureShow, batch, condition=_NOISE) -> np.ndarray:
    return np.asarray(of.see(of.put(batch), condition, _SPEC)[0])

  def test_without_a_transform_pixels_are_as_they_are(self):
    batch = _batch()
    np.testing.assert_array_equal(
      self._seen(self._show(), batch), batch.image, strict=True
    )

  def test_pixels_follow_seed_set_and_id_alone(self):
    batch = _batch((1, 2))
    want = self._seen(self._show(self.corrupt), batch)
    other = self._seen(self._show(self.corrupt), _batch((2, 1)))
    np.testing.assert_array_equal(want[::-1], other)
    for options in ({"seed": 1}, {"dataset": "cifar10_c"}):
      other = self._seen(self._show(self.corrupt, **options), batch)
      self.assertTrue((want != other).any(), options)

  def test_one_batch_on_the_devices_serves_all_conditions(self):
    of, batch = self._show(self.corrupt), _batch()
    placed = of.put(batch)
    first = np.asarray(of.see(placed, _NOISE, _SPEC)[0])
    clean = np.asarray(of.see(placed, _CLEAN, _SPEC)[0])
    np.testing.assert_array_equal(clean, batch.image)
    again = np.asarray(of.see(placed, _NOISE, _SPEC)[0])
    np.testing.assert_array_equal(first, again)

  def test_sizes_are_told_to_whom_they_matter(self):
    batch = _batch()
    self.assertIsNone(self._show().put(batch).sizes)
    of = self._show(sized=True)
    _, sizes = of.see(of.put(batch), _CLEAN, _SPEC)
    np.testing.assert_array_equal(sizes, batch.size)
    # Canvases: the corruption needs the sizes, a classifier does not.
    canvases = _batch(any_size=True)
    placed = self._show().put(canvases)
    np.testing.assert_array_equal(placed.sizes, canvases.size)
    self.assertIsNone(self._show().see(placed, _CLEAN, _SPEC)[1])

  def test_shapes_are_those_of_what_is_put(self):
    for any_size in (False, True):
      of, batch = self._show(sized=any_size), _batch(any_size=any_size)
      placed, shapes = of.put(batch), of.shapes(batch)
      for array, shape in (
        (placed.images, shapes.images),
        (placed.sizes, shapes.sizes),
      ):
        if array is None:
          self.assertIsNone(shape)
          continue
        self.assertEqual((array.shape, array.dtype), (shape.shape, shape.dtype))
        self.assertEqual(array.sharding, shape.sharding)

  def test_what_is_seen_of_shapes_are_the_shapes_of_what_is_seen(self):
    of, batch = self._show(self.corrupt), _batch()
    got, _ = of.see(of.shapes(batch), _NOISE, _SPEC)
    want, _ = of.see(of.put(batch), _NOISE, _SPEC)
    self.assertIsInstance(got, jax.ShapeDtypeStruct)
    self.assertEqual((got.shape, got.dtype), (want.shape, want.dtype))
    self.assertIsInstance(want, jnp.ndarray)
