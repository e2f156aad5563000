"""Table 7: accuracy without anchors of a frame type."""

from robust_tfds.eval.report.figures.parts import own, printed_table


class Table7(printed_table.PrintedTable):
  """I, P and B frames of the codec."""

  title = "Table 7: accuracy without anchors of a frame type"
  of = ("shankar2021", "table7")
  tasks = ("frames",)

  def suffixes(self, model: own.Own) -> list[tuple[str, str]]:
    """All anchors, and without those of each type."""
    kinds = [(f"without {t}-frames", f"/without_frame_type={t}") for t in "IPB"]
    return [("all", ""), *kinds]
