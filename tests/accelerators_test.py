"""What accelerators run gives the bytes that the CPU's branch gives."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from robust_tfds import corruptions
from robust_tfds.corruptions import batching
from robust_tfds.corruptions.ops import jpeg
from tests import accelerators, quick


def _pictures(*shape: int) -> np.ndarray:
  """Gradients with grain."""
  y, x = np.mgrid[: shape[-2], : shape[-1]]
  grain = np.random.default_rng(0).integers(0, 60, (*shape, 3))
  smooth = np.stack([4 * x, 5 * y, 3 * (x + y)], axis=-1)
  return ((smooth + grain) % 256).astype(np.uint8)


def _keys(count: int) -> jax.Array:
  return jax.random.key_data(jax.random.split(jax.random.key(1), count))


class BranchesTest(parameterized.TestCase):
  @quick.cases(["glass_blur"], ["jpeg_compression", "pixelate"])
  def test_pictures(self, name):
    images, keys = _pictures(2, 24, 36), _keys(2)
    sizes = np.array([[24, 17], [5, 36]], np.int32)

    def run() -> list[np.ndarray]:
      # A severity whose displacements are chained, and one that repeats.
      parts = []
      for severity, valid in ((3, sizes), (5, None)):
        got = corruptions.corrupt_batch(
          images, name, severity, edition="any", keys=keys, sizes=valid
        )
        parts.append(np.asarray(got))
      return parts

    in_turn = run()
    with accelerators.branches():
      together = run()
    np.testing.assert_array_equal(together, in_turn)

  @parameterized.parameters("static_rotation", "random_rotation", "translation")
  def test_videos(self, name):
    clip, key = _pictures(5, 32, 45), jax.random.key(1)

    def run() -> np.ndarray:
      return np.asarray(corruptions.perturb_video(clip, name, 2, key=key))

    in_turn = run()
    with accelerators.branches():
      together = run()
    np.testing.assert_array_equal(together, in_turn)

  @quick.cases([(3, 32, 48)], [(2, 2, 24, 17)])
  def test_the_codec_of_model_inputs(self, *shape):
    images = _pictures(*shape)
    in_turn = np.asarray(jpeg.roundtrip_batch(images, 85))
    with accelerators.branches():
      together = np.asarray(jpeg.roundtrip_batch(images, 85))
    self.assertEqual(in_turn.shape, images.shape)
    np.testing.assert_array_equal(together, in_turn)

  @parameterized.parameters(None, 2, 3, 8)
  def test_no_more_at_once_than_allowed(self, at_once):
    rows = jnp.arange(35).reshape(7, 5)
    with accelerators.branches():
      program = jax.make_jaxpr(
        lambda x: batching.over_batch(jnp.sort, x, at_once=at_once)
      )(rows)
      got = batching.over_batch(lambda x: x[::-1], rows, at_once=at_once)
    np.testing.assert_array_equal(got, np.asarray(rows)[:, ::-1])
    # As many rows are sorted together, the rest in the end.
    together = at_once if at_once is not None and at_once < 7 else 7
    self.assertIn(f"i32[{together},5]", str(program))
    if together < 7:
      self.assertIn("scan", str(program))
