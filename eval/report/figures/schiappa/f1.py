"""Figure 1: robustness against accuracy on UCF101-P."""

from robust_tfds.eval.report.figures.parts import robustness_scatter


class Figure1(robustness_scatter.RobustnessScatter):
  """A point a network and training."""

  title = "Figure 1: robustness against clean accuracy on UCF101-P"
  dataset = "ucf101_p"
