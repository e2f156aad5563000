"""Table 3: robustness on SSv2-P by group."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table3(printed_table.PrintedTable):
  """A line a network."""

  title = "Table 3: robustness on SSv2-P by group"
  of = ("schiappa2023", "table3")
  tasks = ("video",)
