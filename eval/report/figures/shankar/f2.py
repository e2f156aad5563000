"""Figure 2: frames near an anchor that the review did not accept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds import errors
from robust_tfds.eval.metrics import intervals
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import sheet

_OFFSETS = tuple(o for o in range(-10, 11) if o)
_WORDS = (
  "the paper shows three such pairs; cells hold no pixels, so this is how many"
  " there are"
)


class Figure2(base.PaperFigure):
  """Share of neighbouring frames that were left out, by offset."""

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    self.boards(request)
    counts = _counts(request)
    if not counts:
      raise errors.UserError(
        f"{self.name}: these runs have no frames from before the review. Run"
        " eval.main with --config.data.config=all."
      )
    fig = style.figure(7, 3.6)
    ax = style.axes(fig, 1, 1)[0, 0]
    lines: list[list[sheet.Cell]] = []
    for i, (name, of_offset) in enumerate(counts.items()):
      ends = {
        o: intervals.clopper_pearson(k, n) for o, (k, n) in of_offset.items()
      }
      lines += [
        [name, o, k / n, *ends[o], n, f"own run {name}"]
        for o, (k, n) in of_offset.items()
      ]
      of_name = np.array([line[1:5] for line in lines if line[0] == name])
      _curve(ax, of_name.astype(float), i, name)
    ax.axvline(0, color="#999999", linewidth=0.8, linestyle=":")
    ax.set_xticks(range(-10, 11, 2))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("offset from the anchor (frames)")
    ax.set_ylabel("left out as not similar (%)")
    ax.legend(fontsize=7)
    columns = (
      *("run", "offset", sheet.Column("share left out"), sheet.Column("lo")),
      *(sheet.Column("hi"), "frames", "source"),
    )
    return [
      *style.save(fig, folder, self.name, [_WORDS]),
      sheet.Sheet(columns, lines).write_csv(folder, self.name),
    ]


def _counts(
  request: base.Request,
) -> dict[str, dict[int, tuple[int, int]]]:
  """Run and data set -> offset -> (frames left out, frames)."""
  out: dict[str, dict[int, tuple[int, int]]] = {}
  for one in request.scored:
    if one.task.facts.task != "frames":
      continue
    predictions = one.run.predictions
    cell = next(c for c in predictions.cells if c.model == one.model)
    columns = predictions.columns(cell)
    reviewed = columns.get("reviewed", np.ones(1, bool))
    if not reviewed.all():
      name = f"{one.run.name} ({one.data['dataset']})"
      out[name] = _by_offset(columns["frame"], reviewed)
  return out


def _by_offset(
  frame: np.ndarray, reviewed: np.ndarray
) -> dict[int, tuple[int, int]]:
  at = {o: frame == o for o in _OFFSETS}
  return {
    o: (int((~reviewed[here]).sum()), int(here.sum()))
    for o, here in at.items()
    if here.any()
  }


def _curve(ax: style.Axes, points: np.ndarray, index: int, label: str) -> None:
  x, value, lo, hi = points.T
  ax.errorbar(
    x,
    100 * value,
    yerr=100 * np.array([value - lo, hi - value]),
    color=style.colour(index),
    marker=style.marker(index),
    markersize=4,
    linewidth=1,
    elinewidth=0.8,
    label=label,
  )
