"""Figure 22: which classes a condition hurts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from robust_tfds import errors
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import (
  confusions,
  own,
  redrawn,
  sheet,
)

_MOST = 30  # classes of a panel: those that lose the most
_COLUMNS = (
  *("model", "condition", "class", "videos", sheet.Column("clean accuracy")),
  *(sheet.Column("accuracy"), sheet.Column("lost"), "source"),
)


class Figure22(base.PaperFigure):
  """Accuracy of each class, clean and under a condition, a panel a model."""

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    models = own.of(self.boards(request))
    told = redrawn.context(request, models)
    names = list(told.class_names)
    panels = {}
    for model in models:
      pairs = confusions.of_model(request, model)
      name = request.condition or confusions.lowest(pairs)
      if (model.label, "", 0) not in pairs or not name:
        raise errors.UserError(
          f"{self.name}: {model.label} has no clean and perturbed cells."
        )
      clean = pairs[model.label, "", 0]
      after = pairs[model.label, *confusions.chosen(pairs, name)]
      panels[model.label] = name, _by_class(clean), _by_class(after)
    most = max(min(_MOST, len(clean)) for _, clean, _ in panels.values())
    fig = style.figure(1.6 + 3.2 * len(panels), 1.0 + 0.24 * max(most, 4))
    grid = style.axes(fig, 1, len(panels))[0]
    for ax, (label, panel) in zip(grid, panels.items()):
      _panel(ax, label, *panel, names)
    style.legend_above(fig, grid[0])
    sources = {m.label: m.source for m in models}
    lines: list[list[sheet.Cell]] = [
      [
        *(label, name, confusions.class_name(c, names), n),
        *(x, after[c][0], x - after[c][0]),
        sources[label],
      ]
      for label, (name, clean, after) in panels.items()
      for c, (x, n) in clean.items()
    ]
    return [
      *style.save(fig, folder, self.name, told.provenance),
      sheet.Sheet(_COLUMNS, lines).write_csv(folder, self.name),
    ]


def _by_class(pairs: np.ndarray) -> dict[int, tuple[float, int]]:
  """Class -> (accuracy, videos)."""
  out = {}
  for c in np.unique(pairs[:, 0]).tolist():
    of_class = pairs[pairs[:, 0] == c]
    out[c] = float((of_class[:, 1] == c).mean()), len(of_class)
  return out


def _panel(
  ax: style.Axes,
  label: str,
  condition: str,
  clean: Mapping[int, tuple[float, int]],
  after: Mapping[int, tuple[float, int]],
  names: Sequence[str],
) -> None:
  """A line a class, from its accuracy under the condition to the clean one."""
  order = sorted(clean, key=lambda c: clean[c][0] - after[c][0])[-_MOST:]
  for y, c in enumerate(order):
    ends = [100 * after[c][0], 100 * clean[c][0]]
    ax.plot(ends, [y, y], color="#bbbbbb", linewidth=2, zorder=1)
  for values, words, colour, marker in (
    (clean, "clean", style.COLOURS[0], "o"),
    (after, "under the condition", style.COLOURS[1], "D"),
  ):
    x = [100 * values[c][0] for c in order]
    ax.scatter(x, range(len(x)), color=colour, marker=marker, s=20, label=words)
  classes = [confusions.class_name(c, names) for c in order]
  ax.set_yticks(range(len(order)), classes, fontsize=7)
  ax.set_ylim(-0.6, len(order) - 0.4)
  ax.set_xlim(-3, 103)
  ax.set_xlabel("accuracy (%)")
  ax.set_title(f"{label}: {style.words(condition)}", loc="left", fontsize=9)
