"""Models x corruptions: mean error over the severities as colours and numbers."""

from __future__ import annotations

import math
import pathlib

import numpy as np

from eval import reports
from eval.reports import pivot
from eval.reports import style

TASKS = ("classification",)
PICTURES = (("heat_map.png", "Mean error by model and corruption"),)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes heat_map.png and .svg; nothing without corruptions."""
  names = [*pivot.common(context), *pivot.extra(context)]
  if not names:
    return []
  values = np.array(
    [
      [pivot.by_corruption(context, m, "mean_error", n) for n in names]
      for m in context.models
    ]
  )
  fig = style.figure(2.5 + 0.5 * len(names), 2.2 + 0.35 * len(context.models))
  ax = style.axes(fig, 1, 1)[0, 0]
  ax.grid(False)
  highest = float(np.nanmax(values))
  shown = ax.imshow(
    100 * values, cmap="cividis", vmin=0, vmax=100 * highest, aspect="auto"
  )
  ax.set_xticks(range(len(names)), [n.replace("_", " ") for n in names])
  ax.tick_params(axis="x", labelrotation=60)
  for label in ax.get_xticklabels():
    label.set_ha("right")
    label.set_rotation_mode("anchor")
  ax.set_yticks(range(len(context.models)), context.models)
  for i, j in np.ndindex(*values.shape):
    if not math.isnan(values[i, j]):
      ax.text(
        j,
        i,
        f"{100 * values[i, j]:.0f}",
        ha="center",
        va="center",
        fontsize=7,
        color="black" if values[i, j] > 0.55 * highest else "white",
      )
  border = len(pivot.common(context)) - 0.5
  if pivot.extra(context) and border > 0:
    ax.axvline(border, color="white", linewidth=3)
  ax.set_title(
    "Mean top-1 error over severities (%); extra ones on the right", fontsize=9
  )
  fig.colorbar(shown, ax=ax, label="%")
  return style.save(fig, folder, "heat_map", context.provenance)
