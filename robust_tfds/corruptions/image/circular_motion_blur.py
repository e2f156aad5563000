"""Circular motion blur: the mean of 21 turns of the picture.

docs/evidence/specs/imagenet_c_bar.md section 4. Of 32 px pictures. Turning is
linear in the pixels, so that a severity is one matrix.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, spec
from robust_tfds.corruptions.ops import field, layout

SEVERITIES = {"cifar10": (2.8, 3.6, 4.4, 5.2, 6)}
_DEGREES = 1.5  # the outermost turns are so much, times it
_TURNS = 21


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `blur`, float32 `[5, N, N]` on the N = side * side pixels."""
  amounts = np.array(edition.row(SEVERITIES), np.float64) * _DEGREES
  side = edition.side_px
  return {"blur": np.stack([_blur(a, side) for a in amounts])}


def _blur(degrees: float, side: int) -> np.ndarray:
  """Return the weights of all pixels in all pixels, float32 `[N, N]`."""
  from scipy import ndimage

  u = np.linspace(-1, 1, _TURNS)
  weights = np.exp(-2 * u * u)
  turns = np.zeros((side * side, side * side))
  for angle, weight in zip(np.deg2rad(u * degrees), weights, strict=True):
    _add_turn(turns, angle, weight / weights.sum(), side)
  # Coefficients of the cubic spline through the pixels, along an axis.
  spline = ndimage.spline_filter1d(np.eye(side), axis=0, mode="mirror")
  by_axis = turns.reshape(-1, side, side)
  out = np.einsum("kij,ia,jb->kab", by_axis, spline, spline, optimize=True)
  return out.reshape(turns.shape).astype(np.float32)


def _add_turn(
  turns: np.ndarray, angle: float, weight: float, side: int
) -> None:
  """Add one turn about the picture's centre, black outside, to the weights."""
  middle = (side - 1) / 2
  y, x = (n - middle for n in np.mgrid[:side, :side])
  cos, sin = np.cos(angle), np.sin(angle)
  place = cos * y + sin * x + middle, cos * x - sin * y + middle
  slack = 1e-12
  inside = np.logical_and(
    *((p >= -slack) & (p <= side - 1 + slack) for p in place)
  )
  pixel = np.arange(side * side).reshape(side, side)[inside]
  (rows, down), (columns, across) = (_taps(p[inside], side) for p in place)
  for row, weight_y in zip(rows, down, strict=True):
    for column, weight_x in zip(columns, across, strict=True):
      np.add.at(
        turns, (pixel, row * side + column), weight * weight_y * weight_x
      )


def _taps(place: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
  """Return the four knots at each position, mirrored, and their weights."""
  first = np.floor(place)
  t = place - first
  weights = np.stack(
    [
      (1 - t) ** 3,
      4 - 6 * t**2 + 3 * t**3,
      1 + 3 * t + 3 * t**2 - 3 * t**3,
      t**3,
    ]
  )
  knots = np.abs(first.astype(int) + np.arange(-1, 3)[:, None])
  return np.minimum(knots, 2 * (side - 1) - knots), weights / 6


def apply(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  pixels = field.levels(scene.image).reshape(3, -1)
  exact = jax.lax.Precision.HIGHEST
  out = jnp.matmul(pixels, scene.table["blur"].T, precision=exact)
  return layout.interleave(out.reshape(3, *scene.image.shape[:2]))


def accept(values: given_draws.Draws, severity: float, side: int) -> None:
  """Check given numbers: there is nothing to draw."""
  values.agree("amount", severity * _DEGREES)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  apply=apply,
  accept=accept,
)
