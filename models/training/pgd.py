"""Projected gradient descent to pixels near a picture at which a loss is low.

Madry et al. 2018, arXiv:1706.06083: from a random place in the ball of the
maximum norm, steps of the gradient's sign, each brought back into the ball and
into [0, 1].
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
  """Return pixels at most `bound` from the images' pixels, at a low loss.

  An example's draws depend on its key alone, and its steps on its own loss:
  neither on batches nor on devices, except for the last bits of the loss's
  gradient.

  Args:
    loss: maps float32 pixels of the images' shape to float32 `[B]`, each
      example's own loss.
    images: float32 `[B, ...]` in [0, 1].
    keys: uint32 `[B, 2]`, keys of the random starts.
    bound: the largest difference of a value, above 0.
    step: the step of a value; 0 keeps the random starts.
    steps: number of steps.

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
  """Draw noise uniformly from the ball."""

  def draw(words: jax.Array) -> jax.Array:
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    return jax.random.uniform(
      key, images.shape[1:], minval=-bound, maxval=bound
    )

  return jax.vmap(draw)(keys)
