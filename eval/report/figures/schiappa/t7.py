"""Table 7: every perturbation of HMDB51-P."""

from robust_tfds.eval.report.figures.parts import perturbation_table


class Table7(perturbation_table.PerturbationTable):
  """A line a perturbation and group."""

  title = "Table 7: robustness on HMDB51-P by perturbation"
  dataset = "hmdb51_p"
