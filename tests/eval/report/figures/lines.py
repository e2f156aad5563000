"""What a figure writes into its CSV, nothing saved."""

from __future__ import annotations

from typing import Any

from robust_tfds.eval.report import figures
from robust_tfds.eval.report.figures import base


def of(name: str, asked: base.Request | None = None) -> list[dict[str, Any]]:
  """A figure's lines of the CSV by heading."""
  (figure,) = figures.select(name)
  numbers = figure.drawn(asked or base.Request()).numbers
  return [dict(zip(numbers.headings, cells)) for cells in numbers.lines]
