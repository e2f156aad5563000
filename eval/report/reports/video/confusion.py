"""What is taken for what: clean, and where each group hurts most (Figure 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import markdown

_MOST_NAMES = 12  # more classes than this have no names at the axes
_MOST_PAIRS = 10  # most confused pairs of a panel in the table
# (model, perturbation, severity) of a cell.
Key = tuple[str, str, int]


class Confusion(base.Report):
  """A line a model, of every group the cell of the lowest accuracy.

  Rows of a matrix are true classes and add up to 1.
  """

  pictures = (("action_confusion.png", "What is taken for what"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes action_confusion.png and .md; nothing without predictions."""
    panels = {model: _panels(context, model) for model in context.models}
    panels = {model: keys for model, keys in panels.items() if keys}
    if not panels:
      return []
    picture = _picture(context, panels, folder)
    text = folder / "action_confusion.md"
    text.write_text(_tables(context, panels), "utf-8")
    return [picture, text]


def shares(pairs: np.ndarray, classes: int) -> np.ndarray:
  """Rows true, columns predicted: float `[C, C]`, each row's sum 1 or 0.

  Args:
    pairs: int `[N, 2]`, true and predicted class ids.
    classes: C.

  >>> shares(np.array([[0, 0], [0, 1], [1, 1]]), 3).tolist()
  [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
  """
  count = np.zeros((classes, classes))
  np.add.at(count, (pairs[:, 0], pairs[:, 1]), 1)
  return count / np.maximum(count.sum(axis=1, keepdims=True), 1)


def _panels(context: Context, model: str) -> list[Key]:
  """Clean, then the worst cell of each group."""
  cells = {k: v for k, v in context.confusions.items() if k[0] == model}
  worst: dict[str, tuple[float, Key]] = {}
  for key, pairs in cells.items():
    if not key[1]:
      continue
    group = context.group(key[1])
    accuracy = float((pairs[:, 0] == pairs[:, 1]).mean())
    if group not in worst or accuracy < worst[group][0]:
      worst[group] = accuracy, key
  clean = [key for key in cells if not key[1]]
  return clean + [key for _, key in worst.values()]


def _picture(
  context: Context, panels: Mapping[str, Sequence[Key]], folder: epath.Path
) -> epath.Path:
  classes = _classes(context)
  columns = max(map(len, panels.values()))
  fig = style.figure(2.3 * columns + 1, 2.5 * len(panels) + 0.7)
  grid = style.axes(fig, len(panels), columns)
  for ax in grid.flat:
    ax.set_visible(False)
  for line, keys in zip(grid, panels.values()):
    for ax, key in zip(line, keys):
      ax.set_visible(True)
      image = ax.imshow(
        shares(context.confusions[key], classes),
        vmin=0,
        vmax=1,
        cmap="magma_r",
        interpolation="nearest",
      )
      ax.grid(False)
      ax.set_title(f"{key[0]}\n{_words(key)}", loc="left", fontsize=7)
      _ticks(ax, context, classes, first=ax is line[0])
  fig.colorbar(
    image, ax=list(grid.flat), shrink=0.6, label="share of the true class"
  )
  return style.save(fig, folder, "action_confusion", context.provenance)[0]


def _classes(context: Context) -> int:
  if context.class_names:
    return len(context.class_names)
  return 1 + max(int(p.max()) for p in context.confusions.values())


def _words(key: Key) -> str:
  return f"{style.words(key[1])} {key[2]}" if key[1] else "clean"


def _ticks(ax: style.Axes, context: Context, classes: int, first: bool) -> None:
  if classes > _MOST_NAMES or not context.class_names:
    ax.set_xlabel("predicted", fontsize=7)
    if first:
      ax.set_ylabel("true", fontsize=7)
    ax.tick_params(labelsize=6)
    return
  names = list(context.class_names)
  ax.set_xticks(range(classes), names, rotation=90, fontsize=6)
  ax.set_yticks(range(classes), names if first else [], fontsize=6)


def _tables(context: Context, panels: Mapping[str, Sequence[Key]]) -> str:
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
  """A line a pair of classes, the most confused first."""
  wrong = after - np.diag(np.diag(after))
  order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]
  lines = []
  for true, predicted in zip(*np.unravel_index(order, wrong.shape)):
    if not wrong[true, predicted]:
      break
    clean = "-" if before is None else f"{100 * before[true, predicted]:.1f}"
    pair = [markdown.escape(names[c]) for c in (true, predicted)]
    share = f"{100 * wrong[true, predicted]:.1f}"
    lines.append([*pair, share, clean])
  return lines
