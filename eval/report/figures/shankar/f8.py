"""Figure 8: accuracy at exactly a distance, given a right anchor."""

from robust_tfds.eval.report.figures.parts import breakdown_lines


class Figure8(breakdown_lines.BreakdownLines):
  """The conditional accuracy of Gu et al. (Appendix E)."""

  title = "Figure 8: right at exactly this distance, given a right anchor"
  metric = "conditional"
  breakdown = "distance"
  axis = "distance from the anchor (frames)"
