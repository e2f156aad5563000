"""Figure 4: groups of perturbations against severity on Kinetics400-P."""

from robust_tfds.eval.report.figures.parts import severity_groups


class Figure4(severity_groups.SeverityGroups):
  """A panel a group."""

  title = "Figure 4: robustness by group and severity on Kinetics400-P"
  dataset = "kinetics400_p"
