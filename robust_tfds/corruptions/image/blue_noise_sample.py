"""Blue noise sample: black holes, scattered evenly.

docs/evidence/specs/imagenet_c_bar.md section 3 (7).
"""

import jax
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, spec
from robust_tfds.corruptions.ops import field, fourier_noise, layout

SEVERITIES = {  # the threshold is 0.3 of it, minus 2.5
  "imagenet": (0.8, 1.6, 2.4, 4, 5.6),
  "cifar10": (0.7, 1.4, 2.1, 3.5, 4.2),
}
_STEP, _LOWEST = 0.3, 2.5  # standard deviations


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `threshold` in standard deviations of the noise, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {"threshold": (severities * _STEP - _LOWEST).astype(np.float32)}


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw phases, see `fourier_noise.draw`."""
  return fourier_noise.draw(scene.key, 1, fourier_noise.side_px(scene.edition))


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  noise = fourier_noise.planes(draws, lambda d: d, scene.image.shape)
  shown = noise > scene.table["threshold"]
  return layout.interleave(field.levels(scene.image) * shown)


def accept(values: given_draws.Draws, severity: float, side: int) -> np.ndarray:
  """Return given draws in the form of `draw`."""
  values.agree("threshold", severity * _STEP - _LOWEST)
  return values.floats("draw_phases", 1, side, side // 2)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
