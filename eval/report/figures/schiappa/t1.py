"""Table 1: the networks."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table1(printed_table.PrintedTable):
  """Parameters, multiply-adds, frames."""

  title = "Table 1: the networks"
  of = ("schiappa2023", "table1")
