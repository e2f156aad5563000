"""Elastic transform: an affine jitter, then smooth local displacements.

docs/evidence/specs/corruptions.md sections 1, 3 and 4. Constants are in units of a
length in `Edition.elastic_px` (244 for 224 px images, a published typo). The
`any` edition has no affine part and displacements relative to the image's size.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.ops import (
  border,
  gaussian,
  keep,
  layout,
  packed,
  remap,
  taps,
)

SEVERITIES = {  # (displacement, its smoothness, affine jitter) / elastic_px
  "imagenet": (
    (2, 0.7, 0.1),
    (2, 0.08, 0.2),
    (0.05, 0.01, 0.02),
    (0.07, 0.01, 0.02),
    (0.12, 0.01, 0.02),
  ),
  "tiny_imagenet": (
    (0, 0, 0.08),
    (0.05, 0.3, 0.06),
    (0.1, 0.08, 0.06),
    (0.1, 0.03, 0.03),
    (0.16, 0.03, 0.02),
  ),
  "cifar10": (
    (0, 0, 0.08),
    (0.05, 0.2, 0.07),
    (0.08, 0.06, 0.06),
    (0.1, 0.04, 0.05),
    (0.1, 0.03, 0.03),
  ),
  # imagecorruptions: displacement alone, in units of 250 * 0.005 * height.
  "any": ((0.05,), (0.065,), (0.085,), (0.1,), (0.12,)),
}
SEVERITIES["ccc"] = spec.quarters((0, 999 / 244, 0), SEVERITIES["imagenet"])
_ANY = 250 * 0.005
_ANY_SIGMA = 0.01  # of each side
_TRUNCATE = 3.0
_FEW = 24  # taps a side; wider kernels are matrix products


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `reach` and `jitter` in px (`reach` for `any`: in heights), float32 `[5]`.

  The kernels follow: `half` and `turns` of narrow ones (see `taps`), `wide`
  float32 `[5, 2 * R + 1]` of the others, `is_wide` int32 `[5]`.
  """
  row = np.array(edition.row(SEVERITIES), np.float64)
  if edition.michaelis:
    return {"reach": (row[:, 0] * _ANY).astype(np.float32)}
  reach, sigma, jitter = row.T * edition.elastic_px
  is_wide = _TRUNCATE * sigma + 0.5 >= _FEW + 1
  narrow = taps.half_kernels(np.where(is_wide, 0, sigma), _TRUNCATE)
  wide = gaussian.kernels(np.where(is_wide, sigma, 0), _TRUNCATE)
  return {
    "reach": reach.astype(np.float32),
    "jitter": jitter.astype(np.float32),
    "is_wide": is_wide.astype(np.int32),
    "wide": wide,
    **narrow,
  }


def draw(scene: plugins.Scene) -> tuple[jax.Array, ...]:
  """Draw U(-1, 1): affine jitter `[3, 2]`, then x and y displacements `[H, W]`."""
  shapes = ((3, 2), scene.image.shape[:2], scene.image.shape[:2])
  return tuple(
    2.0 * seeding.uniform(scene.key, shape, stream) - 1.0
    for stream, shape in enumerate(shapes)
  )


def apply(scene: plugins.Scene, draws: tuple[jax.Array, ...]) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`; `draws` as from `draw`."""
  image, size, table = scene.image, scene.size, scene.table
  jitter, dx, dy = draws
  words = packed.pack(image)
  natural = table["severity"]
  if scene.edition.michaelis:
    source = remap.fine(words)
    reach = table["reach"] * jnp.asarray(size[0]).astype(jnp.float32)
    dx, dy = (keep.keep(field, natural) for field in (dx, dy))
    dx, dy = (_smooth_by_size(field, size) * reach for field in (dx, dy))
  else:
    matrix = _affine(jitter * table["jitter"], size)
    matrix = keep.keep(matrix, natural)
    source = remap.affine(words, matrix, size, natural)
    dx, dy = (_smooth(field, size, table) for field in (dx, dy))
    dx, dy = dx * table["reach"], dy * table["reach"]
  source = remap.Fine(*(keep.keep(x, natural) for x in source))
  rows = jnp.arange(image.shape[0], dtype=jnp.float32)[:, None] + dy
  columns = jnp.arange(image.shape[1], dtype=jnp.float32) + dx
  rows, columns = keep.keep(rows, natural), keep.keep(columns, natural)
  moved = remap.displaced(source, rows, columns, size)
  return packed.bytes_of(moved, natural)


def _affine(jitter: jax.Array, size: layout.Size) -> jax.Array:
  """Compute the matrix from output to input (x, y, 1), float32 `[2, 3]`.

  Three points around the centre, at a third of the shorter side, move by the
  jitter; the output at their new places shows the input at their old ones. The
  reference takes (height, width) for (x, y), which matters if pictures are not
  square.
  """
  height, width = (jnp.asarray(n, jnp.int32) for n in size)
  reach = jnp.minimum(height, width) // 3
  centre = jnp.stack([height // 2, width // 2])
  corner = (centre - reach).astype(jnp.float32)
  side = (2 * reach).astype(jnp.float32)
  # Images of the triangle's unit steps in x and in y.
  along = jitter[1] - jitter[2] + jnp.array([1.0, 0.0]) * side
  down = jitter[0] - jitter[1] + jnp.array([0.0, 1.0]) * side
  scale = side / (along[0] * down[1] - down[0] * along[1])
  linear = scale * jnp.array([[down[1], -down[0]], [-along[1], along[0]]])
  origin = corner + jitter[2]
  shift = corner - (linear[:, 0] * origin[0] + linear[:, 1] * origin[1])
  return jnp.concatenate([linear, shift[:, None]], axis=1)


def _smooth(
  field: jax.Array, size: layout.Size, table: plugins.Table
) -> jax.Array:
  """Blur by a Gaussian with mirrored borders, in the way that suits the kernel."""

  def narrow() -> jax.Array:
    return _few_taps(field, [table["half"]] * 2, [table["turns"]] * 2, size)

  def wide() -> jax.Array:
    return gaussian.blur(field, table["wide"], size, "reflect")

  return jax.lax.cond(table["is_wide"] == 1, wide, narrow)


def _smooth_by_size(field: jax.Array, size: layout.Size) -> jax.Array:
  """Blur by a Gaussian whose sigma is 0.01 of each side.

  Kernels for all sides up to the canvas's are made on the host.
  """
  halves, turns = [], []
  for side, valid in zip(field.shape, size, strict=True):
    sigmas = np.maximum(np.arange(side + 1), 1) * _ANY_SIGMA
    kernels = taps.half_kernels(sigmas, _TRUNCATE)
    halves.append(jnp.asarray(kernels["half"])[valid])
    turns.append(jnp.asarray(kernels["turns"])[valid])
  return _few_taps(field, halves, turns, size)


def _few_taps(
  field: jax.Array,
  halves: list[jax.Array],
  turns: list[jax.Array],
  size: layout.Size,
) -> jax.Array:
  edges = [taps.margin(half) for half in halves]
  padded = border.pad_reflect(field, size, edges)
  down = taps.blur(padded, halves[0], turns[0], 0)
  return taps.blur(down, halves[1], turns[1], 1)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
)
