"""A small clip of our own, to show perturbations on: nothing is downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robust_tfds import conditions

if TYPE_CHECKING:
  import jax


def frames(count: int = 16, side: int = 96) -> np.ndarray:
  """Return a clip of a disc and a bar that move over stripes.

  Args:
    side: height and width of a frame, px.

  Returns:
    uint8 `[count, side, side, 3]`.
  """
  return np.stack([_frame(t / max(count - 1, 1), side) for t in range(count)])


def _frame(t: float, side: int) -> np.ndarray:
  """Return the frame at t from 0 to 1: uint8 `[side, side, 3]`."""
  y, x = np.mgrid[0:side, 0:side] / side
  stripes = 0.5 + 0.5 * np.sin(40 * x + 6 * y)
  out = np.stack(
    [0.75 - 0.2 * y, 0.8 - 0.15 * stripes, 0.6 + 0.25 * x], axis=-1
  )
  disc = (x - 0.2 - 0.6 * t) ** 2 + (y - 0.35) ** 2 < 0.15**2
  bar = (abs(x - 0.8 + 0.6 * t) < 0.06) & (abs(y - 0.75) < 0.18)
  out[disc] = (0.85, 0.3, 0.15)
  out[bar] = (0.1, 0.25, 0.6)
  return (255 * out).round().astype(np.uint8)


def key(name: str, severity: int) -> jax.Array:
  """Return the clip's key under a perturbation: uint32 `[2]`."""
  import jax.numpy as jnp

  condition = conditions.VIDEOS.condition(name, severity)
  return jnp.asarray(condition.key(0, "own_clip", "clip"))
