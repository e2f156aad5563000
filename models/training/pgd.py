"""Projected gradient descent: pixels near a picture at which a loss is low.

Madry et al. 2018, arXiv:1706.06083: from a random place in the ball of the largest
norm, steps of the gradient's sign, each brought back into the ball and into [0, 1].
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp


def descend(
  loss: Callable[[jax.Array], jax.Array],
  images: jax.Array,
  keys: jax.Array,
  *,
  bound: float,
  step: float,
  steps: int,
) -> jax.Array:
  """Pixels at most `bound` from the images'.

  What an example draws depends on its key alone, and its steps on its own loss:
  neither on batches nor on devices, but for the last bits of the loss's gradient.

  Args:
    loss: float32 pixels of the images' shape -> float32 `[B]`, an example's own
      loss each.
    images: float32 `[B, ...]` in [0, 1].
    keys: uint32 `[B, 2]`, of the random starts.
    bound: the largest difference of a value, above 0.
    step: of a value; 0 leaves the random starts.
    steps: how many.

  Returns:
    float32 of the images' shape in [0, 1]; no gradient goes through it.
  """
  lowest = jnp.maximum(images - bound, 0.0)
  highest = jnp.minimum(images + bound, 1.0)
  uphill = jax.grad(lambda pixels: loss(pixels).sum())

  def better(_: int, pixels: jax.Array) -> jax.Array:
    moved = pixels - step * jnp.sign(uphill(pixels))
    return jnp.clip(moved, lowest, highest)

  start = jnp.clip(images + _noise(images, keys, bound), lowest, highest)
  return jax.lax.stop_gradient(jax.lax.fori_loop(0, steps, better, start))


def _noise(images: jax.Array, keys: jax.Array, bound: float) -> jax.Array:
  """Uniform in the ball."""

  def of_one(words: jax.Array) -> jax.Array:
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    return jax.random.uniform(
      key, images.shape[1:], minval=-bound, maxval=bound
    )

  return jax.vmap(of_one)(keys)
