"""Table 5: every model on ImageNet-Vid-Robust."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table5(printed_table.PrintedTable):
  """The 45 printed models and own ones."""

  title = "Table 5: accuracy on ImageNet-Vid-Robust"
  of = ("shankar2021", "table5")
  tasks = ("frames",)
  best_first = "acc_orig"
