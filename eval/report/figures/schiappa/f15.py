"""Figure 15: accuracy against severity on SSv2-P."""

from robust_tfds.eval.report.figures.parts import severity_curves


class Figure15(severity_curves.SeverityCurves):
  """A panel a perturbation."""

  title = "Figure 15: accuracy against severity on SSv2-P"
  dataset = "ssv2_p"
