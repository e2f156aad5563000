"""Coverage of the intervals of a model that adapts, simulated.

  python -m tests.eval.coverage.adaptation

Two classes of Gaussian features, shifted; a linear classifier behind a batch norm,
whose scale and bias Tent trains, batch by batch. Naive: Clopper and Pearson's
interval of one stream, for the error of all such streams. Over seeds: Student's t
of five orders of the same pictures, for the mean over all their orders.
"""

from __future__ import annotations

import numpy as np

from eval.metrics import intervals

_FEATURES, _BATCH, _BATCHES, _SEEDS = 6, 10, 40, 5
_APART = 0.32  # of the classes' means from 0, in each feature
_ORDERS = 40  # which stand for all orders


def coverage(sets: int, rate: float) -> tuple[float, float]:
  """Return the shares of naive intervals, and of those over seeds, that cover.

  Args:
    sets: number of data sets that are drawn.
    rate: Tent's learning rate; 0: batch statistics alone.
  """
  rng = np.random.default_rng([1, sets])
  count = _BATCH * _BATCHES
  labels = rng.integers(0, 2, (sets, count))
  signs = 2 * labels - 1
  x = signs[..., None] * _APART + rng.normal(size=(sets, count, _FEATURES))
  orders = []
  for _ in range(_ORDERS):
    order = rng.permuted(np.tile(np.arange(count), (sets, 1)), axis=1)
    drawn = np.take_along_axis(x, order[..., None], 1)
    orders.append(_errors(drawn, np.take_along_axis(signs, order, 1), rate))
  errors = np.array(orders)  # [orders, sets]
  wrong = np.rint(errors[0] * count)
  lo, hi = intervals.clopper_pearson(wrong, count)
  naive = (lo <= errors.mean()) & (errors.mean() <= hi)
  ends = np.array([intervals.over_runs(of) for of in errors[:_SEEDS].T])
  rest = errors[_SEEDS:].mean(0)
  seeds = (ends[:, 0] <= rest) & (rest <= ends[:, 1])
  return float(naive.mean()), float(seeds.mean())


def _errors(x: np.ndarray, signs: np.ndarray, rate: float) -> np.ndarray:
  """Return the error of each stream: `[sets]`."""
  sets = len(x)
  gain, bias = np.ones((sets, 1, _FEATURES)), np.zeros((sets, 1, _FEATURES))
  wrong = np.zeros(sets)
  for start in range(0, x.shape[1], _BATCH):
    batch = x[:, start : start + _BATCH]
    spread = batch.std(1, keepdims=True)
    normal = (batch - batch.mean(1, keepdims=True)) / spread
    logit = (gain * normal + bias).sum(-1, keepdims=True)
    wrong += (np.sign(logit[..., 0]) != signs[:, start : start + _BATCH]).sum(1)
    p = 1 / (1 + np.exp(-np.clip(logit, -30, 30)))
    slope = -logit * p * (1 - p)  # of the entropy
    gain = gain - rate * (slope * normal).mean(1, keepdims=True)
    bias = bias - rate * slope.mean(1, keepdims=True)
  return wrong / x.shape[1]


def main() -> None:
  """Print the coverage for some learning rates."""
  for rate in (0.0, 0.1, 0.3, 1.0):
    naive, seeds = coverage(400, rate)
    print(f"rate {rate}: naive {naive:.3f}, over {_SEEDS} seeds {seeds:.3f}")


if __name__ == "__main__":
  main()
