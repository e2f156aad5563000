"""The looks of every figure, and how it is saved: the same bytes in every run."""

from __future__ import annotations

import dataclasses
import io
import math
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import matplotlib
import numpy as np
from etils import epath

from robust_tfds.charts import svg as svg_lib

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
DPI = 150  # resolution of PNGs
_LETTERS_AN_INCH = 20  # in the text below a figure
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
  "text.parse_math": False,  # a label may hold a dollar
  "image.composite_image": False,  # in an SVG each is as it was given
}


class Ranged(Protocol):
  """A number with its 95 % interval: a row of the table, a number of a board."""

  @property
  def value(self) -> float | None:
    """The number; may be missing."""

  @property
  def lo(self) -> float | None:
    """The lower end; None without an interval."""

  @property
  def hi(self) -> float | None:
    """The upper end."""


@dataclasses.dataclass(frozen=True)
class Value:
  """A number in the unit of an axis.

  Attributes:
    value: may be nan.
    lo: lower end of its interval; None: no interval.
    hi: upper end.
  """

  value: float
  lo: float | None = None
  hi: float | None = None


def scaled(number: Ranged, factor: float = 100, offset: float = 0) -> Value:
  """Return a number with its interval in another unit, by default in %.

  Args:
    number: e.g. a fraction.
    factor: a negative factor swaps the interval's ends.
    offset: is added after scaling.
  """

  def turn(value: float | None) -> float | None:
    return None if value is None else offset + factor * value

  ends = turn(number.lo), turn(number.hi)
  value = turn(number.value)
  lo, hi = ends if factor > 0 else ends[::-1]
  return Value(math.nan if value is None else value, lo, hi)


def whiskers(values: Sequence[Value]) -> np.ndarray | None:
  """Return the distances to the intervals' ends, `[2, N]`; None without any.

  They are 0 for values without an interval.
  """
  if all(v.lo is None and v.hi is None for v in values):
    return None
  lo = [v.value if v.lo is None else v.lo for v in values]
  hi = [v.value if v.hi is None else v.hi for v in values]
  middle = np.array([v.value for v in values])
  return np.maximum([middle - lo, hi - middle], 0)


def context() -> AbstractContextManager[None]:
  """Return a context in which matplotlib draws in the style of all charts."""
  return matplotlib.rc_context(_STYLE)


def figure(width_in: float, height_in: float) -> Figure:
  """Return an empty figure on the Agg canvas, without global state."""
  from matplotlib.backends.backend_agg import FigureCanvasAgg
  from matplotlib.figure import Figure

  with context():
    fig = Figure(figsize=(width_in, height_in), layout="constrained")
  FigureCanvasAgg(fig)
  return fig


def axes(fig: Figure, rows: int, columns: int, **options: Any) -> np.ndarray:
  """Add a grid of axes: `[rows, columns]`."""
  with context():
    return fig.subplots(rows, columns, squeeze=False, **options)


def save(
  fig: Figure, folder: epath.Path, stem: str, provenance: Sequence[str]
) -> list[epath.Path]:
  """Write PNG and SVG with the provenance under the figure."""
  foot(fig, provenance)
  png, svg = folder / f"{stem}.png", folder / f"{stem}.svg"
  _restyle(fig)
  with context():
    fig.set_dpi(DPI)
    if engine := fig.get_layout_engine():
      engine.execute(fig)  # once, not by drawing each file twice
      fig.set_layout_engine(None)
    out = io.BytesIO()
    fig.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
    png.write_bytes(out.getvalue())
    svg.write_text(svg_lib.text(fig, stem), "utf-8")
  return [png, svg]


def svg_text(fig: Figure, name: str) -> str:
  """Return a figure as SVG for a page; its ids begin with a hash of `name`."""
  with context():
    return svg_lib.text(fig, name)


def _restyle(fig: Figure) -> None:
  """Give the style to texts and legends that were drawn outside of it."""
  from matplotlib.text import Text

  for text in fig.findobj(Text):
    text.set_parse_math(False)
  for legend in [*fig.legends, *(ax.get_legend() for ax in fig.axes)]:
    if legend:
      legend.set_frame_on(False)


def head(fig: Figure, title: str) -> None:
  """Write a title over the whole figure."""
  words = textwrap.fill(title, int(fig.get_figwidth() * _LETTERS_AN_INCH / 2))
  for legend in fig.legends:  # it stands above the panels too
    legend.set_title(words)
    legend.get_title().set_fontsize(9)
    return
  fig.suptitle(words, fontsize=9, x=0.01, ha="left")


def foot(fig: Figure, provenance: Sequence[str]) -> None:
  """Write the provenance under the figure, as `save` does.

  Needed before anything is placed in pixels, because it moves the axes.
  """
  words = textwrap.fill(
    "; ".join(filter(None, provenance)),
    int(fig.get_figwidth() * _LETTERS_AN_INCH),
  )
  fig.supxlabel(words, fontsize=6, color="#666666", x=0.01, ha="left")


def colour(index: int) -> str:
  """Return the colour of the model at a position of the table."""
  return COLOURS[index % len(COLOURS)]


def marker(index: int) -> str:
  """Return the marker of the model at a position of the table."""
  return MARKERS[index % len(MARKERS)]


def hatch(index: int) -> str:
  """Return the hatching of the model at a position of the table."""
  return HATCHES[index % len(HATCHES)]


def bare(ax: Axes) -> None:
  """Remove ticks and grid, as for a picture."""
  ax.set_xticks([])
  ax.set_yticks([])
  ax.grid(False)


def legend_above(
  fig: Figure, ax: Axes, columns: int = 6, title: str = ""
) -> None:
  """Write the legend of one panel above all panels, `columns` entries a line.

  The title of the whole figure is above it.
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
