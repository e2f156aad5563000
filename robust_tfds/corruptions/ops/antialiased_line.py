"""Anti-aliased lines: how much a thin line covers each pixel.

Zingl, "A rasterizing algorithm for drawing curves" (2012), section 1.3: the
error of Bresenham's line is the distance from it, so pixels on both sides get
what is left of 1. scikit-image's `line_aa` gives the same pixels and values.
"""

import jax
import jax.numpy as jnp


def coverage(
  start: jax.Array, end: jax.Array, shape: tuple[int, ...], longest: int
) -> jax.Array:
  """Return what a line covers of each pixel, 0..1, float32 `[H, W]`.

  Args:
    start: (row, column), int32 `[2]`; may lie outside the picture.
    end: likewise.
    shape: `(H, W, ...)`.
    longest: bound on the larger of the line's two extents, in px.
  """
  extent, sign = jnp.abs(end - start), jnp.sign(end - start)
  rows, columns = extent[0], extent[1]
  length = jnp.sqrt((rows * rows + columns * columns).astype(jnp.float32))
  length = jnp.maximum(length, 1)

  def put(
    covered: jax.Array, place: jax.Array, distance: jax.Array, going: jax.Array
  ) -> jax.Array:
    # Outside, or nothing to draw: beyond the last row, which is dropped.
    inside = (place >= 0).all() & going
    row = jnp.where(inside, place[0], shape[0])
    value = 1 - jnp.abs(distance) / length
    return covered.at[row, place[1]].set(value, mode="drop")

  def step(_: int, state: tuple) -> tuple:
    covered, at, error, going = state
    covered = put(covered, at, error - columns + rows, going)
    # Down a column's side first: both tests are of the error before the step.
    across = 2 * error >= -columns
    last = across & (at[1] == end[1])
    neighbour = at + jnp.array([1, 0]) * sign
    near = across & ~last & (error + rows < length)
    covered = put(covered, neighbour, error + rows, going & near)
    going = going & ~last
    down = 2 * error <= rows
    ends = down & (at[0] == end[0])
    neighbour = at + jnp.array([0, 1]) * sign
    near = down & ~ends & (columns - error < length)
    covered = put(covered, neighbour, columns - error, going & near)
    going = going & ~ends
    moves = jnp.stack([down, across])
    change = jnp.where(down, columns, 0) - jnp.where(across, rows, 0)
    at = jnp.where(going, at + moves * sign, at)
    return covered, at, jnp.where(going, error + change, error), going

  blank = jnp.zeros(shape[:2], jnp.float32)
  state = blank, start, columns - rows, jnp.bool_(True)
  return jax.lax.fori_loop(0, longest + 1, step, state)[0]
