"""Figure 9, left: accuracy by the data of training and of testing."""

import numpy as np

from eval.charts import heat_map
from eval.report.figures import base
from eval.report.figures.parts import own, sheet
from robust_tfds import conditions
from robust_tfds.conditions import Condition

_COLUMNS = ("model", "tested on", sheet.Column("accuracy"), "cells", "source")


class Figure9(base.PaperFigure):
  """A row per model, a column per mix of perturbations of Appendix C.1."""

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.from_boards(self.boards(request))
    sets = {"clean": [[Condition()]]} | {
      name: _cells(mix) for name, mix in conditions.VIDEOS.mixes.items()
    }
    values = np.array(
      [[_accuracy(m, parts) for parts in sets.values()] for m in models]
    )
    grid = heat_map.Map(
      100 * values, "", [m.label for m in models], list(sets), "model", "on"
    )
    size = 3.5 + 0.7 * len(sets), 2 + 0.4 * len(models)
    fig = heat_map.draw([[grid]], size, "accuracy (%)", most=100, digits=1)
    rows: list[list[sheet.Cell]] = [
      [m.label, name, float(values[i, j]), sum(map(len, parts)), m.source]
      for i, m in enumerate(models)
      for j, (name, parts) in enumerate(sets.items())
      if not np.isnan(values[i, j])
    ]
    foot = [
      "mean accuracy over the severities 4 and 5 of a set's perturbations; of"
      " mixed_eval the mean of its two kinds",
      f"own runs: {own.runs(models)}",
    ]
    return base.Drawn(fig, foot, sheet.Sheet(_COLUMNS, rows))


def _cells(mix: conditions.Mix) -> list[list[Condition]]:
  """Return the conditions of each kind of a mix."""
  return [
    [Condition(name, level, "videos") for name in part for level in mix.levels]
    for part in mix.parts
  ]


def _accuracy(model: own.Own, parts: list[list[Condition]]) -> float:
  """Return the mean of the kinds' means; nan if a cell is missing."""
  found = [[model.cell_number("accuracy", c) for c in part] for part in parts]
  if any(n is None or n.value is None for part in found for n in part):
    return float("nan")
  means = [np.mean([n.value for n in part if n]) for part in found]
  return float(np.mean(means))
