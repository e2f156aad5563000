"""Accuracy against severity: a panel per perturbation, a line per model."""

import dataclasses
from collections.abc import Sequence

from eval.compare.boards.board import Board
from eval.report.figures import base
from eval.report.figures.parts import own, redrawn


def dataset_boards(boards: list[Board], dataset: str) -> list[Board]:
  """Return the boards of a data set; all of them if it has none."""
  return [b for b in boards if b.dataset == dataset] or boards


def heading(title: str, models: Sequence[own.Own], dataset: str) -> str:
  """Return the paper's title, with the data sets if they are others."""
  other = own.other_datasets(models, dataset)
  if not other:
    return f"Schiappa et al., {title}"
  names = ", ".join(f"`{name}`" for name in other)
  return f"Schiappa et al., {title}; here of the own data set {names}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SeverityCurves(redrawn.Redrawn):
  """Runs over the paper's data set, or over others if there are none."""

  source: str = "runs; no paper prints numbers by severity"
  tasks: tuple[str, ...] = ("video",)
  report: str = "action_curves"
  shows: tuple[str, ...] = ("accuracy",)
  dataset: str

  def boards(self, request: base.Request) -> list[Board]:
    return dataset_boards(super().boards(request), self.dataset)

  def context_changes(self, request: base.Request) -> dict:
    models = own.from_boards(self.boards(request))
    words = [
      f"own runs: {own.runs(models)}",
      own.comparability(models, self.dataset),
    ]
    title = heading(self.title, models, self.dataset)
    return {"provenance": words, "title": title}
