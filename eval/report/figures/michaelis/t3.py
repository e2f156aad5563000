"""Table 3: masks: P, mPC and rPC of instance segmenters."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table3(printed_table.PrintedTable):
  """A line a network and data set."""

  title = "Table 3: masks: P, mPC and rPC of instance segmenters"
  of = ("michaelis2019", "table3")
  tasks = ("detection",)
