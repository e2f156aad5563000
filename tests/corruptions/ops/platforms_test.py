"""Branches of platforms: both where nobody knows the devices, else theirs."""

from unittest import mock

import jax
import numpy as np
from absl.testing import parameterized

from eval.pipeline import predict
from robust_tfds import corruptions
from robust_tfds.conditions import Condition
from robust_tfds.corruptions.ops import platforms
from tests.eval.pipeline import one_device


def _dependent(x: jax.Array) -> jax.Array:
  return platforms.dependent(x, cpu=lambda x: x + 1, default=lambda x: x - 1)


def _jaxpr() -> str:
  # A function of its own: JAX remembers what it traced of one.
  return str(jax.make_jaxpr(lambda x: _dependent(x))(1.0))


class PlatformsTest(one_device.TestCase):
  @parameterized.parameters(("cpu", 2), ("gpu", 0), ("tpu", 0))
  def test_the_known_branch_alone(self, platform, want):
    with platforms.assume(platform):
      self.assertEqual(_dependent(np.float32(1)), want)
      self.assertNotIn("platform_index", _jaxpr())
    self.assertIn("platform_index", _jaxpr())
    self.assertEqual(_dependent(np.float32(1)), 2)

  def test_what_a_run_traced_is_not_taken_for_other_devices(self):
    images, keys = one_device.pixels(2, 32, 32, 3), np.zeros((2, 2), np.uint32)
    see = predict.corruptor(self.mesh, "cifar10", "raw")
    condition = Condition("gaussian_blur", 2)
    with mock.patch.object(jax.lax, "platform_dependent") as both:
      jax.clear_caches()
      forgotten = predict._corrupt_step.__wrapped__
      with mock.patch.object(predict, "_corrupt_step", forgotten):
        got = np.asarray(see(self.put(images), None, condition, keys))
      both.assert_not_called()

    def direct(images: jax.Array) -> jax.Array:
      of = {"edition": "cifar10", "keys": keys}
      return corruptions.corrupt_batch(images, "gaussian_blur", 2, **of)

    text = str(jax.make_jaxpr(direct)(images))
    self.assertIn("platform_index", text)
    np.testing.assert_array_equal(got, direct(images))
