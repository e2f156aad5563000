"""Performance under corruption over clean performance, on logit axes."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

import numpy as np

from eval import papers
from eval.charts import scatter
from eval.compare.boards import effective
from eval.metrics.trend import inverse_logit, logit
from eval.papers import testbed_kinds
from eval.report.figures import base
from eval.report.figures.parts import own, sheet
from robust_tfds import errors
from robust_tfds.charts import style
from robust_tfds.charts.frame import INSIDE, Frame

# Data sets with printed networks, drawn without a run.
_SETS = (
  *(("frames", "imagenet_vid_robust"), ("frames", "ytbb_robust")),
  *(("classification", "imagenet_c"), ("sequences", "imagenet_p")),
  *(("detection", "coco_c"), ("detection", "pascal_c")),
  *(("detection", "cityscapes_c"), ("video", "kinetics400_p")),
  *(("video", "ssv2_p"), ("video", "ucf101_p"), ("video", "hmdb51_p")),
)
# Ticks in %, the roundest first: of two close ones the rounder one is shown.
_TICKS = (
  *(50, 20, 80, 10, 90, 5, 95, 30, 70, 40, 60, 2, 98, 1, 99, 25, 75),
  *(i for i in range(3, 98)),
  *(0.5, 99.5),
)
_CLOSE = 0.09  # of an axis
_COLUMNS = (
  *("task", "dataset", "model", sheet.Column("x"), sheet.Column("y")),
  *(sheet.Column("line at x"), sheet.Column("line lo")),
  *(sheet.Column("line hi"), sheet.Column("effective robustness")),
  *("reference", "kind", "fitted", "source"),
)
_PANELS = 3  # in a row


_WORDS = {
  effective.STANDARD: "standard models",
  effective.TESTBED: "all of the testbed",
  effective.PRINTED: "printed networks",
}
_IMPLIED = {"video": ", implied of printed networks"}


@dataclasses.dataclass(frozen=True)
class _Panel:
  task: str
  dataset: str
  line: effective.Reference
  models: Mapping[str, tuple[float, float]]
  sources: Mapping[str, str]

  @property
  def unfitted(self) -> effective.Points:
    """The testbed's models to which its line is not fitted."""
    if self.line.name != effective.STANDARD:
      return {}
    testbed = papers.testbed(self.dataset)
    return {n: p for n, p in testbed.items() if n not in self.line.points}


class EffectiveRobustness(base.PaperFigure):
  """A panel per data set: the reference, its line and band, the runs' models.

  Panels without runs come first.
  """

  def drawn(self, request: base.Request) -> base.Drawn:
    panels, absent = self._panels(request)
    if not panels:
      raise errors.UserError(f"{self.name}: {' '.join(absent)}")
    columns = min(len(panels), _PANELS)
    frame = Frame(
      max(6.0, 4.3 * columns),
      4.2 * -(-len(panels) // columns),
      columns,
      legend=INSIDE,
      share="",
    )
    fig = scatter.draw(list(map(_drawn, panels)), frame)
    for ax in fig.axes[: len(panels)]:
      _ticks(ax)
    foot = [
      "band: 95 % of the line itself over models as if independent, though many"
      " are of one family (Student's t on the logits); none of fewer than"
      f" {effective.FEWEST_OF_BAND} models",
      *(f"{p.dataset}: {p.line.described}" for p in panels),
      *absent,
    ]
    lines = [line for panel in panels for line in _lines(panel)]
    return base.Drawn(fig, foot, sheet.Sheet(_COLUMNS, lines))

  def _panels(self, request: base.Request) -> tuple[list[_Panel], list[str]]:
    """Return the panels, and sentences on those that cannot be drawn."""
    panels, absent = [], []
    boards = self.boards(request)
    for board in boards:
      try:
        line = effective.reference(board, request.reference)
      except errors.UserError as e:
        absent.append(str(e))
        continue
      models = {m.label: m for m in own.from_boards([board])}
      points = {
        label: effective.entry_point(board, m.entry)
        for label, m in models.items()
      }
      known = {label: p for label, p in points.items() if p}
      sources = {label: m.source for label, m in models.items()}
      panels.append(_Panel(board.task, board.dataset, line, known, sources))
    printed, lacking = _printed(request.reference)
    if boards and not panels:
      return [], absent
    shown = {(p.task, p.dataset, p.line.name) for p in panels}
    alone = [
      p for p in printed if (p.task, p.dataset, p.line.name) not in shown
    ]
    return [*alone, *panels], absent if boards or printed else lacking


def _printed(name: str) -> tuple[list[_Panel], list[str]]:
  """Return panels without runs, and sentences on data sets without one.

  Args:
    name: name of the reference; empty: the figure chooses.
  """
  panels, absent = [], []
  for task, dataset in _SETS:
    try:
      line = effective.fitted(task, dataset, name)
    except errors.UserError as e:
      absent.append(str(e))
      continue
    panels.append(_Panel(task, dataset, line, {}, {}))
  return panels, absent


def _drawn(panel: _Panel) -> scatter.Panel:
  """Return a panel in logits: reference, line, band and the runs' models."""
  axes, line = effective.AXES[panel.task], panel.line
  printed = line.name != effective.RUNS
  known = {label: p for label, p in panel.models.items() if 0 < p[0] < 1}
  unfitted = panel.unfitted
  shown = [*line.points.values(), *unfitted.values(), *known.values()]
  x, y = (_inside(np.array(values)) for values in zip(*shown))
  ends = np.linspace(x.min() - 0.3, x.max() + 0.3, 80)
  at = inverse_logit(ends)
  lines = [
    scatter.Line(
      *(ends, logit(line.line.predict(at)), "", {"color": "#444444"}),
      band=[logit(e) for e in line.line.band(at)] if line.banded else (),
    ),
    scatter.Line(
      *(ends, ends, "y = x", {"color": "#999999", "linestyle": ":"})
    ),
  ]
  points = [
    *_dots(unfitted.values(), "of the testbed, not in the fit", "#bbbbbb"),
    *(_dots(line.points.values(), _WORDS[line.name]) if printed else ()),
  ]
  for i, (label, (a, b)) in enumerate(known.items()):
    above = round(100 * float(b - line.line.predict(a)), 1) + 0.0
    words = f"{label}: {above:+.1f} points"
    points.append(scatter.Point(_logit(a), _logit(b), i, words, area=36))
  heights = min(y.min(), ends[0]) - 0.2, max(y.max(), x.max()) + 0.3
  return scatter.Panel(
    points,
    lines,
    title=panel.dataset,
    x=f"{axes.x}{_IMPLIED.get(panel.task, '') if printed else ''} (%, logit axis)",
    y=f"{axes.y} (%, logit axis)",
    ends=((ends[0], ends[-1]), heights),
  )


def _dots(
  places: Collection[tuple[float, float]], words: str, colour: str = "#444444"
) -> list[scatter.Point]:
  """Return small points of one kind, with their number in the legend."""
  looks = {"color": colour, "marker": "o", "alpha": 0.7, "linewidth": 0}
  label, area = f"{words} ({len(places)})", 10 if len(places) > 50 else 22
  return [
    scatter.Point(_logit(x), _logit(y), label=label, area=area, looks=looks)
    for x, y in places
  ]


def _logit(share: float) -> style.Value:
  return style.Value(float(_inside(np.array(share))))


def _inside(values: np.ndarray) -> np.ndarray:
  """Return logits, clipped to those of 0.1 and 99.9 %."""
  return logit(np.clip(values, 0.001, 0.999))


def _ticks(ax: style.Axes) -> None:
  """Set ticks in % at places of the logits."""
  for axis, (lo, hi) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
    at: dict[float, str] = {}
    for tick in _TICKS:
      place = float(logit(tick / 100))
      near = min((abs(place - p) for p in at), default=np.inf)
      if lo < place < hi and near >= _CLOSE * (hi - lo):
        at[place] = f"{tick:g}"
    axis.set_ticks(list(at), list(at.values()), fontsize=7)


def _lines(panel: _Panel) -> list[list[sheet.Cell]]:
  """Return a line per model: the reference's, then the testbed's, then runs'."""
  line, kinds = panel.line, testbed_kinds.kinds()
  doubtful = (
    effective.doubtful(panel.task, panel.dataset)
    if line.name == effective.PRINTED
    else frozenset()
  )
  printed = {**line.points, **panel.unfitted}
  if line.name == effective.RUNS:
    printed = {}
  rows: list[list[sheet.Cell]] = []
  for label, (x, y) in [*printed.items(), *panel.models.items()]:
    at = float(line.line.predict(x))
    ends = [float(e) for e in line.line.band(x)] if line.banded else [None] * 2
    fitted = "yes" if label in line.points else "no"
    is_own_run = label not in printed
    kind = [
      line.name,
      "own run" if is_own_run else kinds.get(label, ""),
      fitted,
    ]
    source = panel.sources[label] if is_own_run else line.words
    texts = [panel.task, panel.dataset, label]
    shown = float if is_own_run or label not in doubtful else sheet.Marked
    rows.append(
      [*texts, shown(x), shown(y), at, *ends, shown(y - at), *kind, source]
    )
  return rows
