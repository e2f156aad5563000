"""Figure 5: groups of perturbations against severity on SSv2-P."""

from robust_tfds.eval.report.figures.parts import severity_groups


class Figure5(severity_groups.SeverityGroups):
  """A panel a group."""

  title = "Figure 5: robustness by group and severity on SSv2-P"
  dataset = "ssv2_p"
