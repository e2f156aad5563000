"""Accuracy against severity, a panel a perturbation, a line a model."""

import dataclasses
from collections.abc import Sequence

from eval.compare.boards.board import Board
from eval.report.figures import base
from eval.report.figures.parts import own, redrawn


def of_dataset(boards: list[Board], dataset: str) -> list[Board]:
  """The boards of a data set; all of them where there is none."""
  return [b for b in boards if b.dataset == dataset] or boards


def heading(title: str, models: Sequence[own.Own], dataset: str) -> str:
  """The paper's figure, and whose data the curves are of where not its own."""
  other = own.other_datasets(models, dataset)
  if not other:
    return f"Schiappa et al., {title}"
  names = ", ".join(f"`{name}`" for name in other)
  return f"Schiappa et al., {title}; here of the own data set {names}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SeverityCurves(redrawn.Redrawn):
  """Runs over the figure's data set; without one, runs over any other.

  Attributes:
    dataset: of the figure.
  """

  source: str = "runs; no paper prints numbers by severity"
  tasks: tuple[str, ...] = ("video",)
  report: str = "action_curves"
  shows: tuple[str, ...] = ("accuracy",)
  dataset: str

  def boards(self, request: base.Request) -> list[Board]:
    return of_dataset(super().boards(request), self.dataset)

  def others(self, request: base.Request) -> dict:
    models = own.of(self.boards(request))
    words = [f"own runs: {own.runs(models)}", own.remark(models, self.dataset)]
    title = heading(self.title, models, self.dataset)
    return {"provenance": words, "title": title}
