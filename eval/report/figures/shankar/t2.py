"""Table 2: accuracy by kind of model."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table2(printed_table.PrintedTable):
  """Seven printed kinds, own models below."""

  title = "Table 2: accuracy by kind of training"
  of = ("shankar2021", "table2")
  tasks = ("frames",)
