"""Accuracy under pairs of corruptions, and paths of equal accuracy through it.

A file is an `.npz` with `names`, text `[N]`, and `accuracy`, `[N, N, 21, 21]`: the
share of right answers under the first corruption at severity i / 4, then the second
at j / 4. The diagonal, a corruption with itself, is not read.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

import numpy as np

from robust_tfds import conditions, errors, reading
from robust_tfds.storage import paths

STEPS = 21  # severities 0, .25 .. 5
# generate.py of oripress/CCC: brightness never makes pictures hard enough.
NAMES = tuple(
  n for n in conditions.PICTURES.names("common") if n != "brightness"
)
# Difficulty -> the accuracy of the calibration network, and which corruptions.
DIFFICULTIES = {
  "easy": (0.4, NAMES),
  "medium": (0.2, tuple(n for n in NAMES if n != "jpeg_compression")),
  "hard": (0.0, ("gaussian_noise", "shot_noise", "impulse_noise", "contrast")),
}
# By how much a mean over the other severity may rise between any two severities, of
# the first and last one half as much: accuracies of few pictures waver.
_RISE = 0.2
# Its severities 3 to 5 move pixels by less than 1 and 2 (docs/evidence/specs/ccc.md
# section 2), so only its ends are compared.
_UNEVEN = "elastic_transform"

Path = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True)
class Matrix:
  """Accuracies of a network under pairs of corruptions.

  Attributes:
    names: of the corruptions.
    accuracy: fractions, float64 `[N, N, 21, 21]`.
  """

  names: tuple[str, ...]
  accuracy: np.ndarray

  def of_pair(self, first: str, second: str) -> np.ndarray:
    """Return the accuracies of a pair, `[21, 21]`."""
    return self.accuracy[self.names.index(first), self.names.index(second)]


def read(file: str | os.PathLike, difficulty: str) -> Matrix:
  """Return a file's matrix, checked for a difficulty.

  Raises:
    UserError: no such file or difficulty, an array of another shape, numbers that
      are no fractions, corruptions that lack or are unknown, or accuracies that
      rise with the severity.
  """
  if not isinstance(difficulty, str) or difficulty not in DIFFICULTIES:
    raise errors.unknown_error("difficulty", difficulty, DIFFICULTIES)
  place = paths.parse(file, "matrix")
  arrays = reading.npz_file(place)
  for name in ("names", "accuracy"):
    if name not in arrays:
      raise errors.UserError(
        f"{place}: no array {name!r}, got {', '.join(arrays) or 'none'}."
      )
  names = tuple(map(str, np.ravel(arrays["names"]).tolist()))
  _check_names(place, names, DIFFICULTIES[difficulty][1])
  accuracy = np.asarray(arrays["accuracy"])
  shape = (len(names), len(names), STEPS, STEPS)
  if accuracy.shape != shape or accuracy.dtype.kind not in "fiu":
    raise errors.UserError(
      f"{place}: accuracy must be {list(shape)}, real numbers, got"
      f" {list(accuracy.shape)}, {accuracy.dtype}."
    )
  matrix = Matrix(names, accuracy.astype(np.float64))
  for first, second in pairs(DIFFICULTIES[difficulty][1]):
    _check_pair(place, first, second, matrix.of_pair(first, second))
  return matrix


def pairs(names: Sequence[str]) -> list[tuple[str, str]]:
  """Return every ordered pair of different corruptions."""
  return [(a, b) for a in names for b in names if a != b]


def path(accuracy: np.ndarray, target: float) -> Path:
  """Return the cells of equal accuracy through a pair's matrix.

  It starts without the second corruption and ends without the first: a step
  lowers the first severity or raises the second. Of two ways it goes on by that
  whose mean accuracy, with the cell's own, is nearer the target; if equal, by the
  second severity. It starts at the first severity whose mean is nearest. Source:
  docs/evidence/specs/ccc.md section 2.

  Args:
    accuracy: fractions `[21, 21]`.
    target: the fraction that the mean over the path should have.

  >>> even = np.full((21, 21), 0.5)
  >>> path(even, 0.5)[0], path(even, 0.5)[-1]
  ((1, 0), (0, 20))
  """
  # (sum, cells) from each cell on; beyond the last column there is no way.
  best: dict[tuple[int, int], tuple[float, Path]] = {
    (0, j): (float(accuracy[0, j]), ((0, j),)) for j in range(STEPS)
  }

  def away(total: float, length: int) -> float:
    return abs(total / length - target)

  for i in range(1, STEPS):
    for j in reversed(range(STEPS)):
      own = float(accuracy[i, j])
      ways = [best[k] for k in ((i, j + 1), (i - 1, j)) if k in best]
      total, rest = min(ways, key=lambda w: away(w[0] + own, len(w[1]) + 1))
      best[i, j] = total + own, ((i, j), *rest)
  starts = [best[i, 0] for i in range(1, STEPS)]
  return min(starts, key=lambda w: away(w[0], len(w[1])))[1]


def _check_names(
  place: object, names: Sequence[str], needed: Sequence[str]
) -> None:
  for name in names:
    conditions.PICTURES.row(name)  # refuses unknown names
  lacking = [name for name in needed if name not in names]
  if lacking or len({*names}) < len(names):
    raise errors.UserError(
      f"{place}: expected each of {', '.join(needed)} once, got"
      f" {', '.join(names) or 'none'}."
    )


def _check_pair(
  place: object, first: str, second: str, accuracy: np.ndarray
) -> None:
  """Refuse numbers that are no accuracies under more and more severe corruptions."""
  where = f"{place}: {first}, then {second}"
  if np.isnan(accuracy).any():
    raise errors.UserError(
      f"{where}: not measured, got nan. Run ccc-matrix again: it goes on."
    )
  if not ((accuracy >= 0) & (accuracy <= 1)).all():
    raise errors.UserError(
      f"{where}: accuracies are fractions from 0 to 1, got {accuracy.min():g} to"
      f" {accuracy.max():g}. Divide percentages by 100."
    )
  for axis, name in ((1, first), (0, second)):
    mean = accuracy.mean(axis)
    ends = 0, STEPS - 1
    high = int((mean - np.minimum.accumulate(mean)).argmax())
    steps = [(int(mean[: high + 1].argmin()), high, _RISE), (*ends, _RISE / 2)]
    for low, high, allowed in steps[name == _UNEVEN :]:
      if mean[high] - mean[low] > allowed:
        raise errors.UserError(
          f"{where}: the accuracy rises from {mean[low]:.3f} to {mean[high]:.3f}"
          f" between severity {low / 4:g} and {high / 4:g} of {name}. It must not"
          " rise with the severity; the first axis of a pair is the severity of"
          " the first corruption. If it was measured of few pictures, measure it"
          " of more (--pictures)."
        )
