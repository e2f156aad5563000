"""Minibatch CKA: the similarity of two sets of features of the same examples.

Linear centered kernel alignment, with the unbiased estimator of HSIC, summed
over batches (Nguyen et al. 2021, arXiv 2010.15327, Eq. 2 and 3; HSIC_1 of Song
et al. 2012); Schiappa et al. 2023 draw it in Figure 9. With K = x x' and L = y
y' for a batch of n examples, both with a diagonal of 0,

  HSIC_1(K, L) = [tr(KL) + 1'K1 1'L1 / ((n-1)(n-2)) - 2/(n-2) 1'KL1] / (n(n-3))
  CKA = sum HSIC_1(K, L) / sqrt(sum HSIC_1(K, K) sum HSIC_1(L, L))

So the batch size does not change the expected sums. CKA is 1 for features and
themselves, also rotated, shifted or scaled by a number; it is about 0 for
unrelated features, and below 0 as often as above. HSIC_1 is the product of two
matrices that are centred without their diagonal (Szekely and Rizzo 2014,
Definition 2), over n (n - 3), and is computed so here: HSIC_1(K, K) is at least
0, and CKA lies within -1 and 1. If all examples are equally similar, as the
rows of an identity matrix are, HSIC_1(K, K) is 0 and CKA 0 / 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from eval.metrics import arguments
from robust_tfds import errors

_MIN_EXAMPLES = 4  # n (n - 3) divides
_EQUAL = (
  1e-12  # features vary if their spread is above this share of their squares
)
_ALIKE = (
  1e-18  # the same share for a centred Gram matrix: rounding stays below it
)


def minibatch(
  batches: Iterable[tuple[np.typing.ArrayLike, np.typing.ArrayLike]],
) -> float:
  """Compute the CKA of two layers, models or conditions.

  Args:
    batches: pairs (x, y) of the same examples in the same order, `[n,
      features]` each, n from 4; read one by one. Further axes count as
      features.

  Returns:
    CKA, from -1 to 1; nan if the features of one side do not vary, or all pairs
    of its examples are equally similar.

  Raises:
    UserError: there is no batch, a batch has too few examples, its sides differ
      in number, or a value is no finite number.

  >>> x = [[0.0, 1.0], [2.0, 0.0], [1.0, 3.0], [4.0, 1.0]]
  >>> round(minibatch([(x, x)]), 9)
  1.0
  >>> minibatch([(np.eye(4), np.eye(4))])
  nan
  """
  sums, squares, vary = np.zeros(3), np.zeros(2), np.zeros(2, bool)
  number = 0
  for number, pair in enumerate(batches, 1):
    sides = _checked(number, pair)
    grams = [_gram(side) for side in sides]
    vary |= [_varies(side) for side in sides]
    squares += [_hsic(gram, gram) for gram in grams]
    x, y = map(_centred, grams)
    sums += [_hsic(x, y), _hsic(x, x), _hsic(y, y)]
  if not number:
    raise errors.UserError("batches: got none, expected pairs of features.")
  if not vary.all() or (sums[1:] <= _ALIKE * squares).any():
    return math.nan
  common, of_x, of_y = sums.tolist()
  # By Cauchy and Schwarz; anything beyond is rounding.
  return min(max(common / math.sqrt(of_x * of_y), -1.0), 1.0)


def _checked(number: int, pair: object) -> list[np.ndarray]:
  """Return the two sides of a batch as float64 `[n, features]`, after checks."""
  where = f"batch {number}"
  sides = arguments.elements(pair)
  if sides is None or len(sides) != 2:
    raise errors.UserError(f"{where}: expected a pair (x, y) of features.")
  out = [
    arguments.reals(f"{where}: {name}", side) for name, side in zip("xy", sides)
  ]
  shapes = " and ".join(str(list(side.shape)) for side in out)
  if any(side.ndim < 2 or not side.size for side in out):
    raise errors.UserError(
      f"{where}: expected features [n, features] of both sides, got {shapes}."
    )
  if len(out[0]) != len(out[1]) or len(out[0]) < _MIN_EXAMPLES:
    raise errors.UserError(
      f"{where}: expected the same examples on both sides, {_MIN_EXAMPLES} or more (the"
      f" estimator divides by n - 3), got {shapes}."
    )
  return [side.reshape(len(side), -1) for side in out]


def _varies(features: np.ndarray) -> bool:
  """Return whether examples differ by more than rounding."""
  spread = np.square(features - features.mean(axis=0)).sum()
  return bool(spread > _EQUAL * np.square(features).sum())


def _gram(features: np.ndarray) -> np.ndarray:
  """Return the Gram matrix `[n, n]` of centred features, with a diagonal of 0.

  Centring does not change HSIC_1, and saves the digits that a mean would cost.
  """
  centred = features - features.mean(axis=0)
  gram = centred @ centred.T
  np.fill_diagonal(gram, 0)
  return gram


def _centred(gram: np.ndarray) -> np.ndarray:
  """Subtract means of rows and columns, without the diagonal."""
  n = len(gram)
  row_means = gram.sum(axis=0) / (n - 2)
  out = gram - row_means - row_means[:, None] + row_means.sum() / (n - 1)
  np.fill_diagonal(out, 0)
  return out


def _hsic(k: np.ndarray, m: np.ndarray) -> float:
  """Compute HSIC_1 from two results of `_centred`."""
  n = len(k)
  return float((k * m).sum() / (n * (n - 3)))
