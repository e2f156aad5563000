"""`texture`: the stylizer without weights from the user; it is not AdaIN.

The encoder is a tight frame of random filters: the columns of a seeded
orthogonal matrix, as filters of 4 x 4 px at every place. Its transpose decodes
exactly. Between the two, features get the means and deviations of a style's
features, as in AdaIN, so local contrast and colour follow the style; shapes
stay. `textures` are seeded procedural styles for it. Both are for runs without
downloads; they test the plumbing and promise no robustness.
"""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from models.training.transforms import adain, checks

_SIDE = 4  # side of a filter, px
_FILTERS = 3 * _SIDE**2
_PLACES = tuple(itertools.product(range(_SIDE), repeat=2))


def render(
  content: jax.Array,
  style: jax.Array,
  alpha: float,
  size: jax.Array | None = None,
) -> jax.Array:
  """Render a picture in another's style like `adain.render`, without weights.

  A picture in a canvas has the result that it would have alone: its features
  see only the continued edge outside it.
  """
  features = _encoded(content)
  valid = None if size is None else size + (_SIDE - 1)
  styled = adain.restyled(features, _encoded(style), valid)
  return _decoded(alpha * styled + (1 - alpha) * features)


def textures(count: int, side: int, seed: int = 0) -> np.ndarray:
  """Return the styles of a seed, warped waves; see `checks.drawn`.

  Returns:
    uint8 `[count, side, side, 3]`.

  Raises:
    UserError: a number is out of range.
  """
  return checks.drawn("textures", count, side, seed, _texture)


def _texture(rng: np.random.Generator, side: int) -> np.ndarray:
  """Draw plane waves, each bent by the sum of those before.

  The result is uint8 `[side, side, 3]`.
  """
  along = np.linspace(0, 1, side)
  total = np.zeros((side, side))
  for _ in range(5):
    angle, phase = rng.uniform(0, 2 * np.pi, 2)
    cycles, bend = rng.uniform(1, 16), rng.uniform(0, 2)
    place = along * np.cos(angle) + along[:, None] * np.sin(angle)
    total = total + np.cos(2 * np.pi * cycles * place + phase + bend * total)
  low, high = rng.uniform(0, 120, 3), rng.uniform(100, 255, 3)
  share = 1 / (1 + np.exp(-rng.uniform(0.5, 4) * total))
  return np.rint(low + (high - low) * share[..., None]).astype(np.uint8)


def _encoded(pictures: jax.Array) -> jax.Array:
  """Map `[B, H, W, 3]` to `[B, H + 3, W + 3, 48]`."""
  margin = (_SIDE - 1, _SIDE - 1)
  padded = jnp.pad(pictures, ((0, 0), margin, margin, (0, 0)), mode="edge")
  # Columns of places: some ten times as fast on CPUs as XLA's convolution.
  high, wide = (n - _SIDE + 1 for n in padded.shape[1:3])
  parts = [padded[:, i : i + high, j : j + wide] for i, j in _PLACES]
  return _product(jnp.concatenate(parts, axis=-1), _filters())


def _decoded(features: jax.Array) -> jax.Array:
  """Invert `_encoded`: a pixel is the mean of its 16 filters' values."""
  parts = jnp.split(_product(features, _filters().T), len(_PLACES), axis=-1)
  high, wide = (n - _SIDE + 1 for n in features.shape[1:3])
  total = jnp.zeros((len(features), high, wide, 3))
  for (i, j), part in zip(_PLACES, parts, strict=True):
    top, left = _SIDE - 1 - i, _SIDE - 1 - j
    total += part[:, top : top + high, left : left + wide]
  return total / len(_PLACES)


def _product(x: jax.Array, matrix: np.ndarray) -> jax.Array:
  return jnp.matmul(x, matrix, precision=jax.lax.Precision.HIGHEST)


@functools.cache
def _filters() -> np.ndarray:
  """Return an orthogonal matrix, float32 `[48, 48]`, a filter a column."""
  rng = np.random.default_rng(0)
  matrix = np.linalg.qr(rng.standard_normal((_FILTERS, _FILTERS)))[0]
  return matrix.astype(np.float32)
