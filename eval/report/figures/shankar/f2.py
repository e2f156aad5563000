"""Figure 2: frames near an anchor that the review did not accept."""

import math

import numpy as np

from eval.metrics import intervals, rates, resampling
from eval.report.figures import base
from eval.report.figures.parts import sheet
from robust_tfds import errors
from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import INSIDE, Frame

_OFFSETS = tuple(o for o in range(-10, 11) if o)
_WORDS = (
  "the paper shows three such pairs; cells hold no pixels, so this is how many"
  " there are"
)


class Figure2(base.PaperFigure):
  """The share of neighbouring frames that the review left out, by offset."""

  def drawn(self, request: base.Request) -> base.Drawn:
    self.boards(request)
    shares = _shares(request)
    if not shares:
      raise errors.UserError(
        f"{self.name}: these runs have no frames from before the review. Run"
        " eval.main with --config.data.config=all."
      )
    curves, rows = [], []
    for i, (name, of_offset) in enumerate(shares.items()):
      values = []
      for offset, ((share, *ends), n) in of_offset.items():
        known = [None if math.isnan(end) else end for end in ends]
        values.append(style.scaled(style.Value(share, *known)))
        rows.append([name, offset, share, *known, n, f"own run {name}"])
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


def _shares(
  request: base.Request,
) -> dict[str, dict[int, tuple[intervals.Rate, int]]]:
  """Return run and data set -> offset -> (share left out, number of frames)."""
  out = {}
  for side in (scored.side for scored in request.scored):
    if side.task.facts.task != "frames":
      continue
    columns = side.columns(next(iter(side.cells)))
    reviewed = columns.get("reviewed", np.ones(1, bool))
    if not reviewed.all():
      name = f"{side.run.name} ({side.dataset})"
      videos = side.task.group_ids(columns)
      out[name] = _offset_shares(columns["frame"], ~reviewed, videos)
  return out


def _offset_shares(
  frame: np.ndarray, left_out: np.ndarray, videos: np.ndarray
) -> dict[int, tuple[intervals.Rate, int]]:
  at = {o: frame == o for o in _OFFSETS if (frame == o).any()}
  totals = [
    resampling.Totals.from_values(left_out[here], videos[here])
    for here in at.values()
  ]
  shares = rates.shares(totals)
  return {
    o: (rate, int(here.sum())) for (o, here), rate in zip(at.items(), shares)
  }
