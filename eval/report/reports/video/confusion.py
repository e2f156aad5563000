"""Confusion matrices: clean, and under each family's worst perturbation (Fig. 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eval.charts import heat_map
from eval.metrics import definitions
from eval.report.reports import base
from eval.tables import markdown, numbers
from eval.tables.context import CellKey, Context
from robust_tfds.charts import style

_MAX_NAMES = 12  # more classes than this have no names at the axes
_MAX_PAIRS = 10  # most confused pairs of a panel in the table


class Confusion(base.Chart):
  """A line per model, with the cell of the lowest accuracy of every family.

  Rows of a matrix are true classes and add up to 1.
  """

  stem = "action_confusion"
  caption = "What is taken for what"
  reading = (
    "A row is the true class, a column what it was taken for: what is on"
    " the diagonal is right. Clean, then the perturbation of each family"
    " that hurts most."
  )
  shows = (
    "Confusion matrices, clean and under the worst perturbation of each family"
  )

  def draw(self, context: Context) -> style.Figure | None:
    panels = _drawn_cells(context)
    if not panels:
      return None
    grid = [
      [_map(context, key, first=key is keys[0]) for key in keys]
      for keys in panels.values()
    ]
    columns = max(map(len, grid))
    return heat_map.draw(
      grid,
      (2.3 * columns + 1, 2.5 * len(grid) + 0.7),
      "share of the true class",
      most=1,
      cmap="magma_r",
    )

  def text(self, context: Context) -> str:
    return _tables(context, _drawn_cells(context))


def shares(pairs: np.ndarray, classes: int) -> np.ndarray:
  """Return a confusion matrix, rows true: float `[C, C]`, rows sum to 1 or 0.

  Args:
    pairs: int `[N, 2]`, true and predicted class ids.
    classes: C.

  >>> shares(np.array([[0, 0], [0, 1], [1, 1]]), 3).tolist()
  [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
  """
  count = np.zeros((classes, classes))
  np.add.at(count, (pairs[:, 0], pairs[:, 1]), 1)
  return count / np.maximum(count.sum(axis=1, keepdims=True), 1)


def _panels(context: Context, model: str) -> list[CellKey]:
  cells = {k: v for k, v in context.confusions.items() if k[0] == model}
  worst: dict[str, tuple[float, CellKey]] = {}
  for key, pairs in cells.items():
    if not key[1]:
      continue
    group = context.group(key[1])
    accuracy = float((pairs[:, 0] == pairs[:, 1]).mean())
    if group not in worst or accuracy < worst[group][0]:
      worst[group] = accuracy, key
  clean = [key for key in cells if not key[1]]
  return clean + [key for _, key in worst.values()]


def _drawn_cells(context: Context) -> dict[str, list[CellKey]]:
  """Return, per model, clean and the worst cell of each family."""
  panels = {model: _panels(context, model) for model in context.models}
  return {model: keys for model, keys in panels.items() if keys}


def _map(context: Context, key: CellKey, first: bool) -> heat_map.Map:
  """Return a cell's matrix, with the names of the classes if they are few."""
  classes = _classes(context)
  values = shares(context.confusions[key], classes)
  title = f"{key[0]}\n{_words(key)}"
  if classes > _MAX_NAMES or not context.class_names:
    return heat_map.Map(values, title, y="true" * first, x="predicted")
  names = list(context.class_names)
  return heat_map.Map(values, title, names if first else [""] * classes, names)


def _classes(context: Context) -> int:
  if context.class_names:
    return len(context.class_names)
  return 1 + max(int(p.max()) for p in context.confusions.values())


def _words(key: CellKey) -> str:
  return f"{definitions.words(key[1])} {key[2]}" if key[1] else "clean"


def _tables(context: Context, panels: Mapping[str, Sequence[CellKey]]) -> str:
  classes = _classes(context)
  names = list(context.class_names) or [str(i) for i in range(classes)]
  parts = ["# Most confused pairs, shares of the true class in %\n"]
  for model, keys in panels.items():
    clean = next((k for k in keys if not k[1]), None)
    before = shares(context.confusions[clean], classes) if clean else None
    for key in keys:
      after = shares(context.confusions[key], classes)
      parts.append(f"\n## {markdown.escape(model)}, {_words(key)}\n")
      heads = ["true", "predicted", "share", "clean"]
      parts.append(markdown.table(heads, _pairs(after, before, names)))
  parts.append(markdown.foot(context.provenance))
  return "\n".join(parts)


def _pairs(
  after: np.ndarray, before: np.ndarray | None, names: Sequence[str]
) -> list[list[str]]:
  """Return a line per pair of classes, the most confused first."""
  wrong = after - np.diag(np.diag(after))
  order = np.argsort(-wrong, axis=None, kind="stable")[:_MAX_PAIRS]
  lines = []
  for true, predicted in zip(*np.unravel_index(order, wrong.shape)):
    if not wrong[true, predicted]:
      break
    pair = [markdown.escape(names[c]) for c in (true, predicted)]
    share = numbers.percent(wrong[true, predicted])
    clean = "-" if before is None else numbers.percent(before[true, predicted])
    lines.append([*pair, share, clean])
  return lines
