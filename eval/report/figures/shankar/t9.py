"""Table 9: training on the thirty classes alone."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table9(printed_table.PrintedTable):
  """Two printed models, own ones below."""

  title = "Table 9: a network of the thirty classes alone"
  of = ("shankar2021", "table9")
  tasks = ("frames",)
