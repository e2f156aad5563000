"""Plasma noise: a smooth colour pattern of nested sines.

docs/evidence/specs/imagenet_c_bar.md section 3 (3).
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import field

SEVERITIES = {"imagenet": (4.75, 7, 8.5, 9.25, 10)}  # intensity in tenths of 64
_HIGHEST = 64.0
_MIN_ITERATIONS, _MAX_ITERATIONS = 4, 6  # iterations
# Growth a turn of the frequency, of the speed, and of the divisor before its
# sharpness is subtracted.
_FREQUENCY, _SPEED, _DIVISOR = 1.93, 1.15, 2.25
_TWIST = 0.3


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `intensity`, the amplitude in levels, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {"intensity": (severities * (_HIGHEST / 10)).astype(np.float32)}


def draw(scene: plugins.Scene) -> dict[str, jax.Array]:
  """Draw the pattern's `time`, `iterations`, `sharpness`, and `scale` in px."""
  u = seeding.uniform(scene.key, (3,))
  count = seeding.integers(
    scene.key, (), _MAX_ITERATIONS - _MIN_ITERATIONS + 1, 1
  )
  draws = {
    "time": np.float32(6 * np.pi) * u[0],
    "iterations": _MIN_ITERATIONS + count,
    "sharpness": 0.5 + 0.5 * u[1],
    "scale": (0.075 + 0.125 * u[2]) * field.side(scene.image, scene.size),
  }
  return field.settled(draws, scene.table["severity"])


def apply(scene: plugins.Scene, draws: dict[str, jax.Array]) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  rows, columns = field.coordinates(scene.image.shape)
  shape, time = scene.image.shape[:2], draws["time"]

  def turn(i: jax.Array, state: tuple) -> tuple:
    x, y, frequency, speed, divisor = state
    across = jnp.cos(y * frequency + time / speed) / divisor
    down = jnp.sin(x * frequency + time / speed) / divisor
    return (
      x + across - _TWIST * down,
      y + down + _TWIST * across,
      frequency * _FREQUENCY,
      speed * _SPEED,
      divisor * (_DIVISOR - draws["sharpness"]),
    )

  one = jnp.float32(1)
  start = (
    jnp.broadcast_to(columns / draws["scale"], shape),
    jnp.broadcast_to(rows / draws["scale"], shape),
    *(one, one, one),
  )
  x, y, *_ = jax.lax.fori_loop(0, draws["iterations"], turn, start)
  green = jnp.sin((x + y + jnp.sin(time)) / 2)
  noise = jnp.stack([jnp.sin(x - time), green, jnp.sin(y + time)])
  intensity = scene.table["intensity"]
  return field.mix(scene.image, intensity / 255, intensity * noise)


def accept(values: given_draws.Draws, severity: float, side: int) -> dict:
  """Return given draws in the form of `draw`."""
  values.agree("intensity", severity * _HIGHEST / 10)
  return {
    **{k: values.floats(k) for k in ("time", "sharpness", "scale")},
    "iterations": values.array("iterations").astype(np.int32),
  }


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
