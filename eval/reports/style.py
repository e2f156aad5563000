"""How every figure looks, and how it is saved: the same bytes in every run."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

import matplotlib

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
}


def figure(width_in: float, height_in: float) -> Any:
  """An empty figure on the Agg canvas; no global state."""
  from matplotlib.backends.backend_agg import FigureCanvasAgg
  from matplotlib.figure import Figure

  with matplotlib.rc_context(_STYLE):
    fig = Figure(figsize=(width_in, height_in), layout="constrained")
  FigureCanvasAgg(fig)
  return fig


def axes(fig: Any, rows: int, columns: int, **options: Any) -> Any:
  """A grid of axes, always a 2-D array."""
  with matplotlib.rc_context(_STYLE):
    return fig.subplots(rows, columns, squeeze=False, **options)


def curve(ax: Any, rows: Sequence[Any], index: int, label: str) -> None:
  """Rates in % against severity, with the band of their intervals.

  Args:
    ax: matplotlib's.
    rows: of the table; `lo` and `hi` are there.
    index: of the model: its colour and marker.
    label: its name.
  """
  rows = sorted(rows, key=lambda r: r.severity)
  x = [r.severity for r in rows]
  colour = COLOURS[index % len(COLOURS)]
  ax.plot(
    x,
    [100 * r.value for r in rows],
    color=colour,
    marker=MARKERS[index % len(MARKERS)],
    markersize=3,
    linewidth=1.2,
    label=label,
  )
  ax.fill_between(
    x,
    [100 * r.lo for r in rows],
    [100 * r.hi for r in rows],
    color=colour,
    alpha=0.15,
    linewidth=0,
  )
  ax.set_xticks(range(6), ["clean", *"12345"])


def save(
  fig: Any, folder: pathlib.Path, stem: str, provenance: Sequence[str]
) -> list[pathlib.Path]:
  """Writes PNG and SVG with the provenance under the figure."""
  fig.supxlabel(
    "; ".join(provenance), fontsize=6, color="#666666", x=0.01, ha="left"
  )
  png, svg = folder / f"{stem}.png", folder / f"{stem}.svg"
  for legend in [*fig.legends, *(ax.get_legend() for ax in fig.axes)]:
    if legend:  # drawn outside `_STYLE`
      legend.set_frame_on(False)
  with matplotlib.rc_context(_STYLE):
    fig.savefig(png, dpi=150, metadata={"Software": None})
    fig.savefig(svg, metadata={"Date": None, "Creator": None})
  return [png, svg]
