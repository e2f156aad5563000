"""Table 2: robustness on Kinetics400-P by group."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table2(printed_table.PrintedTable):
  """A line a network."""

  title = "Table 2: robustness on Kinetics400-P by group"
  of = ("schiappa2023", "table2")
  tasks = ("video",)
