"""Stability metrics of 1000 sequences of 31 x 1000 logits on one core.

  taskset -c 0 python -m benchmarks.stability --sequences=1000

The peer is the procedure of the published script, written anew: SciPy's ordinal
ranks of every frame, then a loop over pairs. It runs on a tenth of the
sequences and is scaled.
"""

import time
from collections.abc import Sequence

import numpy as np
from absl import app, flags
from scipy import stats

from eval.metrics import stability

_SEQUENCES = flags.DEFINE_integer("sequences", 1000, "How many.")
_FRAMES, _CLASSES = 31, 1000


def logits(sequences: int) -> np.ndarray:
  rng = np.random.default_rng(0)
  steps = rng.normal(size=(sequences, _FRAMES, _CLASSES)).astype(np.float32)
  return np.cumsum(0.1 * steps, axis=1) + 3 * steps[:, :1]


def loop(values: np.ndarray) -> tuple[float, float]:
  """Compute flip probability and uT5D in the way of the published script."""
  flips, distances = [], []
  for video in values:
    ranks = [np.uint16(stats.rankdata(-f, method="ordinal")) for f in video]
    for before, after in zip(ranks, ranks[1:]):
      sigma = after[np.argsort(before)]
      flips.append(sigma[0] != 1)
      distance = 0
      for i in range(5):
        distance += abs(min(int(sigma[i]) - 1, 5) - i)
      distances.append(distance)
  return float(np.mean(flips)), float(np.mean(distances))


def ours(values: np.ndarray) -> tuple[float, float]:
  ranked = stability.rank(values, 5)
  return (
    stability.flip_probability(ranked[..., 0]),
    stability.top5_distance(ranked),
  )


def zipf(values: np.ndarray) -> float:
  return stability.zipf_distance(stability.rank(values))


def timed(function, values, repeats):
  best, result = float("inf"), None
  for _ in range(repeats):
    start = time.perf_counter()
    result = function(values)
    best = min(best, time.perf_counter() - start)
  return best, result


def main(argv: Sequence[str]) -> None:
  del argv
  values = logits(_SEQUENCES.value)
  few = values[: max(1, len(values) // 10)]
  own, got = timed(ours, values, 5)
  slow, expected = timed(loop, few, 1)
  np.testing.assert_allclose(ours(few), expected, atol=1e-12)
  slow *= len(values) / len(few)
  whole, distance = timed(zipf, values, 3)
  print(f"FP {got[0]:.6f}, uT5D {got[1]:.6f}, Zipf {distance:.6f}")
  print(f"from logits, FP and uT5D: {own:.3f} s")
  print(f"from logits, loop over pairs: {slow:.3f} s, ratio {slow / own:.1f}")
  print(f"from logits, Zipf over all classes: {whole:.3f} s")


if __name__ == "__main__":
  app.run(main)
