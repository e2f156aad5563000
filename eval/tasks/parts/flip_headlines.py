"""Numbers over a classifier's sequences as functions of arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robust_tfds import conditions
from robust_tfds.conditions import Condition

Key = tuple[str, str, int | None]
Cells = Mapping[Condition, Mapping[str, np.ndarray]]
# Perturbation -> a number of it.
ByName = Mapping[str, np.ndarray]
NORMALISERS = {"fr": "flip_probability", "t5d": "unnormalised_t5d"}
_FAMILY = conditions.SEQUENCES


def of(
  cells: Cells, published: Mapping[str, ByName], reference: Cells | None = None
) -> dict[Key, np.ndarray]:
  """FR, T5D and their means, and the plain ones: Hendrycks & Dietterich 4.2.

  Args:
    cells: condition -> metric -> `[D, ..., K]`, D difficulties in the cell.
    published: metric -> perturbation -> the baseline's number at difficulty 1;
      empty without one.
    reference: the cells of the model that normalises; None without one.

  Returns:
    Of numbers all of whose cells are there: (metric, perturbation, difficulty) ->
    `[..., K]`.
  """
  out: dict[Key, np.ndarray] = {}
  if "error" in cells.get(Condition(), {}):
    out["clean_error", "", None] = cells[Condition()]["error"]
  for difficulty in conditions.DIFFICULTIES:
    for metric, plain in NORMALISERS.items():
      ours = at(cells, plain, difficulty)
      _add(out, f"mean_{plain}", ours, difficulty)
      by: ByName = {}
      if reference is not None:
        by = at(reference, plain, difficulty)
      elif difficulty == 1:
        by = published.get(plain, {})
      rates = {n: _ratio(v, by[n]) for n, v in ours.items() if n in by}
      for name, rate in rates.items():
        out[metric, name, difficulty] = rate
      _add(out, f"m{metric}", rates, difficulty)
  return out


def at(cells: Cells, metric: str, difficulty: int) -> dict[str, np.ndarray]:
  """A metric of every perturbation that is there at a difficulty."""
  out = {}
  for condition, of_cell in cells.items():
    if condition.clean or metric not in of_cell:
      continue
    # Noise has one cell a difficulty, the others one row a difficulty.
    noise = _FAMILY.is_noise(condition.name)
    if not noise or condition.level == difficulty:
      row = 0 if noise else difficulty - 1
      out[condition.name] = of_cell[metric][row]
  return out


def _ratio(value: np.ndarray, by: np.ndarray) -> np.ndarray:
  with np.errstate(divide="ignore", invalid="ignore"):
    return np.where(np.not_equal(by, 0), np.divide(value, by), np.nan)


def _add(
  out: dict[Key, np.ndarray], metric: str, of_names: ByName, difficulty: int
) -> None:
  """The mean over the common perturbations, if all are there."""
  names = _FAMILY.names("common")
  if all(n in of_names for n in names):
    mean = np.mean([of_names[n] for n in names], axis=0)
    out[metric, "", difficulty] = mean
