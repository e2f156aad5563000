"""`Replicates`: a number, the number of every draw, and of every part left out.

Intervals follow from them by one rule, see `Replicates.interval`. Arrays in, floats
out; `eval/metrics/resampling.py` makes them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special, stats

from robust_tfds import errors
from robust_tfds.eval.metrics import arguments

_DIGITS = 1e-12  # of a number, that the order of a sum changes
FEWEST_DRAWS = 0.95  # of a statistic must be finite, else it has no interval


@dataclasses.dataclass(frozen=True, eq=False)
class Replicates:
  """One number, or an array of numbers, of data whose groups were resampled.

  Attributes:
    value: float64 `[...]`, of all groups.
    draws: float64 `[..., R]`, of R draws of whole groups; None where there is
      only the jackknife.
    jackknife: float64 `[..., J]`, one block of whole groups left out at a time.
    groups: how many groups of equal size would say as much: (sum of their sizes)^2
      / sum of the squared sizes; 0 where only blocks are known. Of numbers made of
      several it is the most that one of them has: a mean over parts of the data
      says more than its smallest part.
  """

  value: np.ndarray
  draws: np.ndarray | None
  jackknife: np.ndarray
  groups: float = 0

  def map(self, f: Callable[[np.ndarray], np.ndarray]) -> Replicates:
    """Replicates of a function of the numbers.

    Args:
      f: maps `[..., K]` to `[..., K]`: one result for each place of the last
        axis, which is the whole, a draw or a block.
    """
    return combine(f, self)

  def interval(self, level: float = 0.95) -> tuple[Any, Any]:
    """The project's confidence interval.

    The percentiles of the draws, corrected for the bias of their median (Efron 1981,
    "BC": Phi(2 b + z) in place of Phi(z), with b the normal score of the share of
    draws below the value), at levels that are widened for few groups as in
    Hesterberg 2015, section 5.3 ("expanded percentile"): Phi(-sqrt(G / (G - 1))
    t(1 - a / 2; G - 1)) in place of a / 2, with G = `groups`. How often it covers:
    `python -m tests.eval.coverage`. It always contains the value. Where
    there are only blocks it is `jackknife_interval`.

    It cannot know what no group shows: rates of 0 or 1 in every draw collapse to
    a point (of single cells see `eval/metrics/rates.py`), and with a handful of
    groups, or of errors, it covers less often than it says.

    Args:
      level: coverage in (0, 1).

    Returns:
      (lo, hi) of the shape of `value`; floats where it has none. nan where the
      value or more than one draw in twenty is not finite; other draws that are
      not finite are left out.
    """
    if self.draws is None:
      return self.jackknife_interval(level)
    tail = widened((1 - arguments.level(level)) / 2, self.groups)
    shape, resamples = self.value.shape, self.draws.shape[-1]
    ends = [
      _percentiles(float(value), draws, tail)
      for value, draws in zip(
        self.value.reshape(-1), self.draws.reshape(-1, resamples)
      )
    ]
    lo, hi = np.array(ends, np.float64).reshape(-1, 2).T
    return lo.reshape(shape)[()], hi.reshape(shape)[()]

  def jackknife_interval(self, level: float = 0.95) -> tuple[Any, Any]:
    """value -+ t standard errors of the jackknife over the blocks.

    t has as many degrees of freedom as there are blocks, or `groups` where those
    are fewer, less one.

    Args:
      level: coverage in (0, 1).

    Returns:
      As `interval`; nan where there are fewer than two blocks.
    """
    tail = (1 - arguments.level(level)) / 2
    freedom = min(self.blocks, self.groups or self.blocks) - 1
    half = self.standard_error * stats.t.isf(tail, max(freedom, 1))
    half = np.where(np.isfinite(self.value), half, np.nan)
    return (self.value - half)[()], (self.value + half)[()]

  @property
  def standard_error(self) -> Any:
    """Of the jackknife, of the shape of `value`: Efron and Tibshirani 1993, 11.5."""
    blocks = self.blocks
    if blocks < 2:
      return np.full_like(self.value, np.nan)[()]
    with np.errstate(invalid="ignore"):  # of numbers that are not finite
      away = self.jackknife - self.jackknife.mean(axis=-1, keepdims=True)
      return np.sqrt((blocks - 1) / blocks * (away**2).sum(axis=-1))[()]

  @property
  def blocks(self) -> int:
    """How many blocks were left out, one at a time."""
    return self.jackknife.shape[-1]

  @property
  def joined(self) -> np.ndarray:
    """Value, draws and jackknife along the last axis: `[..., 1 + R + J]`."""
    parts = [self.value[..., None], self.draws, self.jackknife]
    return np.concatenate([p for p in parts if p is not None], axis=-1)

  def like(self, joined: np.ndarray) -> Replicates:
    """The opposite of `joined`: other numbers of the same draws and blocks."""
    drawn = joined.shape[-1] - self.blocks
    draws = None if self.draws is None else joined[..., 1:drawn]
    return Replicates(joined[..., 0], draws, joined[..., drawn:], self.groups)


def combine(
  f: Callable[..., np.ndarray], *replicates: Replicates
) -> Replicates:
  """Replicates of a function of several numbers of the same draws.

  A difference of two models: `combine(np.subtract, one, other)`.

  Args:
    f: maps arrays `[..., K]`, one for each of `replicates`, to `[..., K]`.
    *replicates: of equal draws and blocks.

  Raises:
    UserError: replicates of different draws.
  """
  check_same(replicates)
  most = max(replicates, key=lambda r: r.groups)
  with np.errstate(divide="ignore", invalid="ignore"):
    return most.like(np.asarray(f(*[r.joined for r in replicates])))


def check_same(replicates: Sequence[Replicates]) -> None:
  """UserError unless all are of as many draws and blocks."""
  kinds = {
    (None if r.draws is None else r.draws.shape[-1], r.blocks)
    for r in replicates
  }
  if len(kinds) > 1:
    raise errors.UserError(
      "Numbers of different draws cannot be combined: (draws, blocks) are"
      f" {sorted(kinds, key=str)}. Draw once from the groups of all: Draws.of."
    )


def widened(tail: float, groups: float) -> float:
  """The part of the draws below the interval: `tail`, less for few groups."""
  if groups <= 1:
    return tail
  widening = math.sqrt(groups / (groups - 1))
  return float(special.ndtr(-widening * stats.t.isf(tail, groups - 1)))


def normal_bias(value: np.typing.ArrayLike, draws: np.ndarray) -> Any:
  """The normal score of the share of draws below the value; half of equal ones.

  Draws are equal to it up to the last digits: sums in another order end in others.

  Args:
    value: `[...]`.
    draws: `[..., R]`; those that are not finite are left out.
  """
  finite = np.isfinite(draws)
  known = np.maximum(finite.sum(-1), 1)
  largest = np.where(finite, np.abs(draws), 0).max(-1, keepdims=True)
  of, digits = np.asarray(value)[..., None], _DIGITS * largest
  below = (draws < of - digits).sum(-1) + (draws <= of + digits).sum(-1)
  below = below / 2 / known
  return special.ndtri(np.clip(below, 1 / (2 * known), 1 - 1 / (2 * known)))


def _percentiles(
  value: float, draws: np.ndarray, tail: float
) -> tuple[float, float]:
  finite = draws[np.isfinite(draws)]
  if not math.isfinite(value) or len(finite) < FEWEST_DRAWS * len(draws):
    return math.nan, math.nan
  bias = normal_bias(value, finite)
  ranks = special.ndtr(2 * bias + special.ndtri([tail, 1 - tail]))
  lo, hi = np.quantile(finite, ranks)
  return min(float(lo), value), max(float(hi), value)
