"""Figure 19: robustness against accuracy on HMDB51-P."""

from robust_tfds.eval.report.figures.parts import robustness_scatter


class Figure19(robustness_scatter.RobustnessScatter):
  """A point a network and training."""

  title = "Figure 19: robustness against clean accuracy on HMDB51-P"
  dataset = "hmdb51_p"
