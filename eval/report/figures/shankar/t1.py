"""Table 1: how many frames were reviewed and accepted."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table1(printed_table.PrintedTable):
  """Counts of the review."""

  title = "Table 1: anchors and pairs that the review accepted"
  of = ("shankar2021", "table1")
