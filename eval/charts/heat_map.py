"""Heat maps: numbers as colours, with the numbers where there is room."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from robust_tfds.charts import style

_DARK = 0.55  # below this share of the scale numbers are white
_LETTERS_AN_INCH = 13  # in a title
_NAMES_IN = 1.0  # width of the row names, in inches


@dataclasses.dataclass(frozen=True)
class Map:
  """A matrix of numbers with its labels.

  Attributes:
    values: float `[rows, columns]`; nan: an empty cell.
    title: above it.
    rows: names of the rows; empty: their indices.
    columns: names of the columns; empty: their indices.
    y: label of the rows.
    x: label of the columns.
  """

  values: np.ndarray
  title: str
  rows: Sequence[str] = ()
  columns: Sequence[str] = ()
  y: str = ""
  x: str = ""


def draw(
  grid: Sequence[Sequence[Map]],
  size: tuple[float, float],
  unit: str,
  *,
  most: float,
  digits: int | None = None,
  cmap: str | None = None,
) -> style.Figure:
  """Draw rows of maps that share one scale from 0.

  Args:
    grid: the maps of each row of the figure.
    size: width and height in inches.
    unit: label of the scale.
    most: the end of the scale.
    digits: digits of the numbers in the cells; None: no numbers.
    cmap: matplotlib's colour map.
  """
  columns = max(map(len, grid))
  fig = style.figure(*size)
  axes = style.axes(fig, len(grid), columns)
  for ax in axes.flat:
    ax.set_visible(False)
  for row, maps in zip(axes, grid):
    for ax, drawn in zip(row, maps):
      image = ax.imshow(
        drawn.values, vmin=0, vmax=most, interpolation="nearest", cmap=cmap
      )
      _label(ax, drawn, size[0] / columns)
      if digits is not None:
        _print(ax, drawn.values, digits, most)
  shrink = 1.0 if axes.size == 1 else 0.6
  fig.colorbar(image, ax=list(axes.flat), shrink=shrink, label=unit)
  return fig


def _label(ax: style.Axes, drawn: Map, width_in: float) -> None:
  letters = max(int((width_in - _NAMES_IN) * _LETTERS_AN_INCH), 16)
  ax.set_visible(True)
  ax.grid(False)
  ax.set_title(textwrap.fill(drawn.title, letters), loc="left", fontsize=8)
  ax.tick_params(labelsize=7)
  ax.set_xlabel(drawn.x, fontsize=7)
  ax.set_ylabel(drawn.y, fontsize=7)
  if drawn.columns:
    looks: Any = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(drawn.columns)), drawn.columns, **looks)
  if drawn.rows:
    ax.set_yticks(range(len(drawn.rows)), drawn.rows)


def _print(
  ax: style.Axes, values: np.ndarray, digits: int, most: float
) -> None:
  """Write every number, dark on light cells and light on dark ones."""
  for (i, j), value in np.ndenumerate(values):
    if not np.isnan(value):
      ink = "black" if value > _DARK * most else "white"
      place: Any = {"ha": "center", "va": "center", "fontsize": 7}
      ax.text(j, i, f"{value:.{digits}f}", color=ink, **place)
