"""Confusion matrices under chosen conditions."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from eval.report.figures import base
from eval.report.figures.parts import own, redrawn, sheet
from eval.report.reports.video import confusion
from eval.tables.context import CellKey
from robust_tfds import errors
from robust_tfds.conditions import Condition

_COLUMNS = (
  *("model", "perturbation", "severity", "true", "predicted"),
  *("videos", sheet.Column("share of the true class"), "source"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Confusions(base.PaperFigure):
  """Clean and perturbed matrices, a line per model.

  Without `--condition` the cell of the lowest accuracy in each family is shown, or
  only the lowest of all if `one` is set.

  Attributes:
    one: whether a single perturbed condition is shown.
  """

  source: str = "runs; the paper prints no numbers of it"
  tasks: tuple[str, ...] = ("video",)
  needs_runs: bool = True
  one: bool = False

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.from_boards(self.boards(request))
    pairs = {
      k: v for m in models for k, v in self._model_cells(request, m).items()
    }
    context = redrawn.context(request, models, confusions=pairs)
    chart = confusion.Confusion()
    names = list(context.class_names)
    sources = {m.label: m.source for m in models}
    lines = [x for k, v in pairs.items() for x in _lines(k, v, names, sources)]
    table, foot = sheet.Sheet(_COLUMNS, lines), context.provenance
    return base.Drawn(
      chart.draw(context), foot, table, text=chart.text(context)
    )

  def _model_cells(
    self, request: base.Request, model: own.Own
  ) -> dict[CellKey, np.ndarray]:
    """Return the pairs of classes in the cells that are shown."""
    pairs = model_pairs(request, model)
    name = request.condition or (lowest(pairs) if self.one else "")
    if not name:
      return pairs
    return {
      k: pairs[k]
      for k in ((model.label, "", 0), (model.label, *chosen(pairs, name)))
      if k in pairs
    }


def model_pairs(
  request: base.Request, model: own.Own
) -> dict[CellKey, np.ndarray]:
  """Return cell -> true and predicted class of every video, for a model."""
  entry = model.entry
  for side in (scored.side for scored in request.scored):
    if (side.run.name, side.model, side.dataset) == (
      entry.run,
      entry.model,
      model.board.dataset,
    ):
      return {
        (model.label, c.name, c.level): side.task.pairs(side.columns(c))
        for c in side.cells
      }
  return {}


def chosen(pairs: dict[CellKey, Any], name: str) -> tuple[str, int]:
  """Return the perturbation and severity of a config name.

  Raises:
    UserError: the run has no such condition.
  """
  known = {Condition(n, s, "videos").config: (n, s) for _, n, s in pairs if n}
  if name not in known:
    raise errors.unknown_error("--condition", name, known)
  return known[name]


def lowest(pairs: dict[CellKey, np.ndarray]) -> str:
  """Return the config name of the perturbed cell of the lowest accuracy, or ''."""
  right = {
    Condition(n, s, "videos").config: float((p[:, 0] == p[:, 1]).mean())
    for (_, n, s), p in pairs.items()
    if n
  }
  return min(right, key=lambda k: right[k], default="")


def class_name(place: int, names: Sequence[str]) -> str:
  """Return the name of a class, or its index if it has none."""
  return names[place] if place < len(names) else str(place)


def _lines(
  key: CellKey, pairs: np.ndarray, names: Sequence[str], sources: dict[str, str]
) -> list[list[sheet.Cell]]:
  """Return a line for each pair of classes that occurs."""
  occurring, counts = np.unique(pairs, axis=0, return_counts=True)
  class_counts = {c: int((pairs[:, 0] == c).sum()) for c in set(pairs[:, 0])}
  label, name, level = key
  return [
    [
      *(label, name or "clean", level),
      *(class_name(c, names) for c in (true, predicted)),
      *(int(count), int(count) / class_counts[true], sources[label]),
    ]
    for (true, predicted), count in zip(occurring.tolist(), counts)
  ]
