"""Figure 23: accuracy lost on UCF101-P, networks trained from scratch."""

from robust_tfds.eval.report.figures.parts import drop_bars


class Figure23(drop_bars.DropBars):
  """A bar a perturbation and network."""

  title = "Figure 23: accuracy lost on UCF101-P, networks trained from scratch"
  dataset = "ucf101_p"
  training = "scratch"
