"""Table 10: how classifiers were fine-tuned."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table10(printed_table.PrintedTable):
  """Learning rates, batch sizes, epochs."""

  title = "Table 10: how classifiers were fine-tuned"
  of = ("shankar2021", "table10")
