"""Table 6: every perturbation of UCF101-P."""

from robust_tfds.eval.report.figures.parts import perturbation_table


class Table6(perturbation_table.PerturbationTable):
  """A line a perturbation and group."""

  title = "Table 6: robustness on UCF101-P by perturbation"
  dataset = "ucf101_p"
