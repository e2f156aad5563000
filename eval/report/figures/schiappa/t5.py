"""Table 5: every perturbation of SSv2-P."""

from robust_tfds.eval.report.figures.parts import perturbation_table


class Table5(perturbation_table.PerturbationTable):
  """A line a perturbation and group."""

  title = "Table 5: robustness on SSv2-P by perturbation"
  dataset = "ssv2_p"
