"""What the five best of a softmax say of its NLL and of its Brier score.

With s_1 to s_5 the stored scores, y the true class, p_y its probability, and r the
probability of all classes behind the five:

  y is rank k      nll = -log s_k;  sum of (s_j - [j = k])^2 <= brier, and brier is
                   larger by r^2 at most, where one class has all the rest
  y is none of it  p_y <= min(s_5, r) =: t, so nll >= -log t;
                   sum of s_j^2 + (1 - t)^2 <= brier <= sum of s_j^2 + 1 + r^2

Places without a class have score 0, and a class without an output has no
probability at all. Ends are wider by what float32 rounds.
"""

import numpy as np

_ROUNDING = 1e-4  # of float32 probabilities, one or several that are added
_RELATIVE = 1e-3  # of an NLL
_UNDERFLOW = 1e-29  # scores to here are not exact: a mean of views has 1e-30


def nll_ends(
  labels: np.ndarray, top5: np.ndarray, score: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Least and largest NLL of each row.

  Args:
    labels: int `[N]`, the true classes.
    top5: int `[N, 5]`, -1 for places without a class.
    score: float `[N, 5]`, their probabilities.

  Returns:
    Two float64 `[N]`; the largest is infinite where nothing tells it.
  """
  own, _, listed = _own(labels, top5, score)
  exact = listed & (own > _UNDERFLOW)
  behind = np.minimum(score[:, -1], _rest(score)) + _ROUNDING
  most_likely = np.where(listed, np.maximum(own, _UNDERFLOW), behind)
  least = np.maximum(-np.log(most_likely), 0)
  slack = _RELATIVE * np.maximum(1, least) + _ROUNDING
  return least - slack, np.where(exact, least + slack, np.inf)


def brier_ends(
  labels: np.ndarray, top5: np.ndarray, score: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Least and largest Brier score of each row.

  Args:
    labels: int `[N]`, the true classes.
    top5: int `[N, 5]`, -1 for places without a class.
    score: float `[N, 5]`, their probabilities.

  Returns:
    Two float64 `[N]`.
  """
  _, rank, listed = _own(labels, top5, score)
  rest = _rest(score)
  five = np.square(score.astype(np.float64) - rank).sum(axis=1)
  behind = np.minimum(score[:, -1], rest)
  least = five + np.where(listed, 0, np.square(1 - behind))
  most = five + np.where(listed, 0, 1) + np.square(rest)
  slack = 4 * _ROUNDING
  return least - slack, most + slack


def _own(
  labels: np.ndarray, top5: np.ndarray, score: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """The true class's score `[N]`, its rank `[N, 5]`, whether it has one."""
  rank = top5 == labels[:, None]
  own = np.where(rank, score, 0).sum(axis=1, dtype=np.float64)
  return own, rank, rank.any(axis=1)


def _rest(score: np.ndarray) -> np.ndarray:
  """The probability behind the five, from 0."""
  return np.maximum(1 - score.sum(axis=1, dtype=np.float64), 0)
