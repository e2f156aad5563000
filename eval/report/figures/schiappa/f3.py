"""Figure 3: accuracy lost on Kinetics400-P."""

from robust_tfds.eval.report.figures.parts import drop_bars


class Figure3(drop_bars.DropBars):
  """A bar a perturbation and network."""

  title = "Figure 3: accuracy lost on Kinetics400-P"
  dataset = "kinetics400_p"
