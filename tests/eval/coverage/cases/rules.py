"""The rule of intervals beside those that it was chosen among."""

import dataclasses
import functools
from collections.abc import Callable, Mapping

import numpy as np
from scipy import integrate, stats

from eval.metrics.replicates import Replicates
from eval.metrics.resampling import Draws
from tests.eval.coverage import latent
from tests.eval.coverage.case import Case, Interval

WORDS = (
  "One rule for all numbers (`Replicates.interval`), and others of the same draws"
  " and blocks that are not printed: Student's t of the jackknife, percentiles of"
  " the draws corrected for the bias of their median (BC) and for skewness (BCa),"
  " both widened for few groups."
  " NLL is that of two classes whose logits differ by a normal margin of mean 8"
  " and deviation 4: 2.5 % are wrong, and carry it."
)
_MARGIN = stats.norm(8, 4)
_RARE = np.array([-3.6])  # an error of 1 in 30


def _ends(mean: Replicates) -> dict[str, Interval]:
  """Of every rule."""
  value, draws = float(mean.value), np.asarray(mean.draws)
  below = ((draws < value).mean() + (draws <= value).mean()) / 2
  bias = stats.norm.ppf(np.clip(below, 1e-3, 1 - 1e-3))
  off = mean.jackknife.mean() - mean.jackknife
  square = (off**2).sum()
  skew = (off**3).sum() / (6 * square**1.5) if square else 0.0
  groups = mean.effective_groups
  more = groups / (groups - 1)  # Hesterberg 2015, section 5.3
  z = bias + more**0.5 * stats.t.ppf([0.025, 0.975], groups - 1)

  def drawn(scores: np.ndarray) -> tuple[float, float]:
    lo, hi = np.quantile(draws, stats.norm.cdf(scores))
    return float(lo), float(hi)

  every = {
    "printed": mean.interval(),
    "t": mean.jackknife_interval(),
    "BC": drawn(bias + z),
    "BCa": drawn(bias + z / (1 - skew * z)),
  }
  return {
    name: Interval(value, float(lo), float(hi))
    for name, (lo, hi) in every.items()
  }


def _nll(margins: np.ndarray) -> np.ndarray:
  return np.logaddexp(0, -margins)


@functools.cache
def _mean_nll() -> float:
  return integrate.quad(lambda m: _nll(m) * _MARGIN.pdf(m), -30, 40)[0]


def _case(
  data: str,
  truth: Callable[[], float],
  draw: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]],
) -> Case:
  def intervals(rng: np.random.Generator) -> Mapping[str, Interval]:
    values, groups = draw(rng)
    return _ends(Draws.from_groups(groups).means(values, groups))

  names = ("printed", "t", "BC", "BCa")
  return Case(data, lambda: dict.fromkeys(names, truth()), intervals, 0.55)


def _alone(count: int) -> np.ndarray:
  return np.array([f"{i:04d}" for i in range(count)])


def _of_nll(count: int) -> Case:
  return _case(
    f"NLL of {count:,} examples",
    _mean_nll,
    lambda rng: (_nll(_MARGIN.rvs(count, rng)), _alone(count)),
  )


def _of_like_models(count: int) -> Case:
  def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shared = _MARGIN.rvs(count, rng)
    one, other = shared + rng.normal(size=(2, count))
    return _nll(one) - _nll(other), _alone(count)

  words = f"difference of the NLL of two models as good, {count} examples"
  return _case(words, lambda: 0.0, draw)


def _of_errors(
  design: latent.Design, thresholds: np.ndarray, models: int
) -> Case:
  """A rare error, or the difference of two equal models' errors."""

  def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    wrong, groups = design.draw(rng, np.tile(thresholds, models))
    signs = np.array([1.0, -1.0])[:models]
    return wrong @ signs, groups

  error = float(design.errors(thresholds)[0])
  words = f"error of {100 * error:.1f} %, {design.words}"
  if models == 2:
    words = f"difference of two models' {words}"
  return _case(words, lambda: error if models == 1 else 0.0, draw)


_CLUSTERED = latent.Design(25, 1.5)
CASES = (
  *(_of_nll(count) for count in (50, 100, 359, 1000, 5000)),
  _of_like_models(100),
  _of_errors(_CLUSTERED, _RARE, 1),
  _of_errors(dataclasses.replace(_CLUSTERED, groups=242), _RARE, 1),
  _of_errors(_CLUSTERED, np.array([-1.2]), 1),
  _of_errors(_CLUSTERED, np.array([-1.2]), 2),
)
