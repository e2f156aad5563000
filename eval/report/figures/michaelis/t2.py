"""Table 2: Faster R-CNN trained on standard, stylized and both data."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table2(printed_table.PrintedTable):
  """A line a network and data set."""

  title = "Table 2: Faster R-CNN trained on standard, stylized and both data"
  of = ("michaelis2019", "table2")
  tasks = ("detection",)
