"""k-NN purity: how far features hold classes together."""

import numpy as np

from robust_tfds import errors
from robust_tfds.eval.metrics import arguments

_ROWS = 512  # whose distances are in memory together


def knn(
  features: np.typing.ArrayLike, labels: np.typing.ArrayLike, k: int = 10
) -> float:
  """The share of the k nearest other examples that are of an example's class.

  Near is Euclidean; of equally near ones the first count. About the sum of the
  squared shares of the classes where features know nothing of them.

  Args:
    features: `[N, channels]`, N from 2.
    labels: `[N]`.
    k: neighbours; all others where there are fewer.

  Returns:
    The mean over the examples, 0 to 1.

  Raises:
    UserError: other shapes, fewer examples, or k below 1.

  >>> knn([[0.0], [0.1], [5.0], [5.1]], ["a", "a", "b", "b"], k=1)
  1.0
  """
  x, y = arguments.reals("features", features), np.asarray(labels)
  k = min(arguments.whole("k", k, 1), len(x) - 1)
  if x.ndim != 2 or y.shape != (len(x),) or k < 1:
    raise errors.UserError(
      "Expected features [N, channels] and labels [N] of 2 examples or more, got"
      f" {list(x.shape)} and {list(y.shape)}."
    )
  x, right = x - x.mean(axis=0), 0
  square = (x * x).sum(axis=1)
  for start in range(0, len(x), _ROWS):
    rows = np.arange(start, min(start + _ROWS, len(x)))
    away = square - 2 * x[rows] @ x.T  # but for the row's own square
    away[rows - start, rows] = np.inf
    near = np.argsort(away, axis=1, kind="stable")[:, :k]
    right += int((y[near] == y[rows, None]).sum())
  return right / (len(x) * k)
