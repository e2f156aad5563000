"""Figure 16: accuracy against severity on UCF101-P."""

from robust_tfds.eval.report.figures.parts import severity_curves


class Figure16(severity_curves.SeverityCurves):
  """A panel a perturbation."""

  title = "Figure 16: accuracy against severity on UCF101-P"
  dataset = "ucf101_p"
