"""A stored value is the value, and stays stored in the compiled program."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from robust_tfds.corruptions.ops import keep


@jax.jit
def _twice(values, natural):
  return 2 * keep.keep(jnp.sin(values), natural)


class KeepTest(absltest.TestCase):
  def test_changes_nothing(self):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    for natural in (0, 5):
      got = _twice(values, natural)
      np.testing.assert_allclose(got, 2 * np.sin(values), rtol=1e-6)

  def test_rows_of_a_batch_are_apart(self):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    got = jax.vmap(_twice)(values, jnp.array([1, 4]))
    np.testing.assert_allclose(got, 2 * np.sin(values), rtol=1e-6)

  def test_the_branch_outlives_the_compiler(self):
    if jax.default_backend() != "cpu":
      self.skipTest("Other backends fuse as they like.")
    program = _twice.lower(jnp.ones(3), 1).compile().as_text()
    self.assertIn("conditional", program)


if __name__ == "__main__":
  absltest.main()
