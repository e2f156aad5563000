"""Bars in groups beside each other: colour and hatching tell series apart."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from robust_tfds.eval.report.charts import style


@dataclasses.dataclass(frozen=True)
class Series:
  """Bars of one colour.

  Attributes:
    label: in the legend.
    values: a height a group, nan where there is none.
    ends: (lo, hi) of each, or None.
  """

  label: str
  values: Sequence[float]
  ends: Sequence[tuple[float | None, float | None]] = ()


def draw(
  ax: style.Axes, groups: Sequence[str], series: Sequence[Series]
) -> None:
  """Draws the bars with their whiskers and the groups' names.

  Args:
    ax: matplotlib's.
    groups: names below the bars.
    series: of equal length, that of `groups`.
  """
  width = style.bar_width(len(series))
  for i, one in enumerate(series):
    heights = np.array(one.values, np.float64)
    ax.bar(
      style.bar_positions(len(groups), i, len(series)),
      heights,
      width,
      yerr=_whiskers(one) if one.ends else None,
      color=style.colour(i),
      hatch=style.hatch(i),
      edgecolor="white",
      linewidth=0.4,
      error_kw={"elinewidth": 0.8, "ecolor": "#444444"},
      label=one.label,
    )
  ax.axhline(0, color="#444444", linewidth=0.8)
  ax.set_xticks(range(len(groups)), groups)
  ax.set_xlim(-0.6, len(groups) - 0.4)
  ax.grid(False, axis="x")


def slant(ax: style.Axes) -> None:
  """Names below the bars slanted, where they are long."""
  for label in ax.get_xticklabels():
    label.set(rotation=40, ha="right", fontsize=7, rotation_mode="anchor")


def _whiskers(one: Series) -> np.ndarray:
  """Distances of the ends from the heights: `[2, groups]`, 0 without an end."""
  out = np.zeros((2, len(one.values)))
  for i, (value, (lo, hi)) in enumerate(zip(one.values, one.ends)):
    if not math.isnan(value):
      out[:, i] = (
        max(value - (value if lo is None else lo), 0.0),
        max((value if hi is None else hi) - value, 0.0),
      )
  return out
