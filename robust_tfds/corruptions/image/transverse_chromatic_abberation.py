"""Transverse chromatic abberation: the channels have different sizes.

docs/evidence/specs/imagenet_c_bar.md sections 4 and 9; the authors' spelling. Of
32 px pictures. Levels are rounded, not truncated.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import field, layout

SEVERITIES = {
  "cifar10": (1, 2, 5, 9, 10)
}  # the largest is 1 / 20 larger, times it
_STEP = 0.05
_ORDERS = np.array(list(itertools.permutations(range(3))), np.int32)


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `zoom`, float32 `[5, 3, S, S]`: each scale along one axis."""
  zooms = [
    [_zoom(scale, edition.side_px) for scale in _scales(severity)]
    for severity in edition.row(SEVERITIES)
  ]
  return {"zoom": np.array(zooms, np.float32)}


def _scales(severity: float) -> tuple[float, float, float]:
  largest = severity * _STEP
  return 1, 1 + largest / 2, 1 + largest


def _zoom(scale: float, side: int) -> np.ndarray:
  """Return the weights of cubic zooming without prefilter, cropped centrally."""
  from scipy import ndimage

  columns = [
    ndimage.zoom(unit, scale, order=3, prefilter=False) for unit in np.eye(side)
  ]
  larger = np.stack(columns, axis=1)
  first = (len(larger) - side) // 2
  return larger[first : first + side]


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw which scale each channel has, int32 `[3]`."""
  order = seeding.integers(scene.key, (), len(_ORDERS))
  return jnp.asarray(_ORDERS)[order]


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  zoom, exact = scene.table["zoom"][draws], jax.lax.Precision.HIGHEST
  down = jnp.matmul(zoom, field.levels(scene.image), precision=exact)
  both = jnp.matmul(down, zoom.transpose(0, 2, 1), precision=exact)
  return layout.interleave(jnp.floor(both + 0.5))


def accept(values: given_draws.Draws, severity: float, side: int) -> np.ndarray:
  """Return given draws in the form of `draw`."""
  scales = values.array("scales", 3)
  order = np.argsort(np.argsort(scales))
  values.agree("scales", np.array(_scales(severity))[order])
  return order.astype(np.int32)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
