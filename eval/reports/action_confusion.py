"""What is taken for what: clean, and where each group hurts most (Figure 8)."""

from __future__ import annotations

import pathlib

import numpy as np

from eval import reports
from eval.reports import leaderboard_markdown
from eval.reports import style

TASKS = ("video",)
PICTURES = (("action_confusion.png", "What is taken for what"),)
_NAMED = 12  # more classes than this have no names at the axes
_LISTED = 10  # most confused pairs of a panel in the table


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes action_confusion.png and .md; nothing without predictions.

  Of every group of perturbations the cell of the lowest accuracy is shown. Rows
  of a matrix are true classes and add up to 1.
  """
  shown = {m: _shown(context, m) for m in context.models}
  shown = {m: keys for m, keys in shown.items() if keys}
  if not shown:
    return []
  classes = _classes(context)
  columns = max(map(len, shown.values()))
  fig = style.figure(2.3 * columns + 1, 2.5 * len(shown) + 0.7)
  grid = style.axes(fig, len(shown), columns)
  for ax in grid.flat:
    ax.set_visible(False)
  image = None
  for i, (model, keys) in enumerate(shown.items()):
    for j, key in enumerate(keys):
      ax = grid[i, j]
      ax.set_visible(True)
      image = ax.imshow(
        shares(context.confusions[key], classes),
        vmin=0,
        vmax=1,
        cmap="magma_r",
        interpolation="nearest",
      )
      ax.grid(False)
      ax.set_title(f"{model}\n{_words(key)}", loc="left", fontsize=7)
      _ticks(ax, context, classes, first=not j)
  fig.colorbar(image, ax=grid, shrink=0.6, label="share of the true class")
  picture = style.save(fig, folder, "action_confusion", context.provenance)[:1]
  text = folder / "action_confusion.md"
  text.write_text(_table(context, shown, classes), "utf-8")
  return [*picture, text]


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


def _shown(context, model):
  """Keys of the panels: clean, then the worst cell of each group."""
  own = {k: v for k, v in context.confusions.items() if k[0] == model}
  worst: dict[str, tuple] = {}
  for key, pairs in own.items():
    if not key[1]:
      continue
    group = context.groups[key[1]]
    accuracy = float((pairs[:, 0] == pairs[:, 1]).mean())
    if group not in worst or accuracy < worst[group][0]:
      worst[group] = accuracy, key
  clean = [key for key in own if not key[1]]
  return clean + [key for _, key in worst.values()]


def _classes(context) -> int:
  if context.class_names:
    return len(context.class_names)
  return 1 + max(int(p.max()) for p in context.confusions.values())


def _words(key) -> str:
  return f"{key[1].replace('_', ' ')} {key[2]}" if key[1] else "clean"


def _ticks(ax, context, classes, first) -> None:
  if classes > _NAMED or not context.class_names:
    ax.set_xlabel("predicted", fontsize=7)
    if first:
      ax.set_ylabel("true", fontsize=7)
    ax.tick_params(labelsize=6)
    return
  names = list(context.class_names)
  ax.set_xticks(range(classes), names, rotation=90, fontsize=6)
  ax.set_yticks(range(classes), names if first else [], fontsize=6)


def _table(context, shown, classes) -> str:
  escape = leaderboard_markdown.escape
  names = list(context.class_names) or [str(i) for i in range(classes)]
  parts = ["# Most confused pairs, shares of the true class in %\n"]
  for model, keys in shown.items():
    clean = next((k for k in keys if not k[1]), None)
    before = shares(context.confusions[clean], classes) if clean else None
    for key in keys:
      found = shares(context.confusions[key], classes)
      wrong = found - np.diag(np.diag(found))
      order = np.argsort(-wrong, axis=None, kind="stable")[:_LISTED]
      parts.append(f"\n## {escape(model)}, {_words(key)}\n")
      parts.append("| true | predicted | share | clean |\n|---|---|---|---|")
      for true, predicted in zip(*np.unravel_index(order, wrong.shape)):
        if not wrong[true, predicted]:
          break
        was = "-" if before is None else f"{100 * before[true, predicted]:.1f}"
        parts.append(
          f"| {escape(names[true])} | {escape(names[predicted])} |"
          f" {100 * wrong[true, predicted]:.1f} | {was} |"
        )
  parts.append(f"\n{escape('; '.join(context.provenance))}\n")
  return "\n".join(parts)
