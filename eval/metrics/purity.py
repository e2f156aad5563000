"""k-NN purity: how far features hold classes together."""

import numpy as np

from eval.metrics import arguments
from robust_tfds import errors

_ROWS = 512  # rows whose distances are in memory at once


def knn(
  features: np.typing.ArrayLike, labels: np.typing.ArrayLike, k: int = 10
) -> float:
  """Compute the share of the k nearest other examples that have an example's class.

  Distances are Euclidean; the first of equally near examples count. For
  features that do not depend on the class it is about the sum of the classes'
  squared shares.

  Args:
    features: `[N, channels]`, N from 2.
    labels: `[N]`.
    k: number of neighbours; all others if there are fewer.

  Returns:
    The mean over the examples, 0 to 1.

  Raises:
    UserError: a shape is wrong, there are too few examples, or k is below 1.

  >>> knn([[0.0], [0.1], [5.0], [5.1]], ["a", "a", "b", "b"], k=1)
  1.0
  """
  x, y = arguments.reals("features", features), np.asarray(labels)
  k = min(arguments.whole_number("k", k, 1), len(x) - 1)
  if x.ndim != 2 or y.shape != (len(x),) or k < 1:
    raise errors.UserError(
      "Expected features [N, channels] and labels [N] of 2 examples or more, got"
      f" {list(x.shape)} and {list(y.shape)}."
    )
  x, right = x - x.mean(axis=0), 0
  square = (x * x).sum(axis=1)
  for start in range(0, len(x), _ROWS):
    rows = np.arange(start, min(start + _ROWS, len(x)))
    away = square - 2 * x[rows] @ x.T  # except for the row's own square
    away[rows - start, rows] = np.inf
    near = np.argsort(away, axis=1, kind="stable")[:, :k]
    right += int((y[near] == y[rows, None]).sum())
  return right / (len(x) * k)
