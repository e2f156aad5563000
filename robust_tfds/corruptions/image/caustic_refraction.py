"""Caustic refraction: the picture under moving water, bent and lit.

docs/evidence/specs/imagenet_c_bar.md section 3 (10).
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import bilinear, field, layout

SEVERITIES = {"imagenet": (2.35, 3.2, 4.9, 6.6, 9.15)}
_LENS = 0.05  # the lens scale is so many sides of the picture, times it
_LIGHT = 0.2  # the light is so much, times it
_ETA = 4.0  # refractive index
_STEPS = 5
_SCALE = 0.005
_SOFTENING = 1.0  # standard deviation in px
_RADIUS = 4  # radius of its kernel in standard deviations, as scipy's
_STRAIGHT = 1 - 1e-3  # cosine from which light is not bent
_DECIMALS = 1000.0  # offsets have three decimals


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `lens` in sides of the picture, and `light`, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {
    "lens": (severities * _LENS).astype(np.float32),
    "light": (severities * _LIGHT).astype(np.float32),
  }


def draw(scene: plugins.Scene) -> dict[str, jax.Array]:
  """Draw the water's `time`, and its `size` in px."""
  u = seeding.uniform(scene.key, (2,))
  draws = {
    "time": 0.5 + 1.5 * u[0],
    "size": (0.75 + 0.5 * u[1]) * field.side(scene.image, scene.size),
  }
  return field.settled(draws, scene.table["severity"])


def apply(scene: plugins.Scene, draws: dict[str, jax.Array]) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  heights = _soft_water(scene, draws)
  along_y, along_x = _slopes(heights, scene.size)
  lens = scene.table["lens"] * field.side(scene.image, scene.size)
  y, x = field.coordinates(scene.image.shape)
  bend_y, bend_x = (lens * b for b in _refract(along_y, along_x))
  bent = bilinear.sample(
    field.levels(scene.image),
    scene.size,
    y + _round(bend_y),
    x + _round(bend_x),
  )
  light = (along_y - along_x) * scene.table["light"]
  return layout.interleave(bent + 255 * light)


def _soft_water(scene: plugins.Scene, draws: dict[str, jax.Array]) -> jax.Array:
  """Return the water's height, smoothed, float32 `[H, W]`."""
  reach = np.arange(-_RADIUS, _RADIUS + 1)
  kernel = np.exp(-0.5 * (reach / _SOFTENING) ** 2)
  kernel = (kernel / kernel.sum()).astype(np.float32)
  height, width = scene.image.shape[:2]
  # Borders are mirrored: the water is computed at the mirrored positions.
  y, x = (
    _mirrored(jnp.arange(-_RADIUS, n + _RADIUS), valid)
    for n, valid in ((height, scene.size.h), (width, scene.size.w))
  )
  water = _water(y[:, None], x[None, :], draws["time"], draws["size"])
  down = sum(k * water[i : i + height] for i, k in enumerate(kernel))
  return sum(k * down[:, i : i + width] for i, k in enumerate(kernel))


def _mirrored(index: jax.Array, valid: int | jax.Array) -> jax.Array:
  """Mirror positions at the picture's edges: -1 is 0, `valid` is valid - 1."""
  index = jnp.where(index < 0, -1 - index, index)
  index = jnp.where(index >= valid, 2 * valid - 1 - index, index)
  return jnp.clip(index, 0, valid - 1).astype(jnp.float32)


def _water(
  y: jax.Array, x: jax.Array, time: jax.Array, size: jax.Array
) -> jax.Array:
  """Return the caustics' brightness at positions, 0..1."""
  turn = np.float32(2 * np.pi)
  p0, p1 = (jnp.mod(v / size, 1) * turn - 250 for v in (y, x))
  i0, i1 = jnp.broadcast_arrays(p0, p1)
  total = jnp.ones_like(i0)
  for k in range(_STEPS):
    t = time * np.float32(1 - 3.5 / (k + 1))
    i0, i1 = (
      p0 + (jnp.cos(t - i0) + jnp.sin(t + i1)),
      p1 + (jnp.sin(t - i1) + jnp.cos(t + i0)),
    )
    across = p0 / (jnp.sin(i0 + t) / _SCALE)
    down = p1 / (jnp.cos(i1 + t) / _SCALE)
    total += 1 / jnp.sqrt(across * across + down * down)
  bright = 1.17 - (total / _STEPS) ** 1.4
  return jnp.clip(jnp.abs(bright) ** 8, 0, 1)


def _slopes(
  heights: jax.Array, size: layout.Size
) -> tuple[jax.Array, jax.Array]:
  """Return next minus previous along rows' and along columns' axis; 0 outside."""
  height, width = heights.shape
  rows = jnp.arange(height)[:, None] < size.h
  columns = jnp.arange(width)[None, :] < size.w
  inside = jnp.pad(jnp.where(rows & columns, heights, 0), 1)
  along_y = inside[2:, 1:-1] - inside[:-2, 1:-1]
  along_x = inside[1:-1, 2:] - inside[1:-1, :-2]
  return along_y, along_x


def _refract(
  along_y: jax.Array, along_x: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """Return where light from straight above goes, rows first.

  With the normal (a, b, 1) / N and r = |(a, b)|, the refracted ray's first two
  components are (a, b) / N * (cos - sin / r) of the angle behind the surface,
  whose sine is that of the angle before it, over the refractive index.
  """
  slope2 = along_y * along_y + along_x * along_x
  norm = jnp.sqrt(slope2 + 1)
  slope = jnp.sqrt(slope2)
  sine = slope / norm / _ETA
  factor = (jnp.sqrt(1 - sine * sine) - sine / slope) / norm
  factor = jnp.where(1 / norm >= _STRAIGHT, 0, factor)
  return along_y * factor, along_x * factor


def _round(offset: jax.Array) -> jax.Array:
  return jnp.round(offset * _DECIMALS) / _DECIMALS


def accept(values: given_draws.Draws, severity: float, side: int) -> dict:
  """Return given draws in the form of `draw`."""
  values.agree("lens_scale", severity * _LENS * side)
  values.agree("lighting_amount", severity * _LIGHT)
  return {"time": values.floats("time"), "size": values.floats("size")}


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
