"""Figure 14: accuracy against severity on Kinetics400-P."""

from robust_tfds.eval.report.figures.parts import severity_curves


class Figure14(severity_curves.SeverityCurves):
  """A panel a perturbation."""

  title = "Figure 14: accuracy against severity on Kinetics400-P"
  dataset = "kinetics400_p"
