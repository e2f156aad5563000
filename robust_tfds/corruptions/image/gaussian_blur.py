"""Gaussian blur: separable, per channel, edges replicated.

docs/evidence/specs/corruptions.md sections 1 and 3 (skimage.filters.gaussian, truncate
4). Both passes are sums of integers below 2**24 held in float32, so the result
is the same in whatever order a backend adds them: levels times 16-bit weights,
rounded to 1/16 level, times 12-bit weights.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import (
  border,
  gaussian,
  keep,
  layout,
  platforms,
  taps,
)

SEVERITIES = {  # sigma in px
  "imagenet": (1, 2, 3, 4, 6),
  "inception": (1.5, 2.5, 3.5, 4.5, 6.5),
  "tiny_imagenet": (0.5, 0.75, 1, 1.25, 1.5),
  "cifar10": (0.4, 0.6, 0.7, 0.8, 1),
}
_FINE = 1 << 16  # 255 * _FINE < 2**24
_COARSE = 1 << 12
_PARTS = 16  # 255 * _PARTS * _COARSE < 2**24


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return integer kernels `fine` and `coarse`, float32 `[5, 2 * R + 1]`, and
  `turns`, int32 `[5]`.
  """
  sigmas = edition.row(SEVERITIES)
  return {
    "fine": gaussian.integer_kernels(sigmas, _FINE),
    "coarse": gaussian.integer_kernels(sigmas, _COARSE),
    "turns": taps.half_kernels(sigmas)["turns"],
  }


def apply(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  image = scene.image
  return platforms.dependent(
    image,
    cpu=lambda image: _sum_copies(image, scene.size, scene.table),
    default=lambda image: _multiply_matrices(image, scene.size, scene.table),
  )


def _sum_copies(
  image: jax.Array, size: layout.Size, table: plugins.Table
) -> jax.Array:
  """Blur by sums of shifted copies: a third of the additions of a matrix."""
  turns = table["turns"]
  down, across = (_half(table[name]) for name in ("fine", "coarse"))
  edge = taps.margin(down)
  padded = border.pad(layout.flat(image), size, (edge, 0), 3, turns)
  fine = taps.exact(keep.keep(padded, turns), down, turns, 0)
  padded = border.pad(_parts(fine), size, (0, edge), 3, turns)
  return _levels(taps.exact(padded, across, turns, 1, stride=3))


def _multiply_matrices(
  image: jax.Array, size: layout.Size, table: plugins.Table
) -> jax.Array:
  """Blur by products with banded matrices, which suit accelerators."""
  height, width = image.shape[:2]
  down = gaussian.matrix(table["fine"], size.h, height, "nearest")
  across = gaussian.matrix(table["coarse"], size.w, width, "nearest")
  highest = jax.lax.Precision.HIGHEST
  levels = layout.planes(image).astype(jnp.float32)
  fine = jnp.matmul(down, levels, precision=highest)
  coarse = jnp.matmul(_parts(fine), across.T, precision=highest)
  return _levels(coarse.transpose(1, 2, 0).reshape(height, -1))


def _half(kernel: jax.Array) -> jax.Array:
  """Return the right half of a kernel, centre first, its radius made even."""
  radius = kernel.shape[0] // 2
  return jnp.pad(kernel[radius:], (0, radius % 2))


def _parts(fine: jax.Array) -> jax.Array:
  """Round the vertical sums to whole 1 / 16 levels."""
  return jnp.floor(fine * np.float32(_PARTS / _FINE) + 0.5)


def _levels(coarse: jax.Array) -> jax.Array:
  return layout.to_uint8(coarse * np.float32(1 / (_PARTS * _COARSE)))


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  apply=apply,
)
