"""Zoom blur: the mean of the picture and of clipped zooms of it.

docs/evidence/specs/corruptions.md sections 1 and 3: out = (v + sum of zooms) / (n + 1),
and the zooms start with factor 1, so the picture itself counts twice.
`numpy.arange` decides which factors there are (severity 1 reaches 1.11,
severity 2 only 1.15).
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import clipped_zoom, layout

_SMALL = ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01))
SEVERITIES = {  # (stop, step) of arange(1, stop, step)
  "imagenet": (
    (1.11, 0.01),
    (1.16, 0.01),
    (1.21, 0.02),
    (1.26, 0.02),
    (1.31, 0.03),
  ),
  "tiny_imagenet": _SMALL,
  "cifar10": _SMALL,
}
SEVERITIES["ccc"] = spec.quarters((1, 0.01), SEVERITIES["imagenet"])
# Horizontal weights in whole 1 / 4096, so that flat areas sum exactly in 24
# bits and are not truncated to one level less.
_STEPS = 4096.0


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `count`: zooms beyond factor 1, int32 `[5]`."""
  zooms = [_zooms(row) for row in edition.row(SEVERITIES)]
  return {"count": np.array([len(z) - 1 for z in zooms], np.int32)}


def apply(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute levels, float32 `[H, W * 3]`."""
  table = scene.table
  height, width = scene.image.shape[:2]
  zooms = _padded([_zooms(row) for row in scene.edition.row(SEVERITIES)])
  at = table["severity"] - 1
  down, across = (
    clipped_zoom.lengths(valid, side, zooms).select(at)
    for valid, side in ((scene.size.h, height), (scene.size.w, width))
  )
  levels = layout.flat(scene.image)

  def add(i: jax.Array, total: jax.Array) -> jax.Array:
    i = i + 1  # zoom 0 has factor 1 and is the picture itself
    rows = clipped_zoom.positions(down.select(i), height)
    left, right, weight = clipped_zoom.positions(across.select(i), width)
    columns = left, right, jnp.round(weight * _STEPS) * (1 / _STEPS)
    return clipped_zoom.resample(levels, rows, columns, 3, total)

  once = levels.astype(jnp.float32)
  total = jax.lax.fori_loop(0, table["count"], add, once + once)
  return total / (table["count"] + 2).astype(jnp.float32)


def _zooms(row: tuple[float, float]) -> np.ndarray:
  stop, step = row
  return np.arange(1, stop, step)


def _padded(zooms: list[np.ndarray]) -> np.ndarray:
  """Return factors of every severity, float64 `[5, n]`, padded with 1."""
  longest = max(len(z) for z in zooms)
  pads = [(0, longest - len(z)) for z in zooms]
  rows = zip(zooms, pads, strict=True)
  return np.stack([np.pad(z, p, constant_values=1) for z, p in rows])


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  apply=apply,
)
