"""Reliability diagrams of every model, clean and at every severity."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import reliability_diagrams
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base


class Reliability(base.Report):
  """Accuracy against the top score."""

  pictures = (("reliability.png", "Reliability of the top score"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes reliability.png and .svg; nothing where no scores are known."""
    return reliability_diagrams.write(context, folder)
