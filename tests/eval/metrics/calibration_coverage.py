"""How often a bootstrap interval of the ECE would cover: why there is none.

    python -m tests.eval.metrics.calibration_coverage

Models of scores from a Beta distribution whose chance to be right is the score less
a constant; the truth is the ECE of millions of examples in the same bins. Beside the
percentiles of the draws their reflection at the estimate ("basic"), which undoes
half of the bias. Both miss where the model is nearly calibrated.
"""

import numpy as np

from robust_tfds.eval.metrics import calibration

_RUNS, _DRAWS, _LARGE = 200, 200, 4_000_000


def _examples(
  rng: np.random.Generator, n: int, excess: float
) -> tuple[np.ndarray, np.ndarray]:
  score = rng.beta(6, 2, n)
  return score, rng.random(n) < np.clip(score - excess, 0, 1)


def coverage(excess: float, n: int) -> dict[str, float]:
  """The true ECE, the estimates' mean, and shares of intervals that cover."""
  rng = np.random.default_rng(0)
  truth = calibration.ece(*_examples(rng, _LARGE, excess))
  of, percentile, basic = [], 0, 0
  for _ in range(_RUNS):
    score, right = _examples(rng, n, excess)
    of.append(calibration.ece(score, right))
    draws = []
    for _ in range(_DRAWS):
      rows = rng.integers(0, n, n)
      draws.append(calibration.ece(score[rows], right[rows]))
    lo, hi = np.quantile(draws, [0.025, 0.975])
    percentile += lo <= truth <= hi
    basic += 2 * of[-1] - hi <= truth <= 2 * of[-1] - lo
  return {
    "truth": truth,
    "mean": float(np.mean(of)),
    "percentile": percentile / _RUNS,
    "basic": basic / _RUNS,
  }


def main() -> None:
  """Prints a line a model and number of examples."""
  for excess in (0.0, 0.02, 0.1):
    for n in (500, 5000):
      got = coverage(excess, n)
      words = ", ".join(f"{k} {v:.4f}" for k, v in got.items())
      print(f"score - {excess:g}, n = {n}: {words}", flush=True)


if __name__ == "__main__":
  main()
