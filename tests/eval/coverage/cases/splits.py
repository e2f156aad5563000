"""The mean over three splits: of other films in each, or of shared ones."""

from collections.abc import Mapping

import numpy as np

from eval.compare import splits
from eval.metrics import resampling
from eval.tasks.headlines import spread
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import latent

WORDS = (
  "Accuracies of three networks, a split each, and the mean of `compare --splits`."
  " Splits have films of their own, as UCF101's, or the clips of a film lie in any of"
  " them, as HMDB51's."
)
_NETWORKS = np.array([-1.0, -0.7, -0.4])  # thresholds
_MEAN = "mean of three accuracies"
_KEY = ("clean_accuracy", "", None)


def _case(design: latent.Design, shared: bool) -> case_lib.Case:
  truth = {_MEAN: 1 - float(design.errors(_NETWORKS).mean())}

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    if shared:
      wrong, films = design.draw(rng, _NETWORKS)
      at = rng.integers(0, 3, len(films))
      parts = [(wrong[at == s, s], films[at == s]) for s in range(3)]
    else:
      drawn = [design.draw(rng, _NETWORKS) for _ in range(3)]
      parts = [
        (wrong[:, s], np.char.add(f"{s} ", films))
        for s, (wrong, films) in enumerate(drawn)
      ]
    totals = [
      resampling.Totals.from_values(~wrong, films) for wrong, films in parts
    ]
    draws = spread.draws_of([{"accuracy": of} for of in totals])
    numbers = [draws.total_means([of])[0] for of in totals]
    mean = splits.line(_KEY, numbers)[2]
    return {_MEAN: case_lib.Interval(mean.value, mean.lo, mean.hi)}

  words = "in any split" if shared else "in each of three splits"
  return case_lib.Case(f"{design.words}, {words}", lambda: truth, intervals)


CASES = (
  _case(latent.Design(25, 0.7), shared=False),
  _case(latent.Design(100, 1.5), shared=False),
  _case(latent.Design(100, 1.5), shared=True),
)
