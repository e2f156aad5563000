"""Tables 4 to 7 of Schiappa et al.: a line a perturbation, columns of models."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from etils import epath

from robust_tfds import conditions
from robust_tfds.eval.papers import derived
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import gammas, own, printed, sheet


@dataclasses.dataclass(frozen=True, kw_only=True)
class PerturbationTable(base.PaperFigure):
  """Printed networks, then own models; the CSV has a line a number.

  Attributes:
    dataset: whose table it is.
  """

  source: str = "eval/papers: the printed table"
  tasks: tuple[str, ...] = ("video",)
  dataset: str

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the table and its CSV."""
    added = own.of(self.boards(request))
    models = [
      *gammas.printed_models(self.dataset),
      *gammas.own_models(added),
    ]
    rows = gammas.printed_rows(self.dataset)
    caption = (
      "gamma_a: 1 - (clean accuracy - accuracy), gamma_r: accuracy / clean"
      " accuracy, means over severities; a group's line is the printed mean,"
      f" which need not be that of its lines. Source: {printed.source_of(rows)}."
      f" {printed.doubts(rows)} {own.remark(added, self.dataset)}"
    )
    table = _table(models, caption)
    numbers = sheet.Sheet(gammas.COLUMNS, gammas.lines(models))
    return [
      table.write_markdown(folder, self.name, self.title),
      numbers.write_csv(folder, self.name),
    ]


def _table(models: Sequence[gammas.Model], caption: str) -> sheet.Sheet:
  columns = [
    sheet.Column(f"{model.label} {measure}", 2, percent=False)
    for model in models
    for measure in derived.MEASURES
  ]
  lines: list[list[sheet.Cell]] = []
  for group in conditions.VIDEOS.groups:
    members = conditions.VIDEOS.members(group, "common")
    for name in (*members, group):
      values = [m.value(g, name) for m in models for g in derived.MEASURES]
      words = name if name in members else f"all {group}"
      lines.append([words.replace("_", " "), *map(_number, values)])
  return sheet.Sheet(["perturbation", *columns], lines, caption)


def _number(value: float) -> float | None:
  return None if math.isnan(value) else value
