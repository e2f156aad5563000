"""Table 4: every perturbation of Kinetics400-P."""

from robust_tfds.eval.report.figures.parts import perturbation_table


class Table4(perturbation_table.PerturbationTable):
  """A line a perturbation and group."""

  title = "Table 4: robustness on Kinetics400-P by perturbation"
  dataset = "kinetics400_p"
