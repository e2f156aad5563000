"""Appendix D: AlexNet's mean error under every corruption."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import own, printed, sheet

_METRIC = "mean_error"
_COLUMNS: tuple[str | sheet.Column, ...] = (
  *("network", "corruption", sheet.Column("mean error")),
  *(sheet.Column("lo"), sheet.Column("hi"), "source"),
)


class AppendixD(base.PaperFigure):
  """What normalises CE, and the mean errors of runs."""

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the table and its CSV."""
    rows = printed.table("hendrycks2019", "appendix_d")
    lines: list[list[sheet.Cell]] = [
      [row.label, row.name, row.value, None, None, "printed"] for row in rows
    ]
    models = own.of(self.boards(request))
    for model in models:
      for row in rows:
        number = model.number(_METRIC, row.name)
        if number:
          ends = number.value, number.lo, number.hi
          lines.append([model.label, row.name, *ends, model.source])
    caption = f"In %. Source: {printed.source_of(rows)}."
    if models:
      caption += f" {own.remark(models, 'imagenet_c')}"
    table = sheet.Sheet(_COLUMNS, lines, caption)
    return table.write(folder, self.name, self.title)
