"""The attack: on sums whose lowest place is known, and against numpy's steps."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from models.training import pgd

_BOUND, _STEP = 16 / 255, 2 / 255
_RNG = np.random.default_rng(0)
_IMAGES = _RNG.uniform(size=(5, 4, 4, 3)).astype(np.float32)
_WEIGHTS = _RNG.normal(size=(5, 4, 4, 3)).astype(np.float32)
_KEYS = np.arange(10, dtype=np.uint32).reshape(5, 2)


def _linear(weights):
  return lambda pixels: jnp.sum(pixels * weights, axis=(1, 2, 3))


def _attacked(loss, images=_IMAGES, keys=_KEYS, steps=10, step=_STEP):
  return np.asarray(
    pgd.descend(loss, images, keys, bound=_BOUND, step=step, steps=steps)
  )


class PgdTest(absltest.TestCase):
  def test_the_lowest_place_of_a_linear_loss(self):
    """The corner of the ball against the weights, in [0, 1]: from any start 16
    steps of 2 reach it."""
    got = _attacked(_linear(_WEIGHTS), steps=16)
    want = np.clip(_IMAGES - _BOUND * np.sign(_WEIGHTS), 0, 1)
    np.testing.assert_allclose(got, want, atol=1e-6)
    self.assertEqual(got.dtype, np.float32)

  def test_every_step_against_numpy(self):
    """Of a loss whose gradient turns on the way."""
    centre = _IMAGES + 0.6 * _BOUND * np.sign(_WEIGHTS)
    loss = lambda pixels: jnp.sum((pixels - centre) ** 2, axis=(1, 2, 3))
    at = start = _attacked(loss, step=0.0)
    low, high = np.maximum(_IMAGES - _BOUND, 0), np.minimum(_IMAGES + _BOUND, 1)
    for _ in range(7):
      at = np.clip(at - np.float32(_STEP) * np.sign(at - centre), low, high)
    np.testing.assert_allclose(_attacked(loss, steps=7), at, atol=1e-6)
    self.assertTrue(((start >= low) & (start <= high)).all())

  def test_starts_fill_the_ball_by_key(self):
    """Uniform, another for each key; they depend on no other example."""
    images = np.full((400, 2, 2, 3), 0.5, np.float32)
    keys = np.arange(800, dtype=np.uint32).reshape(400, 2)
    flat = lambda pixels: jnp.zeros(len(pixels))
    noise = (_attacked(flat, images, keys) - 0.5) / _BOUND
    self.assertLess(np.abs(noise).max(), 1 + 1e-6)
    self.assertLess(abs(noise.mean()), 0.03)
    self.assertLess(abs(noise.var() - 1 / 3), 0.02)
    self.assertLen(np.unique(noise[:, 0, 0, 0]), 400)
    some = np.array([7, 3, 90])
    np.testing.assert_array_equal(
      _attacked(flat, images[some], keys[some]), 0.5 + noise[some] * _BOUND
    )

  def test_no_batch_and_no_gradient(self):
    order = np.array([3, 0, 4, 1])
    whole = _attacked(_linear(_WEIGHTS), steps=3)
    some = _attacked(
      _linear(_WEIGHTS[order]), _IMAGES[order], _KEYS[order], steps=3
    )
    np.testing.assert_array_equal(some, whole[order])
    through = jax.grad(
      lambda w: pgd.descend(
        _linear(w), _IMAGES, _KEYS, bound=_BOUND, step=_STEP, steps=2
      ).sum()
    )
    np.testing.assert_array_equal(through(_WEIGHTS), 0)
