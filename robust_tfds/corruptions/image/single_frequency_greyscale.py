"""Single frequency greyscale: one plane wave on all channels.

docs/evidence/specs/imagenet_c_bar.md section 3 (1).
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import field

SEVERITIES = {"imagenet": (1, 1.5, 2, 4.5, 5)}  # intensity in tenths of 196
_HIGHEST = 196.0


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `intensity`, the amplitude in levels, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {"intensity": (severities * (_HIGHEST / 10)).astype(np.float32)}


def draw(scene: plugins.Scene) -> dict[str, jax.Array]:
  """Draw `freq` [2] in radians a pixel (rows' factor second), and `phase`."""
  u = seeding.uniform(scene.key, (4,))
  first = np.float32(np.pi) * (2 * u[0] - 1)
  second = jnp.abs(first) * (2 * u[1] - 1)
  pair = jnp.stack([first, second])
  draws = {
    "freq": jnp.where(u[2] < 0.5, pair, pair[::-1]),
    "phase": np.float32(2 * np.pi) * u[3],
  }
  return field.settled(draws, scene.table["severity"])


def apply(scene: plugins.Scene, draws: dict[str, jax.Array]) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  y, x = field.coordinates(scene.image.shape)
  freq = draws["freq"]
  wave = jnp.sin(x * freq[0] + y * freq[1] + draws["phase"])
  return field.add(scene.image, scene.table["intensity"] * wave)


def accept(values: given_draws.Draws, severity: float, side: int) -> dict:
  """Return given draws in the form of `draw`."""
  values.agree("intensity", severity * _HIGHEST / 10)
  return {"freq": values.floats("freq", 2), "phase": values.floats("phase")}


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
