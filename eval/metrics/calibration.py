"""Calibration of the top score: how often a prediction of score s is right.

A model is calibrated if its predictions of score s are right in a share s of
cases. With examples in bins, and in bin b of n_b examples the mean score
conf(b) and the accuracy acc(b),

  ece                    sum of n_b / n |acc(b) - conf(b)| over 15 bins of equal
                         width (Guo et al. 2017, equation 3)
  ece_adaptive           the same over 15 bins of equally many examples (the
                         ranges of Nixon et al. 2019, section 3.3, for the top
                         label alone)
  rms_calibration_error  root of the sum of n_b / n (acc(b) - conf(b))^2 over
                         bins of about 100 examples each (Hendrycks et al. 2019,
                         "Outlier Exposure", as Nguyen and O'Connor 2015)

A bin of equal width is open below and closed above, ((b - 1) / 15, b / 15]; a
score of 0 is in the first. Bins of equally many examples never split equal
scores: an example's bin is floor(B k / n), with k examples of lower scores
among n and B bins. So no number depends on the order of the examples; all
scores equal is one bin.

All three are biased upwards: if the model is calibrated, |acc - conf| of a bin
is not 0 but about sqrt(2 / pi) of its standard error. A bootstrap adds that
noise once more: for calibrated models its interval lies wholly above the truth.
So none of them has an interval here (`python -m tests.eval.coverage
--topic=calibration` prints how often one would cover); compare models of
equally many examples.

DEVIATION: the code of Hendrycks et al. leaves out the last bin and splits equal
scores in the order of the sort; here all bins enter, as in the formula.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from eval.metrics import arguments, intervals
from robust_tfds import errors

BINS = 15
BIN_SIZE = 100  # examples of a bin of the RMS calibration error
_HIGHEST = 1 + 1e-6  # a float32 softmax may round to above 1


@dataclasses.dataclass(frozen=True)
class Bins:
  """A reliability diagram: examples by their top score, in equal bins of [0, 1].

  Attributes:
    count: number of examples in each bin.
    confidence: mean score of each bin; None if it is empty.
    accuracy: accuracy of each bin; None if it is empty.
    lo: lower end of the accuracy's 95 % interval; None for an empty bin. The
      sequence is empty for diagrams without intervals.
    hi: upper end of the interval.
  """

  count: Sequence[int]
  confidence: Sequence[float | None]
  accuracy: Sequence[float | None]
  lo: Sequence[float | None] = ()
  hi: Sequence[float | None] = ()

  @property
  def edges(self) -> list[float]:
    """The edges of all bins: one more than there are bins."""
    return [b / len(self.count) for b in range(len(self.count) + 1)]

  @property
  def ece(self) -> float:
    """The expected calibration error over these bins."""
    total = sum(self.count)
    gaps = zip(self.count, self.confidence, self.accuracy)
    return sum(
      n * abs(accuracy - confidence)
      for n, confidence, accuracy in gaps
      if confidence is not None and accuracy is not None
    ) / max(total, 1)


def ece(
  score: np.typing.ArrayLike, correct: np.typing.ArrayLike, bins: int = BINS
) -> float:
  """Compute the expected calibration error over bins of equal width.

  Args:
    score: `[N]`, the top scores, in [0, 1].
    correct: `[N]`, bool or 0/1: whether the prediction is right.
    bins: number of bins.

  Raises:
    UserError: there are no examples, a score is outside [0, 1], or a result is
      neither right nor wrong.

  >>> ece([0.75, 0.75, 0.75, 0.75], [1, 1, 1, 0]), ece([1.0, 1.0], [0, 0])
  (0.0, 1.0)
  """
  return float(reliability(score, correct, bins).ece)


def ece_adaptive(
  score: np.typing.ArrayLike, correct: np.typing.ArrayLike, bins: int = BINS
) -> float:
  """Compute the expected calibration error over bins of equally many examples.

  Args:
    score: `[N]`, the top scores, in [0, 1].
    correct: `[N]`, bool or 0/1: whether the prediction is right.
    bins: number of bins; fewer if scores are equal.

  Raises:
    UserError: as for `ece`.

  >>> ece_adaptive([0.25, 0.25, 1.0, 1.0], [1, 0, 1, 1], bins=2)
  0.125
  """
  confidence, right = _checked(score, correct)
  gaps, share = _gaps(confidence, right, _equal_mass(confidence, _count(bins)))
  return float((share * np.abs(gaps)).sum())


def rms_calibration_error(
  score: np.typing.ArrayLike,
  correct: np.typing.ArrayLike,
  bin_size: int = BIN_SIZE,
) -> float:
  """Compute the root mean square calibration error.

  Args:
    score: `[N]`, the top scores, in [0, 1].
    correct: `[N]`, bool or 0/1: whether the prediction is right.
    bin_size: approximate number of examples in a bin; there is at least one
      bin.

  Raises:
    UserError: as for `ece`.

  >>> rms_calibration_error([0.5, 0.5, 1.0, 1.0], [1, 1, 1, 1], bin_size=2)
  0.3535533905932738
  """
  confidence, right = _checked(score, correct)
  size = arguments.whole_number("bin_size", bin_size, 1)
  index = _equal_mass(confidence, max(len(confidence) // size, 1))
  gaps, share = _gaps(confidence, right, index)
  return math.sqrt((share * np.square(gaps)).sum())


def reliability(
  score: np.typing.ArrayLike, correct: np.typing.ArrayLike, bins: int = BINS
) -> Bins:
  """Compute the reliability diagram, with Clopper-Pearson intervals of the accuracies.

  Args:
    score: `[N]`, the top scores, in [0, 1].
    correct: `[N]`, bool or 0/1: whether the prediction is right.
    bins: number of bins of equal width.

  Raises:
    UserError: as for `ece`.

  >>> diagram = reliability([0.2, 0.9, 1.0], [0, 1, 1], bins=2)
  >>> diagram.count, diagram.confidence, diagram.accuracy
  ([1, 2], [0.2, 0.95], [0.0, 1.0])
  """
  confidence, right = _checked(score, correct)
  index = equal_width(confidence, _count(bins))
  count = np.bincount(index, minlength=bins)
  hits = np.bincount(index, right, bins).astype(np.int64)
  total = np.bincount(index, confidence, bins)
  lo, hi = intervals.clopper_pearson(hits, count)
  some = np.maximum(count, 1)
  return Bins(
    count.tolist(),
    _or_none(total / some, count),
    _or_none(hits / some, count),
    _or_none(lo, count),
    _or_none(hi, count),
  )


def pooled(several: Sequence[Bins]) -> Bins:
  """Pool several diagrams into one, counting each example as often as it occurs.

  The result has no intervals: the same picture in several conditions is not
  several trials.

  Args:
    several: one or more diagrams with equally many bins.

  Raises:
    UserError: there are no diagrams, or their bins differ.

  >>> one, two = reliability([0.9], [1], bins=1), reliability([0.5], [0], bins=1)
  >>> pooled([one, two]).confidence, pooled([one, two]).accuracy
  ([0.7], [0.5])
  """
  if len({len(each.count) for each in several}) != 1:
    raise errors.UserError(
      "Diagrams are pooled bin by bin: at least one is needed, and all of equally"
      f" many bins; got {[len(each.count) for each in several]}."
    )
  count = np.array([each.count for each in several])
  total = count.sum(axis=0)

  def mean(values: Sequence[Sequence[float | None]]) -> list[float | None]:
    known = np.array([[v or 0.0 for v in each] for each in values])
    return _or_none((count * known).sum(axis=0) / np.maximum(total, 1), total)

  return Bins(
    total.tolist(),
    mean([each.confidence for each in several]),
    mean([each.accuracy for each in several]),
  )


def _or_none(values: np.ndarray, count: np.ndarray) -> list[float | None]:
  return [v if n else None for v, n in zip(values.tolist(), count.tolist())]


def _gaps(
  confidence: np.ndarray, right: np.ndarray, index: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Return acc(b) - conf(b) and n_b / n of every bin that is not empty."""
  count = np.bincount(index)
  there = count > 0
  hits = np.bincount(index, right)[there]
  total = np.bincount(index, confidence)[there]
  return (hits - total) / count[there], count[there] / len(index)


def equal_width(confidence: np.ndarray, bins: int) -> np.ndarray:
  """Return the bin of each score in [0, 1], among bins of equal width."""
  # The edges are the quotients b / bins: a score equal to an edge is in the bin
  # below.
  edges = np.arange(1, bins) / bins
  return np.searchsorted(edges, confidence, side="left")


def _equal_mass(confidence: np.ndarray, bins: int) -> np.ndarray:
  lower = np.searchsorted(np.sort(confidence), confidence, side="left")
  return lower * bins // len(confidence)


def _count(bins: int) -> int:
  return arguments.whole_number("bins", bins, 1, 10**6)


def _checked(
  score: np.typing.ArrayLike, correct: np.typing.ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
  """Return both as float64 `[N]`, sorted by scores and results.

  Sums of floats depend on the order of their terms: sorting makes them
  independent of the examples' order.
  """
  confidence = arguments.reals("score", score)
  right = arguments.rights("correct", correct).astype(np.float64)
  if confidence.ndim != 1 or not len(confidence):
    raise errors.UserError(
      f"score must be one number an example, got {list(confidence.shape)}."
    )
  if right.shape != confidence.shape:
    raise errors.UserError(
      f"score {list(confidence.shape)} and correct {list(right.shape)} do not go"
      " together."
    )
  wrong = (confidence < 0) | (confidence > _HIGHEST)
  if wrong.any():
    raise errors.UserError(
      f"score must lie in [0, 1], got {confidence[wrong][0]:g} at"
      f" {int(np.flatnonzero(wrong)[0])}. Scores are softmax probabilities, not"
      " logits and not percent."
    )
  order = np.lexsort((right, confidence))
  return np.minimum(confidence, 1)[order], right[order]
