"""Glass blur's shuffle: a sequential in-place copy, without the sequence.

docs/evidence/specs/corruptions.md section 3, glass_blur, quirks A to C. The reference
visits the pixels from the last to the first and copies a random neighbour into
each; its intended swap does not swap. So a pixel gets the value that its
neighbour has at that moment: a copied one if the neighbour was visited before
(it comes later in raster order, and is not in the border that is never
written), otherwise its old one. Following the copies leads strictly forward to
an old value: each pixel's source is the end of a chain, and chains are resolved
for all pixels at once by pointer doubling in log2(longest chain) rounds of one
gather: 4 or 5 of them.
"""

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import layout, platforms

# Rounds between two checks for remaining chains, on accelerators: there a check
# waits for the device, and an extra round changes nothing.
_ROUNDS = 5


def sources(
  down: jax.Array, right: jax.Array, delta: jax.Array | int, size: layout.Size
) -> jax.Array:
  """Return the source of each pixel's value after one pass over the picture.

  Args:
    down: vertical displacement of each visited pixel, int32 `[H, W]`, within
      -delta..delta - 1; ignored at pixels that are not visited.
    right: horizontal displacement.
    delta: the largest displacement. Rows delta + 1 .. height - delta are
      visited, and such columns.
    size: valid (height, width).

  Returns:
    int32 `[H * W]`, flat indices into the canvas.
  """
  height, width = down.shape
  y = jax.lax.broadcasted_iota(jnp.int32, down.shape, 0)
  x = jax.lax.broadcasted_iota(jnp.int32, down.shape, 1)

  def visited(y: jax.Array, x: jax.Array) -> jax.Array:
    rows = (y > delta) & (y <= size[0] - delta)
    return rows & (x > delta) & (x <= size[1] - delta)

  here = y * width + x
  moves = visited(y, x)
  there = jnp.where(moves, here + down * width + right, here)
  earlier = (down > 0) | ((down == 0) & (right > 0))
  chained = moves & earlier & visited(y + down, x + right)
  # A pointer to follow is >= 0, the end of a chain is its complement.
  links = jnp.where(chained, there, ~there).reshape(height * width)

  def unresolved(links: jax.Array) -> jax.Array:
    return (links >= 0).any()

  def follow(links: jax.Array) -> jax.Array:
    ahead = links.at[jnp.maximum(links, 0)].get(mode="promise_in_bounds")
    return jnp.where(links >= 0, ahead, links)

  def follow_often(links: jax.Array) -> jax.Array:
    for _ in range(_ROUNDS):
      links = follow(links)
    return links

  return ~platforms.dependent(
    links,
    cpu=lambda links: jax.lax.while_loop(unresolved, follow, links),
    default=lambda links: jax.lax.while_loop(unresolved, follow_often, links),
  )
