"""Patterns over a picture: coordinates, and how a pattern is added to it."""

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import keep, layout

# A channel of a pattern, or one for all three.
Pattern = jax.Array


def side(image: jax.Array, size: layout.Size) -> jax.Array:
  """Return the longer side of a picture in pixels, a float32 scalar.

  The compiler never knows it, so that pictures are computed alike in a canvas and
  without one.

  Args:
    image: uint8 `[H, W, 3]`.
    size: valid height and width.
  """
  longer = jnp.maximum(size.h, size.w).astype(jnp.float32)
  return keep.hidden(longer, image)


def settled(draws: dict[str, jax.Array], natural: jax.Array) -> dict:
  """Return draws that are rounded before they are used.

  Fused into the pattern, `x - side * u` would be rounded once in one program and
  twice in another.

  Args:
    draws: numbers by name.
    natural: as for `keep.keep`.
  """
  return {name: keep.keep(value, natural) for name, value in draws.items()}


def coordinates(shape: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
  """Return the row `[H, 1]` and the column `[1, W]` of every pixel, float32."""
  rows = jnp.arange(shape[0], dtype=jnp.float32)
  columns = jnp.arange(shape[1], dtype=jnp.float32)
  return rows[:, None], columns[None, :]


def levels(image: jax.Array) -> jax.Array:
  """Return a picture's levels by channel, float32 `[3, H, W]`."""
  return layout.planes(image).astype(jnp.float32)


def add(image: jax.Array, pattern: Pattern) -> jax.Array:
  """Add a pattern to a picture: uint8 `[H, W * 3]`, truncated.

  Args:
    image: uint8 `[H, W, 3]`.
    pattern: levels, float32 `[H, W]`, or `[3, H, W]`.
  """
  return layout.interleave(levels(image) + pattern)


def mix(image: jax.Array, weight: jax.Array, pattern: Pattern) -> jax.Array:
  """Mix a picture with a pattern: `(1 - weight) * image + pattern`.

  Args:
    image: uint8 `[H, W, 3]`.
    weight: the pattern's share, a scalar; the pattern has it already.
    pattern: levels, float32 `[H, W]`, or `[3, H, W]`.

  Returns:
    uint8 `[H, W * 3]`, truncated.
  """
  return layout.interleave((1 - weight) * levels(image) + pattern)
