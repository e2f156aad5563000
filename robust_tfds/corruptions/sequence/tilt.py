"""Perspective: the picture turned about both axes by up to 15 degrees.

The authors' projection puts the picture at depth f + 1 in place of f, so even the
middle frame is shrunk by f / (f + 1).

docs/evidence/specs/imagenet_p.md sections 2 and 4.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import double, geometry, layout, warp

# Output columns and rows -> source columns and rows.
Coordinates = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """Return `rotation` RX @ RY: float64 bits, int32 `[31, 3, 3, 2]`."""
  step = 0.75 if edition.name == "cifar10" else 1.0
  rows = [_rotation(np.deg2rad(step * (i - 15))) for i in range(31)]
  return {"rotation": double.bits(np.stack(rows))}


def _rotation(t: float) -> np.ndarray:
  c, s = np.cos(t), np.sin(t)
  about_x = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
  about_y = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
  return about_x @ about_y


def frame(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute one frame, uint8 `[S, S * 3]`."""
  size = scene.size
  coordinates = _inverse(scene.table["rotation"], size)

  def sample(packed: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    u, v = coordinates(x, y)
    return warp.opencv_bilinear(packed, u, v, size)

  return geometry.render(scene.image, size, scene.edition, sample)


def _inverse(rotation: jax.Array, size: layout.Size) -> Coordinates:
  """Return the map from output to source pixels of M = P2 T RX RY P1, in closed form.

  With q = (x - w/2, y - h/2, 1) and r = R q, M sends the source pixel to
  f r_xy / (r_z + f) around the centre. So R' (D z, E z, z - f) = q for the
  output's (D, E) = (X - w/2, Y - h/2) / f, and q_z = 1 gives z = r_z + f.
  """

  def coordinates(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    # float64: coordinates are rounded to 1/32 px right after.
    with jax.enable_x64(True):
      r = double.value(rotation)
      h = jnp.asarray(size.h).astype(jnp.float64)
      w = jnp.asarray(size.w).astype(jnp.float64)
      f = jnp.sqrt(w * w + h * h)
      d, e = (x - w / 2) / f, (y - h / 2) / f
      p = [r[0, k] * d + r[1, k] * e + r[2, k] for k in range(3)]
      z = (1 + f * r[2, 2]) / p[2]
      u = z * p[0] - f * r[2, 0] + w / 2
      v = z * p[1] - f * r[2, 1] + h / 2
      return u, v

  return coordinates


PLUGIN = plugins.FrameByFrame(
  tables=tables,
  rows=("rotation",),
  frame=frame,
  on_source=("imagenet", "inception"),
)
