"""Headlines over the cells of custom metrics: means and retention."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from eval.cells import missing_cells
from eval.metrics import rates
from eval.tasks.headlines.headlines import (
  Arrays,
  Cells,
  Formula,
  Headline,
  mean_of_metric,
)
from robust_tfds.conditions import Condition, Family

_CLEAN = Condition()
_UNDEFINED = "undefined: what it is divided by is not above 0"


def headlines(
  cells: Cells, family: Family, senses: Mapping[str, str]
) -> list[Headline]:
  """Return each metric's clean mean, means under corruption and retention.

  Args:
    cells: one model's cells.
    senses: metric -> whether `lower` or `higher` is better.
  """
  return [
    headline
    for metric, sense in senses.items()
    for headline in _metric_headlines(cells, family, metric, sense)
  ]


def parts(family: Family) -> dict[str, list[Condition]]:
  """Return the common conditions of each group (`noise`) and level (`severity_3`)."""
  common = missing_cells.needed(family, family.names("common"))
  levels = sorted({c.level for c in common})
  return {
    **{
      group: missing_cells.needed(family, family.members(group, "common"))
      for group in family.groups
      if family.members(group, "common")
    },
    **{
      family.level_name(level): [c for c in common if c.level == level]
      for level in levels
    },
  }


def _metric_headlines(
  cells: Cells, family: Family, metric: str, sense: str
) -> Iterable[Headline]:
  for name in dict.fromkeys(c.name for c in cells if c.name):
    yield _mean(metric, missing_cells.needed(family, [name]), name=name)
  yield Headline.restating(f"clean_{metric}", metric, _CLEAN)
  common = missing_cells.needed(family, family.names("common"))
  yield _mean(metric, common)
  yield _retained(metric, common, sense)
  for part, part_cells in parts(family).items():
    if all(metric in cells.get(c, ()) for c in part_cells):
      yield _mean(metric, part_cells, part=f"/{part}")


def _mean(
  metric: str, cells: Sequence[Condition], *, name: str = "", part: str = ""
) -> Headline:
  over = mean_of_metric(metric)
  return Headline(
    f"mean_{metric}{part}",
    (metric,),
    cells,
    over(cells),
    name,
    over=None if part else over,
  )


def _retained(metric: str, cells: Sequence[Condition], sense: str) -> Headline:
  """Return the share of the clean mean that is left: 1 if nothing is lost.

  Mean under corruption / clean mean if higher is better, else the inverse.
  """

  def over(part: Sequence[Condition]) -> Formula:
    mean = mean_of_metric(metric)(part)

    def formula(ours: Arrays, reference: Arrays) -> np.ndarray:
      clean, corrupted = ours[_CLEAN][metric], mean(ours, reference)
      if sense == "higher":
        return rates.ratio(corrupted, clean)
      return np.where(clean > 0, rates.ratio(clean, corrupted), np.nan)

    return formula

  return Headline(
    f"{metric}_retained",
    (metric,),
    [_CLEAN, *cells],
    over(cells),
    undefined=_UNDEFINED,
    over=over,
  )
