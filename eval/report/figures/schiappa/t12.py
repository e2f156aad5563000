"""The numbers of Figure 12, as a table."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table12(printed_table.PrintedTable):
  """gamma_r of four networks by what they were trained on."""

  title = "Figure 12 as a table: training on perturbed data, on UCF101-DS"
  of = ("schiappa2023", "figure12")
