"""Table 4: masks of Mask R-CNN trained on standard, stylized and both data."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table4(printed_table.PrintedTable):
  """A line a network and data set."""

  title = (
    "Table 4: masks of Mask R-CNN trained on standard, stylized and both data"
  )
  of = ("michaelis2019", "table4")
  tasks = ("detection",)
