"""Section 5.1: how often ResNet-18 changes its mind under scaling."""

from robust_tfds.eval.report.figures.parts import printed_table


class Section51(printed_table.PrintedTable):
  """Flip probability and unnormalised top-5 distance."""

  title = "Section 5.1: ResNet-18 under scaling"
  of = ("hendrycks2019", "section5_1")
