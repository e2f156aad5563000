"""How often intervals cover: `python -m tests.eval.metrics.coverage`.

Data are drawn again and again from a model whose numbers are known in closed form:
an example of a group is wrong in a cell where group effect + example effect + noise
of the cell is below the cell's threshold, all normal. So cells share what makes an
example hard, two models too, and so do examples of a group. Groups are single
examples, or 2 to 20 with sizes that vary. Of every data set the intervals are made
as the tasks make them; the table says how many of them hold the true number. Where
more than one draw in twenty is undefined (no error of the baseline in it) there is no
interval, and the table says how often.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable

import numpy as np
from scipy import stats

from robust_tfds.eval.metrics import rates, resampling

_THRESHOLDS = np.array(
  [-1.2, -0.9, -0.6, -0.3, 0.0, 0.4]
)  # clean, 5 severities
_WORSE = 0.35  # of the baseline
_NOISE = 0.8  # standard deviation of what a cell adds
_CELLS = len(_THRESHOLDS)


@dataclasses.dataclass(frozen=True)
class Design:
  """What data sets are like.

  Attributes:
    groups: how many.
    spread: standard deviation of the groups' effects, that of examples being 1;
      None where every example is its own group.
    shift: of all thresholds; below 0 for fewer errors.
  """

  groups: int
  spread: float | None = None
  shift: float = 0.0

  @property
  def words(self) -> str:
    """For the table."""
    if self.spread is None:
      kind = "single examples"
    else:
      inside = self.spread**2 / (self.spread**2 + 1 + _NOISE**2)
      kind = f"2-20 examples, correlation {inside:.2f}"
    rare = f", clean error {self.truth[0]:.3f}" if self.shift else ""
    return f"{self.groups} groups, {kind}{rare}"

  @property
  def truth(self) -> np.ndarray:
    """The errors of the model's cells, then the baseline's: `[12]`."""
    scale = np.sqrt((self.spread or 0) ** 2 + 1 + _NOISE**2)
    return stats.norm.cdf(self._thresholds / scale)

  @property
  def _thresholds(self) -> np.ndarray:
    own = _THRESHOLDS + self.shift
    return np.concatenate([own, own + _WORSE])

  def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A data set: bool `[N, 12]`, wrong or not, and its groups, `[N]` texts."""
    sizes = np.ones(self.groups, int)
    if self.spread is not None:
      sizes = np.minimum(1 + rng.geometric(0.2, self.groups), 20)
    of = np.repeat(np.arange(self.groups), sizes)
    hard = rng.normal(0, self.spread or 0, self.groups)[of]
    hard = hard + rng.normal(size=len(of))
    cells = hard[:, None] + rng.normal(0, _NOISE, (len(of), 2 * _CELLS))
    return cells < self._thresholds, np.char.add("g", of.astype(str))


DESIGNS = tuple(
  Design(groups, spread)
  for groups in (25, 50, 242)
  for spread in (None, 0.7, 1.5)
)
# Where the promise does not hold: few errors in few groups.
RARE = (Design(25, None, -1.5), Design(25, 1.5, -2.5), Design(10, 0.7))

# Of the errors of a model's and the baseline's six cells, `[6, ...]` each.
STATISTICS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
  "mean": lambda e, b: e[1:].mean(axis=0),
  "CE": lambda e, b: e[1:].sum(axis=0) / b[1:].sum(axis=0),
  "relative CE": lambda e, b: (
    (e[1:].sum(axis=0) - 5 * e[0]) / (b[1:].sum(axis=0) - 5 * b[0])
  ),
  "mean of ratios": lambda e, b: (e[1:] / b[1:]).mean(axis=0),
  "gamma_r": lambda e, b: (1 - e[1:]).mean(axis=0) / (1 - e[0]),
  "difference": lambda e, b: (e[1:] - b[1:]).mean(axis=0),
}
CELL = "rate of one cell"


@dataclasses.dataclass
class Share:
  """How many data sets of some have an interval, and how many of these cover.

  Attributes:
    there: intervals of draws.
    draws: of these, those that hold the truth.
    jackknife: the same of the jackknife's intervals of these data sets; None where
      there are none.
  """

  there: int = 0
  draws: int = 0
  jackknife: int | None = None

  def add(self, truth: float, *intervals: tuple[float, float]) -> None:
    """One data set's intervals: of draws, of the jackknife."""
    hits = [bool(lo <= truth <= hi) for lo, hi in intervals]
    if np.isnan(intervals[0][0]):
      return
    self.there += 1
    self.draws += hits[0]
    if len(hits) > 1:
      self.jackknife = (self.jackknife or 0) + hits[1]

  @property
  def coverage(self) -> float:
    """Of the intervals of draws."""
    return self.draws / max(self.there, 1)

  @property
  def jackknife_coverage(self) -> float | None:
    """Of the jackknife's."""
    if self.jackknife is None:
      return None
    return self.jackknife / max(self.there, 1)


def covered(
  design: Design, sets: int, *, seed: int = 0, level: float = 0.95
) -> dict[str, Share]:
  """Shares of data sets whose intervals hold the truth.

  Args:
    design: of the data sets.
    sets: how many.
    seed: of the data sets; the draws of groups are those of every run.
    level: of the intervals.

  Returns:
    Statistic -> of `Replicates.interval` and `jackknife_interval`; of the rate of
    one cell of `rates.interval`.
  """
  rng = np.random.default_rng([seed, design.groups])
  true = design.truth
  out = {name: Share() for name in (*STATISTICS, CELL)}
  for _ in range(sets):
    wrong, groups = design.draw(rng)
    cells = resampling.Draws.of(groups).means(wrong, groups)
    for name, statistic in STATISTICS.items():
      number = cells.map(lambda x: statistic(x[:_CELLS], x[_CELLS:]))
      truth = statistic(true[:_CELLS], true[_CELLS:])
      ends = number.interval(level), number.jackknife_interval(level)
      out[name].add(float(truth), *ends)
    out[CELL].add(true[0], rates.interval(wrong[:, 0], groups, level))
  return out


def table(sets: int) -> str:
  """The table of all designs, in percent, as Markdown."""
  names = [*STATISTICS, CELL]
  lines = [
    f"Coverage of 95 % intervals over {sets:,} data sets each, in percent"
    " (in brackets: of the jackknife):\n",
    "| data | " + " | ".join(names) + " |",
    "|---" * (len(names) + 1) + "|",
  ]
  for design in (*DESIGNS, *RARE):
    shares = covered(design, sets)
    lines.append(
      f"| {design.words} | "
      + " | ".join(_text(shares[name], sets) for name in names)
      + " |"
    )
  return "\n".join(lines)


def _text(share: Share, sets: int) -> str:
  text = f"{100 * share.coverage:.1f}"
  if share.jackknife_coverage is not None:
    text += f" ({100 * share.jackknife_coverage:.1f})"
  absent = 1 - share.there / sets
  return text + (f", none in {100 * absent:.1f}" if absent else "")


if __name__ == "__main__":
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--sets", type=int, default=2000)
  print(table(parser.parse_args().sets))
