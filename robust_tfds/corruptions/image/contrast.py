"""Contrast: (v - mu) * c + mu, mu the mean of each channel over the picture.

docs/evidence/specs/corruptions.md sections 1 and 3. The mean comes from an exact sum of
integers, and pixels are mixed in fixed point, so that no order of summation or
fused multiply can change a level.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import layout

SEVERITIES = {  # factor c
  "imagenet": (0.4, 0.3, 0.2, 0.1, 0.05),
  "tiny_imagenet": (0.4, 0.3, 0.2, 0.1, 0.05),
  "cifar10": (0.75, 0.5, 0.4, 0.3, 0.15),
}
SEVERITIES["ccc"] = spec.quarters(1, SEVERITIES["imagenet"])
_ONE = 1 << 22  # fixed point: 255 * _ONE < 2**31
_SLACK = 512  # 1e-4 level: a flat picture must not lose a level to rounding


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `factor`, int32 `[5]` in units of 2**-22; `rest` = 1 - c, float32."""
  factor = np.array(edition.row(SEVERITIES), np.float64)
  return {
    "factor": np.round(factor * _ONE).astype(np.int32),
    "rest": (1 - factor).astype(np.float32),
  }


def apply(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute levels, int32 `[H, W * 3]`."""
  image = scene.image
  levels = layout.flat(image).astype(jnp.int32)
  base = _fixed(mean(image, scene.size) * scene.table["rest"])
  base = jnp.tile(base, image.shape[1])
  return (levels * scene.table["factor"] + (base + _SLACK)) >> 22


def mean(image: jax.Array, size: layout.Size) -> jax.Array:
  """Compute the mean of every channel over the picture, float32 `[3]`.

  The sum is exact: per column in int32, over columns in two halves.
  """
  height, width = image.shape[:2]
  rows = jnp.arange(height)[:, None] < size.h
  inside = jnp.where(rows, layout.flat(image), jnp.uint8(0))
  columns = inside.sum(axis=0, dtype=jnp.int32).reshape(width, 3)
  columns = jnp.where(jnp.arange(width)[:, None] < size.w, columns, 0)
  high = (columns >> 12).sum(axis=0).astype(jnp.float32)
  low = (columns & 0xFFF).sum(axis=0).astype(jnp.float32)
  pixels = jnp.asarray(size.h * size.w).astype(jnp.float32)
  return (high * 4096.0 + low) / pixels


def _fixed(level: jax.Array) -> jax.Array:
  """Convert a level in 0..255 to int32 in units of 2**-22."""
  return jnp.round(level * np.float32(_ONE)).astype(jnp.int32)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  apply=apply,
)
