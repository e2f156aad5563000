"""Tools to draw the embedded sets: seeded numbers and smooth fields."""

from __future__ import annotations

import math

import numpy as np

from robust_tfds import conditions


class Dice:
  """A generator of uniform numbers for one example, from Philox words."""

  def __init__(self, dataset: str, thing: str, name: str, seed: int = 0):
    """Seed the generator by what is drawn.

    Args:
      dataset: the example's dataset.
      thing: the part that is drawn.
      name: the example's id.
      seed: the seed of the whole set.
    """
    key = conditions.raw_keys(seed, dataset, thing, 0, [name])[0]
    self._bits = np.random.Philox(key=int(key[0]) << 32 | int(key[1]))

  def uniform(self, *shape: int) -> np.ndarray:
    """Return float64 numbers in [0, 1)."""
    words = self._bits.random_raw(math.prod(shape))
    return ((words >> np.uint64(11)) * 2.0**-53).reshape(shape)

  def between(self, low: float, high: float) -> float:
    """Return a number in [low, high)."""
    return low + (high - low) * float(self.uniform(1)[0])

  def integer(self, low: int, high: int) -> int:
    """Return an integer in low..high, both included."""
    return low + int(self.uniform(1)[0] * (high - low + 1))


def stretch(grid: np.ndarray, height: int, width: int) -> np.ndarray:
  """Enlarge a small grid bilinearly to `[H, W, C]`."""
  for axis, length in ((0, height), (1, width)):
    n = grid.shape[axis] - 1
    place = np.arange(length) * n / (length - 1)
    low = np.minimum(place.astype(int), n - 1)
    part = (place - low).reshape([-1 if a == axis else 1 for a in range(3)])
    below, above = grid.take(low, axis), grid.take(low + 1, axis)
    grid = below * (1 - part) + above * part
  return grid
