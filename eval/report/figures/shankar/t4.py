"""Table 4: what the human review changes."""

from robust_tfds.eval.report.figures.parts import own, printed_table


class Table4(printed_table.PrintedTable):
  """All frames and reviewed ones."""

  title = "Table 4: accuracy before and after the review"
  of = ("shankar2021", "table4")
  tasks = ("frames",)

  def suffixes(self, model: own.Own) -> list[tuple[str, str]]:
    """Reviewed frames, and all, where the run has both (config `all`)."""
    return [("all", "/unreviewed"), ("reviewed", "")]
