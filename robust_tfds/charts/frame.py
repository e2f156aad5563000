"""`Frame`: size, labels, ticks and legend around the panels of every chart."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from robust_tfds import errors
from robust_tfds.charts import style

ABOVE, OVER, INSIDE = "above", "over", "inside"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Panel:
  """The labels of a panel.

  Attributes:
    title: above it.
    x: label of the x axis; empty: the frame's.
    y: label of the y axis; empty: the frame's.
  """

  title: str = ""
  x: str = ""
  y: str = ""


P = TypeVar("P", bound=Panel)


@dataclasses.dataclass(frozen=True)
class Frame:
  """Size, labels and legend of a figure of panels.

  Attributes:
    width: width of the figure, in inches.
    height: height of the figure, in inches.
    columns: panels in a row; 0: all of them.
    x: label of the x axes, only in the last row if they are shared.
    y: label of the y axes, only in the first column if they are shared.
    x_ends: ends of the x axis; None: from the data.
    y_ends: ends of the y axis; None, also for one end: from the data.
    x_ticks: positions and labels; None as labels: the positions.
    title: above all panels.
    legend: `above` all panels (the first panel's), `over` each, `inside` each, or
      empty: none.
    entries: number of the legend's entries in a line.
    share: which axes all panels share: `x`, `y`, both or none.
    margins: left, bottom, right and top of the panels, in inches; None: measured,
      which takes one more drawing.
  """

  width: float
  height: float
  columns: int = 0
  x: str = ""
  y: str = ""
  x_ends: tuple[float | None, float | None] | None = None
  y_ends: tuple[float | None, float | None] | None = None
  x_ticks: tuple[Sequence[float], Sequence[str] | None] | None = None
  title: str = ""
  legend: str = ""
  entries: int = 6
  share: str = "xy"
  margins: tuple[float, float, float, float] | None = None

  def draw(
    self, panels: Sequence[P], fill: Callable[[style.Axes, P], None]
  ) -> style.Figure:
    """Draw a figure of panels, row by row.

    Args:
      panels: with their data.
      fill: draws the data of a panel.
    """
    with style.context():
      fig, axes = self._panels(len(panels))
      for ax, panel in zip(axes, panels):
        self._set_ends(ax)  # first, which makes drawing faster
        fill(ax, panel)
        if panel.title:
          head(ax, panel.title)
        if panel.x:
          ax.set_xlabel(panel.x)
        if panel.y:
          ax.set_ylabel(panel.y)
      self._finish(fig, axes)
    return fig

  def _panels(self, count: int) -> tuple[style.Figure, list[style.Axes]]:
    """Return an empty figure with panels, row by row."""
    if not count:
      raise errors.UserError(
        "Nothing to draw: the runs have none of its numbers."
      )
    columns = min(self.columns or count, count)
    fig = style.figure(self.width, self.height)
    if self.margins:
      left, bottom, right, top = self.margins
      fig.set_layout_engine(None)
      fig.subplots_adjust(
        left=left / self.width,
        bottom=bottom / self.height,
        right=1 - right / self.width,
        top=1 - top / self.height,
      )
    grid = style.axes(
      fig,
      -(-count // columns),
      columns,
      sharex="x" in self.share,
      sharey="y" in self.share,
    )
    for ax in grid.flat[count:]:
      ax.set_visible(False)
    for ax in grid[-1] if "x" in self.share else grid.flat:
      ax.set_xlabel(self.x)
    for ax in grid[:, 0] if "y" in self.share else grid.flat:
      ax.set_ylabel(self.y)
    return fig, list(grid.flat[:count])

  def _finish(self, fig: style.Figure, axes: Sequence[style.Axes]) -> None:
    """Set ends, ticks and legend, after everything is drawn."""
    for ax in axes:
      if self.x_ticks:
        ax.set_xticks(*self.x_ticks)
      self._set_ends(ax)
      if self.legend == INSIDE and ax.get_legend_handles_labels()[1]:
        ax.legend(fontsize=7)
      if self.legend == OVER:
        place: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.05)}
        ax.legend(ncols=self.entries, **place)
    if self.legend == ABOVE:
      style.legend_above(fig, axes[0], columns=self.entries, title=self.title)

  def _set_ends(self, ax: style.Axes) -> None:
    if self.x_ends:
      ax.set_xlim(*self.x_ends)
    if self.y_ends:
      ax.set_ylim(*self.y_ends)


def head(ax: style.Axes, title: str, **looks: Any) -> None:
  """Write a panel's title, at its left."""
  ax.set_title(title, loc="left", **{"fontsize": 9, **looks})
