"""What a figure writes into its CSV, nothing saved."""

from typing import Any

from eval.report import figures
from eval.report.figures import base


def of(name: str, asked: base.Request | None = None) -> list[dict[str, Any]]:
  """A figure's lines of the CSVs by heading: with printed numbers, then apart."""
  (figure,) = figures.select(name)
  parts = figure.parts(asked or base.Request())
  sheets = [part.drawn(request).numbers for part, request in parts]
  return [dict(zip(s.headings, cells)) for s in sheets for cells in s.lines]
