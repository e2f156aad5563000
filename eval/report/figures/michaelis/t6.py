"""Table 6: masks of networks with deformable convolutions."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table6(printed_table.PrintedTable):
  """A line a network and data set."""

  title = "Table 6: masks of networks with deformable convolutions"
  of = ("michaelis2019", "table6")
  tasks = ("detection",)
