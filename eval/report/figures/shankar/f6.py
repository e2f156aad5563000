"""Figure 6: one worst frame for all models, beside each model's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds import errors
from robust_tfds.eval.cells import table
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import own, redrawn

# Metric, words, colour, marker.
_POINTS = (
  ("acc_orig", "pm-0: the anchor", style.COLOURS[0], "o"),
  ("acc_static_worst", "the frame that most models miss", "#009E73", "s"),
  ("acc_pmk", "pm-10: every frame", style.COLOURS[1], "D"),
)


class Figure6(base.PaperFigure):
  """A line a model, its three accuracies (Appendix C)."""

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    boards = self.boards(request)
    models = [m for m in own.of(boards) if m.number("acc_static_worst")]
    if not models:
      raise errors.UserError(
        f"{self.name}: a worst frame for all models needs a run with two models"
        " or more (config.models); these runs have one each."
      )
    models.sort(key=lambda m: m.value("acc_pmk") or 0.0)
    fig = style.figure(6.5, 1.2 + 0.5 * len(models))
    ax = style.axes(fig, 1, 1)[0, 0]
    for i, (metric, *looks) in enumerate(_POINTS):
      y = np.arange(len(models)) + 0.22 * (1 - i)
      _points(ax, y, [m.number(metric) for m in models], *looks)
    ax.set_yticks(range(len(models)), [m.label for m in models])
    ax.tick_params(labelsize=8)
    ax.set_ylim(-0.6, len(models) - 0.4)
    ax.set_xlabel("accuracy (%), with 95 % intervals")
    style.legend_above(fig, ax, columns=3)
    words = [f"the models of one run are the pool; runs: {own.runs(models)}"]
    lines = redrawn.numbers(models, _takes)
    return [
      *style.save(fig, folder, self.name, words),
      redrawn.write_numbers(lines, folder, self.name),
    ]


def _points(
  ax: style.Axes,
  y: np.ndarray,
  numbers: Sequence,
  label: str,
  colour: str,
  marker: str,
) -> None:
  value = [100 * n.value for n in numbers]
  ends = [
    [100 * (n.value - n.lo) for n in numbers],
    [100 * (n.hi - n.value) for n in numbers],
  ]
  ax.errorbar(
    value,
    y,
    xerr=ends,
    fmt=marker,
    color=colour,
    markersize=5,
    elinewidth=0.8,
    label=label,
  )


def _takes(row: table.Row) -> bool:
  return not row.config and row.metric in {m for m, *_ in _POINTS}
