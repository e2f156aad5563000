"""Table 5: boxes of networks with deformable convolutions."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table5(printed_table.PrintedTable):
  """A line a network and data set."""

  title = "Table 5: boxes of networks with deformable convolutions"
  of = ("michaelis2019", "table5")
  tasks = ("detection",)
