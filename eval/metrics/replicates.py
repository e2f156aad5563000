"""`Replicates`: a number with its values in every draw and without every block.

Intervals follow from them by one rule, see `Replicates.interval`. Functions
take arrays and return floats; `eval/metrics/resampling.py` makes the
replicates.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special

from eval.metrics import arguments
from robust_tfds import errors

_DIGITS = 1e-12  # relative change of a number by the order of a sum
_FLAT = 1e-6  # a bend that changes no printed digit
# The bias of n groups as a multiple of its increase with half as many: 1 / (2^r
# - 1)
# if it falls as n^-r. For average precision r lies between 0.5 and 1, and 2 / 3
# covers
# best by simulation: `python -m tests.eval.coverage --topic=detection`.
_OF_HALVES = 1 / (2 ** (2 / 3) - 1)
FEWEST_DRAWS = (
  0.95  # share of draws that must be finite, else there is no interval
)


@dataclasses.dataclass(frozen=True, eq=False)
class Replicates:
  """A number, or an array of numbers, of data whose groups were resampled.

  Attributes:
    value: float64 `[...]`, from all groups.
    draws: float64 `[..., R]`, from R draws of whole groups; None if there is
      only the jackknife.
    jackknife: float64 `[..., J]`, one block of whole groups left out at a time.
    effective_groups: number of groups of equal size with the same information:
      (sum of their sizes)^2 / sum of the squared sizes; 0 if only blocks are
      known. For combined numbers see `combine`. Student's t needs it;
      `blocks` is the number of groups, up to a hundred.
    halves: float64 `[..., H]`, from halves of the blocks, pair by pair; None if
      the number of few groups is close enough to that of many.
  """

  value: np.ndarray
  draws: np.ndarray | None
  jackknife: np.ndarray
  effective_groups: float = 0
  halves: np.ndarray | None = None

  def map(self, f: Callable[[np.ndarray], np.ndarray]) -> Replicates:
    """Return replicates of a function of the numbers.

    Args:
      f: maps `[..., K]` to `[..., K]`: one result for each place of the last
        axis, which is all groups, a draw or a block.
    """
    return combine(f, self)

  def interval(
    self, level: float = 0.95, *, percentiles: bool = False
  ) -> tuple[Any, Any]:
    """Compute the project's confidence interval.

    Its ends are the outer ones of two intervals. One is `jackknife_interval`,
    value -+ t se. The other corrects it for the skewness of x = (value - truth)
    / se by the monotone transformation of Hall (1992, Journal of the Royal
    Statistical Society B 54), g(x) = x + a x^2 + a^2 x^3 / 3 + b, and is value
    - se g^-1(+-t). With k the jackknife's acceleration (Efron & Tibshirani
    1993, equation 14.15), z the normal score of the share of draws below the
    value and m the mean excess of the draws over it, in units of their root
    mean square, b = z and a = k + z + m. That is BCa's correction to second
    order (DiCiccio & Efron 1992, Biometrika 79: their curvature is z - k + m);
    BCa's own ends come from the draws, which do not reach far enough if there
    are few groups. A mean over groups of one size has z = k and m = 0, which is
    taken if there are only blocks. The outer ends are taken because k is
    estimated from the same groups: for two equal models it shortens as often as
    it lengthens, and the shorter intervals miss.

    For a number with halves both are around the value less its `bias`, so that
    they cover the number that very many groups would give. Half of the bias
    enters the standard error, since its rate of decrease is unknown, and the
    ends are never on one side of the value.

    Its coverage is in docs/evidence/INTERVALS.md. It cannot know what no group shows:
    rates of 0 or 1 in every draw collapse to a point (for single cells see
    `eval/metrics/rates.py`), and with a handful of groups, or of errors, it
    covers less often than stated. It does not know the bounds of the number.

    Args:
      level: coverage in (0, 1).
      percentiles: whether it also contains the percentiles of the draws: for a
        number that depends on the groups far less linearly than blocks can
        show, such as a line through models whose distances are within chance.

    Returns:
      (lo, hi) of the shape of `value`; floats if it is a scalar. They are nan
      where the value, the number without some block or more than one draw in
      twenty is not finite; fewer such draws are left out. For a single group,
      which is the same in every draw, both are the value.
    """
    if self.blocks < 2:
      ends = self.value if self.draws is not None else self.value * np.nan
      return ends[()], ends[()]
    t, (bend, shift) = self._t(level), self._skewness()
    below = np.maximum(t, _straightened(t, bend, shift))
    above = np.maximum(t, -_straightened(-t, bend, shift))
    error = np.where(self._is_known(), self.standard_error, np.nan)
    lo, hi = self._ends(below * error, above * error)
    if percentiles and self.draws is not None and np.all(self.enough_draws):
      tail = (1 - level) / 2
      least, most = np.nanquantile(self.draws, (tail, 1 - tail), axis=-1)
      lo, hi = np.minimum(lo, least), np.maximum(hi, most)
    return lo, hi

  def _ends(self, below: Any, above: Any) -> tuple[Any, Any]:
    """Return ends around the unbiased value, widened to contain the value."""
    middle = self.value - self.bias
    lo, hi = middle - below, middle + above
    return np.minimum(lo, self.value)[()], np.maximum(hi, self.value)[()]

  def without_skewness(self, x: Any) -> Any:
    """Apply g of `interval` to distances from the value in standard errors."""
    a, b = self._skewness()
    return x + a * x**2 + a**2 * x**3 / 3 + b

  def _skewness(self) -> tuple[np.ndarray, np.ndarray]:
    """Compute a and b of `interval`, of the shape of `value`."""
    with np.errstate(divide="ignore", invalid="ignore"):
      off = self.jackknife.mean(axis=-1, keepdims=True) - self.jackknife
      square = (off**2).sum(axis=-1)
      k = np.where(square > 0, (off**3).sum(axis=-1) / (6 * square**1.5), 0)
      if self.draws is None:
        return 2 * k, k
      above = self.draws - self.value[..., None]
      finite = np.isfinite(above)
      total, square = (np.sum(x, -1, where=finite) for x in (above, above**2))
      m = np.where(square > 0, total / np.sqrt(finite.sum(-1) * square), 0)
    z = _normal_bias(self.value, self.draws)
    return k + z + m, z

  def _is_known(self) -> np.ndarray:
    """Return whether the value and enough draws are finite."""
    return np.isfinite(self.value) & self.enough_draws

  @property
  def enough_draws(self) -> Any:
    """Whether enough draws are finite, of the shape of `value`.

    It is True without any draws.
    """
    if self.draws is None:
      return np.ones_like(self.value, bool)[()]
    return np.isfinite(self.draws).mean(-1) >= FEWEST_DRAWS

  def _t(self, level: float) -> float:
    """Return Student's t with `freedom` degrees of freedom."""
    above = (1 + arguments.level(level)) / 2
    return float(special.stdtrit(self.freedom, above))

  @property
  def freedom(self) -> float:
    """Degrees of freedom: the number of blocks, or groups, less one; at least 1."""
    return max(min(self.blocks, self.effective_groups or self.blocks) - 1, 1)

  def jackknife_interval(self, level: float = 0.95) -> tuple[Any, Any]:
    """Compute value -+ t standard errors of the jackknife over the blocks.

    t has as many degrees of freedom as there are blocks, or `effective_groups`
    where those are fewer, less one.

    Args:
      level: coverage in (0, 1).

    Returns:
      The ends as from `interval`; nan if there are fewer than two blocks.
    """
    half = self.standard_error * self._t(level)
    half = np.where(np.isfinite(self.value), half, np.nan)
    return self._ends(half, half)

  @property
  def standard_error(self) -> Any:
    """The standard error of `value - bias`, of the shape of `value`.

    It combines that of the jackknife (Efron and Tibshirani 1993, 11.5) and
    half of the
    bias.
    """
    blocks = self.blocks
    if blocks < 2:
      return np.full_like(self.value, np.nan)[()]
    with np.errstate(invalid="ignore"):  # numbers may be infinite or nan
      away = self.jackknife - self.jackknife.mean(axis=-1, keepdims=True)
      block_error = np.sqrt((blocks - 1) / blocks * (away**2).sum(axis=-1))
      return np.hypot(block_error, self.bias / 2)[()]

  @property
  def bias(self) -> Any:
    """The estimated small-sample bias of the value; 0 without halves.

    It is the excess of the halves, extrapolated by `_OF_HALVES`.
    """
    if self.halves is None or not self.halves.shape[-1]:
      return np.zeros_like(self.value)[()]
    with np.errstate(invalid="ignore"):
      return (_OF_HALVES * (self.halves.mean(axis=-1) - self.value))[()]

  @property
  def blocks(self) -> int:
    """The number of blocks that were left out, one at a time."""
    return self.jackknife.shape[-1]

  @property
  def joined(self) -> np.ndarray:
    """The value, draws, jackknife and halves in a row: `[..., 1 + R + J + H]`."""
    parts = [self.value[..., None], self.draws, self.jackknife, self.halves]
    return np.concatenate([p for p in parts if p is not None], axis=-1)

  def like(self, joined: np.ndarray) -> Replicates:
    """Split an array like `joined` into replicates of the same draws."""
    drawn = 1 + (0 if self.draws is None else self.draws.shape[-1])
    left = drawn + self.blocks
    draws = None if self.draws is None else joined[..., 1:drawn]
    halves = None if self.halves is None else joined[..., left:]
    jackknife = joined[..., drawn:left]
    groups = self.effective_groups
    return Replicates(joined[..., 0], draws, jackknife, groups, halves)


def combine(
  f: Callable[..., np.ndarray], *replicates: Replicates, disjoint: bool = False
) -> Replicates:
  """Return replicates of a function of several numbers of the same draws.

  For example, `combine(np.subtract, one, other)` is the difference of two models.
  The result has as many effective groups as the number that has the fewest.

  Args:
    f: maps arrays `[..., K]`, one for each of `replicates`, to `[..., K]`.
    *replicates: replicates of the same draws and blocks.
    disjoint: whether the numbers, of shape `[]`, are of different groups, e.g. of parts
      of the data. The effective groups are then Welch's (1947) and Satterthwaite's
      (1946).

  Raises:
    UserError: the replicates are of different draws.
  """
  check_same(replicates)
  fewest = min(replicates, key=lambda r: r.effective_groups)
  with np.errstate(divide="ignore", invalid="ignore"):
    number = fewest.like(np.asarray(f(*[r.joined for r in replicates])))
    if not disjoint:
      return number
    groups = 1 + _freedom(f, replicates)
  return dataclasses.replace(number, effective_groups=groups)


def _freedom(
  f: Callable[..., np.ndarray], replicates: Sequence[Replicates]
) -> float:
  """Return the degrees of freedom of a function of independent numbers.

  (sum v)^2 / sum(v^2 / n) with v what each number adds to the variance, all others
  held at their values, and n its own degrees of freedom.
  """
  still = [
    np.broadcast_to(r.value[..., None], r.jackknife.shape) for r in replicates
  ]
  parts = [
    dataclasses.replace(
      r, jackknife=f(*still[:i], r.jackknife, *still[i + 1 :]), halves=None
    )
    for i, r in enumerate(replicates)
  ]
  variances = np.array([part.standard_error**2 for part in parts])
  freedom = np.array([part.freedom for part in parts])
  known = np.isfinite(variances) & (variances > 0)
  if not known.any():
    return float(freedom.min())
  v, n = variances[known], freedom[known]
  return float(v.sum() ** 2 / (v**2 / n).sum())


def check_same(replicates: Sequence[Replicates]) -> None:
  """Refuse replicates with different numbers of draws and blocks."""
  kinds = {
    tuple(
      None if x is None else x.shape[-1]
      for x in (r.draws, r.jackknife, r.halves)
    )
    for r in replicates
  }
  if len(kinds) > 1:
    raise errors.UserError(
      "Numbers of different draws cannot be combined: (draws, blocks, halves) are"
      f" {sorted(kinds, key=str)}. Draw once from the groups of all: Draws.from_groups."
    )


def _normal_bias(value: np.typing.ArrayLike, draws: np.ndarray) -> Any:
  """Compute the normal score of the share of draws below the value.

  Draws that equal it count half.

  Draws count as equal up to the last digits, which depend on the order of sums.

  Args:
    value: `[...]`.
    draws: `[..., R]`; those that are not finite are left out.
  """
  finite = np.isfinite(draws)
  known = np.maximum(finite.sum(-1), 1)
  largest = np.where(finite, np.abs(draws), 0).max(-1, keepdims=True)
  values, digits = np.asarray(value)[..., None], _DIGITS * largest
  below = (draws < values - digits).sum(-1) + (draws <= values + digits).sum(-1)
  below = below / 2 / known
  return special.ndtri(np.clip(below, 1 / (2 * known), 1 - 1 / (2 * known)))


def _straightened(y: float, bend: np.ndarray, shift: np.ndarray) -> np.ndarray:
  """Solve x + bend x^2 + bend^2 x^3 / 3 + shift = y for x."""
  flat = np.abs(bend) < _FLAT
  slope = np.where(flat, 1, bend)
  x = (np.cbrt(1 + 3 * slope * (y - shift)) - 1) / slope
  return np.where(flat, y - shift, x)
