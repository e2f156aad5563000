"""Figure 17: accuracy against severity on HMDB51-P."""

from robust_tfds.eval.report.figures.parts import severity_curves


class Figure17(severity_curves.SeverityCurves):
  """A panel a perturbation."""

  title = "Figure 17: accuracy against severity on HMDB51-P"
  dataset = "hmdb51_p"
