"""Position-sensitive RoI pooling (Dai et al. 2016, arXiv:1605.06409).

Each bin of a box reads its own maps. It follows MXNet's PSROIPooling: corners
are rounded, a box ends on its last pixel and has at least a tenth of a
feature's side, and bins begin and end at whole features, whose mean they are.
"""

import jax
import jax.numpy as jnp

_MIN_SIDE = 0.1  # least side of a box, in features
_CHUNK = 50  # boxes at a time


def pool(
  maps: jax.Array, boxes: jax.Array, bins: int, *, stride: int
) -> jax.Array:
  """Compute the means of bins, each over its own maps.

  Args:
    maps: `[B, H, W, C bins bins]`: channel (c bins + row) bins + column.
    boxes: float32 `[B, N, 4]` in px; x2, y2 are the last pixel's.
    bins: number of bins along a side.
    stride: px between features.

  Returns:
    `[B, N, bins, bins, C]`; 0 for bins without a feature.
  """
  batch, height, width, _ = maps.shape
  maps = maps.reshape(batch, height, width, -1, bins, bins)

  def pool_box(maps: jax.Array, box: jax.Array) -> jax.Array:
    across = _shares(box[0], box[2], width, bins, stride).astype(maps.dtype)
    down = _shares(box[1], box[3], height, bins, stride).astype(maps.dtype)
    rows = jnp.einsum("ih,hwcij->wcij", down, maps)
    return jnp.einsum("jw,wcij->ijc", across, rows)

  def pool_picture(maps: jax.Array, boxes: jax.Array) -> jax.Array:
    return jax.lax.map(
      lambda box: pool_box(maps, box), boxes, batch_size=_CHUNK
    )

  return jax.vmap(pool_picture)(maps, boxes)


def _shares(
  low: jax.Array, high: jax.Array, limit: int, bins: int, stride: int
) -> jax.Array:
  """Return the share of each feature in each bin of an axis: `[bins, limit]`."""
  # In tenths of pixels, whose quotients are exact; it is C's round for numbers
  # >= 0.
  start = 10 * jnp.floor(low + 0.5).astype(jnp.int32)
  end = 10 * jnp.floor(high + 1.5).astype(jnp.int32)
  size = jnp.maximum(end - start, round(10 * _MIN_SIDE * stride))
  i, place = jnp.arange(bins + 1)[:, None], jnp.arange(limit)[None]
  border, whole = start * bins + i * size, 10 * stride * bins
  first = jnp.clip(border[:-1] // whole, 0, limit)
  last = jnp.clip(-(-border[1:] // whole), 0, limit)
  inside = (place >= first) & (place < last)
  return inside / jnp.maximum(last - first, 1)
