"""The 8x8 cosine transforms of libjpeg's `islow`, in integers.

A block is transformed along one axis, then along the other, and every sum is
rounded to a whole number after each. libjpeg documents the fixed point: constants
of 13 bits, two more bits between the passes. Its butterflies round nothing within
a pass, so a pass is eight sums of whole products. Here each sum is written out:
XLA's CPU compiler makes one loop of each, and would compute the shared parts of
butterflies once a loop all the same.

Samples are int16 `[8, ...]`, one long row a place in the block. Of 8-bit pictures
all results lie in int16. Forward: at most 8 * 128 * 4 after the first pass, and
8 * 8 * 128 after the second. Inverse: a block's coefficients, as a vector, are at
most 8 * 128 long, and 8 * 128 more by quantisation (steps are at most 255), so a
column's first pass gives at most 4 * 8**0.5 * (1024 + 361).
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

_BITS, _PASS1 = 13, 2  # fixed point of the constants, and of the first pass


def _fixed(value: float) -> int:
  return int(round(value * (1 << _BITS)))


# jidctint.c: the rotations of the even part, and of the odd part.
_C541, _C765, _C1847 = (
  _fixed(v) for v in (0.541196100, 0.765366865, 1.847759065)
)
_ALONE = [
  _fixed(v) for v in (0.298631336, 2.053119869, 3.072711026, 1.501321110)
]
_Z1, _Z2, _Z3, _Z4, _Z5 = (
  _fixed(v)
  for v in (-0.899976223, -2.562915447, -1.961570560, -0.390180644, 1.175875602)
)


def _odd_sums() -> np.ndarray:
  """Return the odd part's weights of its four values: int64 `[4, 4]`, symmetric."""
  a, b, c, d = np.eye(4, dtype=np.int64)
  z5 = (a + b + c + d) * _Z5
  z1, z2 = (a + d) * _Z1, (b + c) * _Z2
  z3, z4 = (a + c) * _Z3 + z5, (b + d) * _Z4 + z5
  own = [v * k for v, k in zip((a, b, c, d), _ALONE, strict=True)]
  return np.stack(
    [own[0] + z1 + z3, own[1] + z2 + z4, own[2] + z2 + z3, own[3] + z1 + z4]
  )


_ODD = _odd_sums().tolist()


def forward(samples: jax.Array, axis: int) -> jax.Array:
  """Compute one pass of the forward transform.

  Args:
    samples: int16; the axis has 8 places.
    axis: 0, the first pass, which runs along a row, or 1, the second.

  Returns:
    int16 of the same shape except for the axis, which comes first. After both
    passes it holds 8 times the coefficients.
  """
  x = _places(samples, axis)
  sums = [x[i] + x[7 - i] for i in range(4)]
  differences = [(x[3 - i] - x[4 + i]).astype(jnp.int32) for i in range(4)]
  outer, inner = sums[0] + sums[3], sums[1] + sums[2]
  left, right = (
    v.astype(jnp.int32) for v in (sums[0] - sums[3], sums[1] - sums[2])
  )
  bits = _BITS + (_PASS1 if axis else -_PASS1)
  odd = [_rounded(_dot(differences, row), bits) for row in _ODD]
  if axis == 0:
    even = [(outer + inner) << _PASS1, (outer - inner) << _PASS1]
  else:
    outer, inner = outer.astype(jnp.int32), inner.astype(jnp.int32)
    even = [_rounded(v, _PASS1) for v in (outer + inner, outer - inner)]
  second = _rounded(left * (_C541 + _C765) + right * _C541, bits)
  sixth = _rounded(left * _C541 + right * (_C541 - _C1847), bits)
  return jnp.stack(
    [even[0], odd[3], second, odd[2], even[1], odd[1], sixth, odd[0]]
  )


def inverse(coefficients: jax.Array, axis: int) -> jax.Array:
  """Compute one pass of the inverse transform.

  Args:
    coefficients: int16; the axis has 8 places.
    axis: 0, the first pass, which runs down a column, or 1, the second.

  Returns:
    int16 of the same shape except for the axis, which comes first. After both
    passes it holds samples around 0.
  """
  x = [v.astype(jnp.int32) for v in _places(coefficients, axis)]
  low = x[2] * _C541 + x[6] * (_C541 - _C1847)
  high = x[2] * (_C541 + _C765) + x[6] * _C541
  plus, minus = (x[0] + x[4]) << _BITS, (x[0] - x[4]) << _BITS
  even = [plus + high, minus + low, minus - low, plus - high]
  odd = [_dot([x[7], x[5], x[3], x[1]], row) for row in _ODD[::-1]]
  bits = _BITS + (_PASS1 + 3 if axis else -_PASS1)
  first = [_rounded(e + o, bits) for e, o in zip(even, odd, strict=True)]
  last = [_rounded(e - o, bits) for e, o in zip(even, odd, strict=True)]
  return jnp.stack(first + last[::-1])


def _places(values: jax.Array, axis: int) -> list[jax.Array]:
  take = jax.lax.index_in_dim
  return [take(values, i, axis, keepdims=False) for i in range(8)]


def _dot(values: Sequence[jax.Array], weights: Sequence[int]) -> jax.Array:
  products = [v * w for v, w in zip(values, weights, strict=True)]
  return products[0] + products[1] + products[2] + products[3]


def _rounded(value: jax.Array, bits: int) -> jax.Array:
  """Drop the last bits of int32, rounding halves upwards: int16."""
  return ((value + (1 << (bits - 1))) >> bits).astype(jnp.int16)
