"""Seeded procedural fractals, pictures for PixMix that need no download.

They are not the paper's pictures, which are collected fractal art and feature
visualisations. Each is a Julia set of z^2 + c, with c just outside the main
cardioid of the Mandelbrot set, coloured by how fast z escapes, through a
palette of three cosines.
"""

import numpy as np

from models.training.transforms import checks

_TURNS = 96  # most iterations
_FAR = 4.0  # |z| beyond which it never returns; 2 would do, bands are smoother


def fractals(count: int, side: int, seed: int = 0) -> np.ndarray:
  """Return the fractals of a seed; see `checks.drawn`.

  Returns:
    uint8 `[count, side, side, 3]`.

  Raises:
    UserError: a number is out of range.
  """
  return checks.drawn("fractals", count, side, seed, _picture)


def _picture(rng: np.random.Generator, side: int) -> np.ndarray:
  """Draw one fractal, uint8 `[side, side, 3]`."""
  turn = rng.uniform(0, 2 * np.pi)
  point = np.exp(1j * turn)
  c = (point / 2 - point**2 / 4) * rng.uniform(1.01, 1.08)
  width, angle = rng.uniform(0.8, 2.6), rng.uniform(0, 2 * np.pi)
  middle = complex(*rng.uniform(-0.3, 0.3, 2))
  along = np.linspace(-width / 2, width / 2, side)
  plane = along + 1j * along[:, None]
  escape = _escape(middle + plane * np.exp(1j * angle), c)
  frequency, phase = rng.uniform(0.5, 3, 3), rng.uniform(0, 1, 3)
  waves = np.cos(2 * np.pi * (escape[..., None] * frequency + phase))
  return np.rint(127.5 + 127.5 * waves).astype(np.uint8)


def _escape(z: np.ndarray, c: complex) -> np.ndarray:
  """Compute how soon points escape, 0 at once to 1 never: float64 of z's shape."""
  steps = np.full(z.shape, float(_TURNS))
  inside = np.ones(z.shape, bool)
  for turn in range(_TURNS):
    z = np.where(inside, z * z + c, z)
    size = np.abs(z)
    leaves = inside & (size > _FAR)
    # Between whole steps: Peitgen & Richter 1986, The Beauty of Fractals.
    steps[leaves] = turn + 1 - np.log2(np.log(size[leaves]) / np.log(_FAR))
    inside &= ~leaves
  return np.sqrt(np.clip(steps, 0, _TURNS) / _TURNS)
