"""A stored value is the value, and stays stored in the compiled program."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from robust_tfds.corruptions.ops import keep


@jax.jit
def _twice(values, natural):
  return 2 * keep.keep(jnp.sin(values), natural)


@jax.jit
def _sine_twice(values, natural):
  return 2 * keep.stored(jnp.sin, natural, values)


@jax.jit
def _of_constant(data):
  natural = keep.hidden(3, data)
  return 2 * keep.stored(jnp.sin, natural, jnp.float32(data)), natural


class StoredTest(absltest.TestCase):
  def test_is_the_function(self):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = 2 * np.sin(values)
    for natural in (0, 5):
      got = _sine_twice(values, natural)
      np.testing.assert_allclose(got, expected, rtol=1e-6)
    got = jax.vmap(_sine_twice)(values, jnp.array([1, 4]))
    np.testing.assert_allclose(got, expected, rtol=1e-6)

  def test_a_hidden_constant_is_itself_and_no_constant(self):
    data = np.array([[255, 0]], np.uint8)
    got, natural = _of_constant(data)
    self.assertEqual(natural, 3)
    np.testing.assert_allclose(got, 2 * np.sin(data.astype(float)), rtol=1e-6)
    if jax.default_backend() == "cpu":
      program = _of_constant.lower(data).compile().as_text()
      self.assertIn("conditional", program)


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
