"""How every figure looks, and how it is saved: the same bytes in every run."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from etils import epath

from robust_tfds import conditions
from robust_tfds.eval.cells import table

if TYPE_CHECKING:
  from matplotlib.axes import Axes
  from matplotlib.figure import Figure

# Okabe and Ito's colours, distinguishable with colour-blind eyes.
COLOURS = (
  "#0072B2",
  "#D55E00",
  "#009E73",
  "#CC79A7",
  "#E69F00",
  "#56B4E9",
  "#000000",
  "#999933",
)
MARKERS = "os^Dv<>P"
HATCHES = ("", "//", "..", "xx", "\\\\", "oo", "++", "--")
_LETTERS_AN_INCH = 20  # of the text below a figure
_STYLE: dict[Any, Any] = {
  "font.size": 9,
  "axes.titlesize": 9,
  "axes.spines.top": False,
  "axes.spines.right": False,
  "axes.grid": True,
  "axes.axisbelow": True,
  "grid.color": "#dddddd",
  "grid.linewidth": 0.5,
  "legend.frameon": False,
  "svg.hashsalt": "robust_tfds",
  "text.parse_math": False,  # a label may hold a dollar
}


def figure(width_in: float, height_in: float) -> Figure:
  """An empty figure on the Agg canvas; no global state."""
  from matplotlib.backends.backend_agg import FigureCanvasAgg
  from matplotlib.figure import Figure

  with matplotlib.rc_context(_STYLE):
    fig = Figure(figsize=(width_in, height_in), layout="constrained")
  FigureCanvasAgg(fig)
  return fig


def axes(fig: Figure, rows: int, columns: int, **options: Any) -> np.ndarray:
  """A grid of axes: `[rows, columns]`."""
  with matplotlib.rc_context(_STYLE):
    return fig.subplots(rows, columns, squeeze=False, **options)


def save(
  fig: Figure, folder: epath.Path, stem: str, provenance: Sequence[str]
) -> list[epath.Path]:
  """Writes PNG and SVG with the provenance under the figure."""
  from matplotlib.text import Text

  foot(fig, provenance)
  png, svg = folder / f"{stem}.png", folder / f"{stem}.svg"
  for text in fig.findobj(Text):  # labels drawn outside `_STYLE`
    text.set_parse_math(False)
  for legend in [*fig.legends, *(ax.get_legend() for ax in fig.axes)]:
    if legend:  # drawn outside `_STYLE`
      legend.set_frame_on(False)
  with matplotlib.rc_context(_STYLE):
    _draw(fig, png, dpi=150, metadata={"Software": None})
    _draw(fig, svg, metadata={"Date": None, "Creator": None})
  return [png, svg]


def foot(fig: Figure, provenance: Sequence[str]) -> None:
  """Writes the provenance under the figure; `save` does, too.

  Before it what stands at places of the paper is not where it will be.
  """
  words = textwrap.fill(
    "; ".join(filter(None, provenance)),
    int(fig.get_figwidth() * _LETTERS_AN_INCH),
  )
  fig.supxlabel(words, fontsize=6, color="#666666", x=0.01, ha="left")


def _draw(fig: Figure, path: epath.Path, **options: Any) -> None:
  out = io.BytesIO()
  fig.savefig(out, format=path.suffix[1:], **options)
  path.write_bytes(out.getvalue())


def colour(index: int) -> str:
  """The colour of the model at a position of the table."""
  return COLOURS[index % len(COLOURS)]


def marker(index: int) -> str:
  """The marker of the model at a position of the table."""
  return MARKERS[index % len(MARKERS)]


def hatch(index: int) -> str:
  """The hatching of the bars of the model at a position of the table."""
  return HATCHES[index % len(HATCHES)]


def words(name: str) -> str:
  """A name of a table as words."""
  return name.replace("_", " ")


def bare(ax: Axes) -> None:
  """Axes of a picture: no ticks, no grid."""
  ax.set_xticks([])
  ax.set_yticks([])
  ax.grid(False)


def legend_above(
  fig: Figure, ax: Axes, columns: int = 6, title: str = ""
) -> None:
  """The legend of one panel above all of them, at most some entries a line.

  A title of the whole figure stands over it.
  """
  handles, labels = ax.get_legend_handles_labels()
  ncols = min(len(labels), columns)
  fig.legend(
    handles,
    labels,
    loc="outside upper center",
    ncols=ncols,
    fontsize=8,
    title=title or None,
    title_fontsize=10,
  )


def curve(ax: Axes, rows: Sequence[table.Row], index: int, label: str) -> None:
  """Rates in % against severity, with the band of their intervals.

  Args:
    ax: matplotlib's.
    rows: of the table; `severity`, `lo` and `hi` are there.
    index: of the model: its colour and marker.
    label: its name.
  """
  rows = sorted(rows, key=lambda r: r.severity or 0)
  band(ax, [r.severity or 0 for r in rows], rows, index, label)
  severities = conditions.SEVERITIES
  ax.set_xticks([0, *severities], ["clean", *map(str, severities)])


def band(
  ax: Axes,
  x: Sequence[float],
  rows: Sequence[table.Row],
  index: int,
  label: str,
) -> None:
  """A line of rates in % with markers, and the band of their intervals.

  Args:
    ax: matplotlib's.
    x: a position a row.
    rows: of the table.
    index: of the model: its colour and marker.
    label: its name.
  """
  ax.plot(
    x,
    [100 * r.value for r in rows],
    color=colour(index),
    marker=marker(index),
    markersize=3,
    linewidth=1.2,
    label=label,
  )
  ax.fill_between(
    x,
    [100 * (r.value if r.lo is None else r.lo) for r in rows],
    [100 * (r.value if r.hi is None else r.hi) for r in rows],
    color=colour(index),
    alpha=0.15,
    linewidth=0,
  )


def whiskers(row: table.Row) -> list[list[float]] | None:
  """The ends of a row's interval, in % from its value; None without one."""
  if row.lo is None or row.hi is None:
    return None
  return [
    [100 * max(0.0, row.value - row.lo)],
    [100 * max(0.0, row.hi - row.value)],
  ]


def bar_positions(count: int, index: int, models: int) -> np.ndarray:
  """Where a model's bars stand among `models` bars at each of 0 .. count - 1."""
  return np.arange(count) + (index - (models - 1) / 2) * bar_width(models)


def bar_width(models: int) -> float:
  """How wide one of `models` bars beside each other is."""
  return 0.8 / models


def mark_extra(ax: Axes, common: int, extra: int, **line: Any) -> None:
  """A vertical line between common corruptions and the extra ones after them.

  Args:
    ax: matplotlib's, one position a corruption.
    common: how many there are.
    extra: how many there are; without either there is no line.
    **line: how it looks.
  """
  if common and extra:
    ax.axvline(common - 0.5, **line)


def head_groups(ax: Axes, groups: Sequence[str]) -> None:
  """A line between groups of bars' groups, and each one's name above them."""
  starts = [
    i for i in range(len(groups)) if not i or groups[i] != groups[i - 1]
  ]
  for start, end in zip(starts, [*starts[1:], len(groups)]):
    if start:
      ax.axvline(start - 0.5, color="#999999", linewidth=0.8)
    ax.text(
      (start + end - 1) / 2,
      1.01,
      groups[start],
      transform=ax.get_xaxis_transform(),
      ha="center",
      fontsize=7,
      color="#444444",
    )
