"""Table 6: every model on YTBB-Robust."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table6(printed_table.PrintedTable):
  """The 60 printed models and own ones."""

  title = "Table 6: accuracy on YTBB-Robust"
  of = ("shankar2021", "table6")
  tasks = ("frames",)
  best_first = "acc_orig"
