"""Table 1: P, mPC and rPC of object detectors."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table1(printed_table.PrintedTable):
  """A line a network and data set."""

  title = "Table 1: P, mPC and rPC of object detectors"
  of = ("michaelis2019", "table1")
  tasks = ("detection",)
