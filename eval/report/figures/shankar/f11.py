"""Figure 11: accuracy at every k."""

from robust_tfds.eval.report.figures.parts import breakdown_lines


class Figure11(breakdown_lines.BreakdownLines):
  """pm-k, cumulative: right on the anchor and on all frames within k."""

  title = "Figure 11: pm-k accuracy, right on all frames within k"
  metric = "acc_pmk"
  breakdown = "k"
  axis = "k (frames)"
