"""Ripple: rows and columns swing by a sine each.

docs/evidence/specs/imagenet_c_bar.md section 4. Of 32 px pictures.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import bilinear, field, layout

SEVERITIES = {"cifar10": (5.5, 6, 6.5, 7.5, 8)}  # amplitude in 1 / 400 sides
_STEP = 0.0025


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `amplitude` in sides of the picture, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {"amplitude": (severities * _STEP).astype(np.float32)}


def draw(scene: plugins.Scene) -> dict[str, jax.Array]:
  """Draw `wavelengths` in px and `phases`, float32 `[2]` each, rows first."""
  u, side = (
    seeding.uniform(scene.key, (2, 2)),
    field.side(scene.image, scene.size),
  )
  return {
    "wavelengths": (0.1 + 0.2 * u[0]) * side,
    "phases": np.float32(2 * np.pi) * u[1],
  }


def apply(scene: plugins.Scene, draws: dict[str, jax.Array]) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  amplitude = scene.table["amplitude"] * field.side(scene.image, scene.size)
  y, x = (
    place + amplitude * jnp.sin(np.float32(2 * np.pi) * place / length + phase)
    for place, length, phase in zip(
      field.coordinates(scene.image.shape),
      draws["wavelengths"],
      draws["phases"],
      strict=True,
    )
  )
  return layout.interleave(
    bilinear.sample(field.levels(scene.image), scene.size, y, x)
  )


def accept(values: given_draws.Draws, severity: float, side: int) -> dict:
  """Return given draws in the form of `draw`."""
  values.agree("amplitudes", [severity * _STEP * side] * 2)
  return {k: values.floats(k, 2) for k in ("wavelengths", "phases")}


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
