"""Table 11: how detectors were fine-tuned."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table11(printed_table.PrintedTable):
  """Learning rates, batch sizes, iterations."""

  title = "Table 11: how detectors were fine-tuned"
  of = ("shankar2021", "table11")
