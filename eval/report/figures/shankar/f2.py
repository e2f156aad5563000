"""Figure 2: frames near an anchor that the review did not accept."""

from __future__ import annotations

import numpy as np

from robust_tfds import errors
from robust_tfds.eval.metrics import intervals
from robust_tfds.eval.report.charts import lines, style
from robust_tfds.eval.report.charts.frame import INSIDE, Frame
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import sheet

_OFFSETS = tuple(o for o in range(-10, 11) if o)
_WORDS = (
  "the paper shows three such pairs; cells hold no pixels, so this is how many"
  " there are"
)


class Figure2(base.PaperFigure):
  """Share of neighbouring frames that were left out, by offset."""

  def drawn(self, request: base.Request) -> base.Drawn:
    """The figure and its CSV."""
    self.boards(request)
    counts = _counts(request)
    if not counts:
      raise errors.UserError(
        f"{self.name}: these runs have no frames from before the review. Run"
        " eval.main with --config.data.config=all."
      )
    curves, rows = [], []
    for i, (name, of_offset) in enumerate(counts.items()):
      values = []
      for offset, (left_out, n) in of_offset.items():
        ends = intervals.clopper_pearson(left_out, n)
        share = style.Value(left_out / n, *ends)
        values.append(style.scaled(share))
        rows.append([name, offset, share.value, *ends, n, f"own run {name}"])
      curves.append(lines.Line(name, list(of_offset), values, i, whiskers=True))
    frame = Frame(
      *(7, 3.6),
      x="offset from the anchor (frames)",
      y="left out as not similar (%)",
      y_ends=(0, None),
      x_ticks=(range(-10, 11, 2), None),
      legend=INSIDE,
    )
    fig = lines.draw([lines.Panel(curves)], frame)
    columns = (
      *("run", "offset", sheet.Column("share left out"), sheet.Column("lo")),
      *(sheet.Column("hi"), "frames", "source"),
    )
    return base.Drawn(fig, [_WORDS], sheet.Sheet(columns, rows))


def _counts(
  request: base.Request,
) -> dict[str, dict[int, tuple[int, int]]]:
  """Run and data set -> offset -> (frames left out, frames)."""
  out: dict[str, dict[int, tuple[int, int]]] = {}
  for side in (scored.side for scored in request.scored):
    if side.task.facts.task != "frames":
      continue
    columns = side.columns(next(iter(side.cells)))
    reviewed = columns.get("reviewed", np.ones(1, bool))
    if not reviewed.all():
      name = f"{side.run.name} ({side.dataset})"
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
