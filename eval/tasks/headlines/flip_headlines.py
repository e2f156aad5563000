"""Headlines over a classifier's sequences: FR, T5D and their means."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from eval.metrics import stability
from eval.tasks.headlines.headlines import (
  Arrays,
  Cells,
  Headline,
  mean_of,
)
from robust_tfds import conditions
from robust_tfds.conditions import Condition

NORMALISERS = {"fr": "flip_probability", "t5d": "unnormalised_t5d"}
_FAMILY = conditions.SEQUENCES
_COMMON = _FAMILY.names("common")
_UNDEFINED = "undefined: the baseline's value is 0"


def headlines(
  cells: Cells, reference: Cells, *, published: bool = False
) -> list[Headline]:
  """Return FR, T5D, their means, and the plain ones (Hendrycks & Dietterich 4.2).

  Args:
    cells: one model's cells; metrics are arrays `[D, ..., K]`, D difficulties
      in a cell.
    reference: the same of the baseline; empty without one.
    published: whether the baseline is published: it is then only known at
      difficulty 1.
  """
  clean = Headline.restating(
    "clean_error", "error", Condition(), own_fingerprint=True
  )
  out = [clean]
  for difficulty in conditions.DIFFICULTIES:
    known = {} if published and difficulty > 1 else reference
    out += _difficulty_headlines(difficulty, cells, known)
  return out


def published_cells(
  numbers: Mapping[str, Mapping[str, float]],
) -> dict[Condition, dict[str, np.ndarray]]:
  """Return the cells of a published baseline, at difficulty 1.

  Args:
    numbers: metric -> perturbation -> number.
  """
  out: dict[Condition, dict[str, np.ndarray]] = {}
  for metric in NORMALISERS.values():
    for name, number in numbers[metric].items():
      cell_numbers = out.setdefault(_FAMILY.condition(name, 1), {})
      cell_numbers[metric] = np.array([number])
  return out


def _difficulty_headlines(
  difficulty: int, cells: Cells, reference: Cells
) -> Iterator[Headline]:
  """Yield the headlines of a difficulty."""
  here = _Difficulty(difficulty)
  for plain in NORMALISERS.values():
    yield here.over(_COMMON, f"mean_{plain}", plain)
  for metric, plain in NORMALISERS.items():
    known = here.names(reference, plain)
    if not known:
      continue
    for name in here.names(cells, plain):
      # Of a user's own perturbation a baseline may know nothing.
      if name in known or _FAMILY.row(name).set != "own":
        yield here.over([name], metric, plain, name, normalised=True)
    yield here.over(_COMMON, f"m{metric}", plain, normalised=True)


class _Difficulty:
  """The cells of a difficulty: noise has one cell per difficulty, others one row."""

  def __init__(self, level: int):
    self._level = level

  def names(self, cells: Cells, metric: str) -> list[str]:
    """Return the perturbations that have a metric."""
    return [
      c.name
      for c, metrics in cells.items()
      if not c.clean and metric in metrics and c == self._cell(c.name)
    ]

  def over(
    self,
    names: Sequence[str],
    metric: str,
    plain: str,
    name: str = "",
    *,
    normalised: bool = False,
  ) -> Headline:
    """Return the headline of a mean over perturbations."""

    def rate(ours: Arrays, reference: Arrays, name: str) -> np.ndarray:
      value = self._value(ours, plain, name)
      if not normalised:
        return value
      return stability.normalised(value, self._value(reference, plain, name))

    over = mean_of(lambda ours, reference, c: rate(ours, reference, c.name))
    cells = [self._cell(n) for n in names]
    return Headline(
      metric,
      (plain,),
      cells,
      over(cells),
      name,
      self._level,
      normalised=normalised,
      undefined=_UNDEFINED,
      over=over,
    )

  def _cell(self, name: str) -> Condition:
    noise = _FAMILY.is_noise(name)
    return _FAMILY.condition(name, self._level if noise else 1)

  def _value(self, cells: Arrays, metric: str, name: str) -> np.ndarray:
    row = 0 if _FAMILY.is_noise(name) else self._level - 1
    return cells[self._cell(name)][metric][row]
