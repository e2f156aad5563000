"""Brownish noise: coarse coloured noise with a falling spectrum.

docs/evidence/specs/imagenet_c_bar.md section 3 (8).
"""

import jax
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, spec
from robust_tfds.corruptions.ops import field, fourier_noise

SEVERITIES = {  # intensity in tenths of 64
  "imagenet": (1, 2, 3, 4, 5),
  "cifar10": (2.5, 4, 5.5, 6.5, 7),
}
_HIGHEST = 64.0


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `intensity`, the standard deviation in levels, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {"intensity": (severities * (_HIGHEST / 10)).astype(np.float32)}


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw phases of red, green and blue, see `fourier_noise.draw`."""
  return fourier_noise.draw(scene.key, 3, fourier_noise.side_px(scene.edition))


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  noise = fourier_noise.planes(
    draws, lambda d: 1 / (d * d + 1), scene.image.shape
  )
  return field.add(scene.image, scene.table["intensity"] * noise)


def accept(values: given_draws.Draws, severity: float, side: int) -> np.ndarray:
  """Return given draws in the form of `draw`."""
  values.agree("intensity", severity * _HIGHEST / 10)
  return values.floats("draw_phases", 3, side, side // 2)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
