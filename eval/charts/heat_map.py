"""Heat maps: numbers as colours, with the numbers where there is room."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from robust_tfds.charts import style

_DARK = 0.55  # of the scale: below it numbers are white
_LETTERS_AN_INCH = 13  # of a title
_NAMES_IN = 1.0  # left of the map


@dataclasses.dataclass(frozen=True)
class Map:
  """A map.

  Attributes:
    values: float `[rows, columns]`, nan where there is none.
    title: over it.
    rows: names of the rows; empty: numbers.
    columns: names of the columns; empty: numbers.
    y: words left of it.
    x: words below it.
    divide: how many columns there are before a white line; 0: no line.
  """

  values: np.ndarray
  title: str
  rows: Sequence[str] = ()
  columns: Sequence[str] = ()
  y: str = ""
  x: str = ""
  divide: int = 0


def draw(
  grid: Sequence[Sequence[Map]],
  size: tuple[float, float],
  unit: str,
  *,
  most: float,
  digits: int | None = None,
  **looks: Any,
) -> style.Figure:
  """A figure of lines of maps with one scale from 0.

  Args:
    grid: a line of maps each.
    size: width and height in inches.
    unit: words at the scale.
    most: the end of the scale.
    digits: of the numbers in the cells; None: no numbers.
    **looks: of matplotlib's `imshow`: `cmap`, `aspect`.
  """
  columns = max(map(len, grid))
  fig = style.figure(*size)
  axes = style.axes(fig, len(grid), columns)
  for ax in axes.flat:
    ax.set_visible(False)
  for line, maps in zip(axes, grid):
    for ax, one in zip(line, maps):
      image = ax.imshow(
        one.values, vmin=0, vmax=most, interpolation="nearest", **looks
      )
      _around(ax, one, size[0] / columns)
      if digits is not None:
        _print(ax, one.values, digits, most)
  shrink = 1.0 if axes.size == 1 else 0.6
  fig.colorbar(image, ax=list(axes.flat), shrink=shrink, label=unit)
  return fig


def _around(ax: style.Axes, one: Map, width_in: float) -> None:
  """Title, names and words; the smaller, the more there are."""
  letters = max(int((width_in - _NAMES_IN) * _LETTERS_AN_INCH), 16)
  ax.set_visible(True)
  ax.grid(False)
  ax.set_title(textwrap.fill(one.title, letters), loc="left", fontsize=8)
  ax.tick_params(labelsize=7)
  ax.set_xlabel(one.x, fontsize=7)
  ax.set_ylabel(one.y, fontsize=7)
  if one.columns:
    looks: Any = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(one.columns)), one.columns, **looks)
  if one.rows:
    ax.set_yticks(range(len(one.rows)), one.rows)
  if 0 < one.divide < one.values.shape[1]:
    ax.axvline(one.divide - 0.5, color="white", linewidth=3)


def _print(
  ax: style.Axes, values: np.ndarray, digits: int, most: float
) -> None:
  """Every number, dark on light cells and light on dark ones."""
  for (i, j), value in np.ndenumerate(values):
    if not np.isnan(value):
      ax.text(
        j,
        i,
        f"{value:.{digits}f}",
        ha="center",
        va="center",
        fontsize=7,
        color="black" if value > _DARK * most else "white",
      )
