"""mIoU of every cell with its interval, as Markdown."""

from eval.report.reports.classification import cells


class Cells(cells.Cells):
  """mIoU: a line per corruption, a column per severity."""

  metric, title = "miou", "mIoU"
