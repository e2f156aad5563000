"""Models x corruptions: mean error over the severities as colours and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot


class HeatMap(base.Report):
  """A line a model, a column a corruption, the extra ones on the right."""

  pictures = (("heat_map.png", "Mean error by model and corruption"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes heat_map.png and .svg; nothing without a mean error."""
    names, models = pivot.names(context), context.models
    if not names:
      return []
    errors = np.array(
      [
        [pivot.by_corruption(context, m, "mean_error", n) for n in names]
        for m in models
      ]
    )
    if np.isnan(errors).all():  # no corruption has all its severities
      return []
    fig = style.figure(2.5 + 0.5 * len(names), 2.2 + 0.35 * len(models))
    ax = style.axes(fig, 1, 1)[0, 0]
    ax.grid(False)
    highest = float(np.nanmax(errors))
    image = ax.imshow(
      100 * errors, cmap="cividis", vmin=0, vmax=100 * highest, aspect="auto"
    )
    _name_axes(ax, names, models)
    _print(ax, errors, highest)
    common, others = len(context.common), len(context.extra + context.own)
    style.mark_extra(ax, common, others, color="white", linewidth=3)
    ax.set_title(
      "Mean top-1 error over severities (%); extra ones on the right",
      fontsize=9,
    )
    fig.colorbar(image, ax=ax, label="%")
    return style.save(fig, folder, "heat_map", context.provenance)


def _name_axes(
  ax: style.Axes, names: Sequence[str], models: Sequence[str]
) -> None:
  ax.set_xticks(range(len(names)), [style.words(n) for n in names])
  ax.tick_params(axis="x", labelrotation=60)
  for label in ax.get_xticklabels():
    label.set_horizontalalignment("right")
    label.set_rotation_mode("anchor")
  ax.set_yticks(range(len(models)), models)


def _print(ax: style.Axes, errors: np.ndarray, highest: float) -> None:
  """Every error in %, dark on light cells and light on dark ones."""
  for i, j in np.ndindex(*errors.shape):
    if not math.isnan(errors[i, j]):
      ax.text(
        j,
        i,
        f"{100 * errors[i, j]:.0f}",
        ha="center",
        va="center",
        fontsize=7,
        color="black" if errors[i, j] > 0.55 * highest else "white",
      )
