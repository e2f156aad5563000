"""Figure 11: groups of perturbations against severity on UCF101-P."""

from robust_tfds.eval.report.figures.parts import severity_groups


class Figure11(severity_groups.SeverityGroups):
  """A panel a group."""

  title = "Figure 11: robustness by group and severity on UCF101-P"
  dataset = "ucf101_p"
