"""Section 5.2: what made networks more robust."""

from robust_tfds.eval.report.figures.parts import printed_table


class Section52(printed_table.PrintedTable):
  """CLAHE, multiscale and aggregating networks, Stylized ImageNet, ALP."""

  title = "Section 5.2: what made networks more robust"
  of = ("hendrycks2019", "section5_2")
  tasks = ("classification", "sequences")
