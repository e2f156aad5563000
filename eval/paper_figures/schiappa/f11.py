"""Figure 11: groups of perturbations against severity on UCF101-P."""

from robust_tfds.eval.paper_figures.parts import severity_groups


class Figure11(severity_groups.SeverityGroups):
  """A panel a group."""

  title = "Figure 11: robustness by group and severity on UCF101-P"
  dataset = "ucf101_p"
