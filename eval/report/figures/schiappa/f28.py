"""Figure 28: accuracy lost on HMDB51-P."""

from robust_tfds.eval.report.figures.parts import drop_bars


class Figure28(drop_bars.DropBars):
  """A bar a perturbation and network."""

  title = "Figure 28: accuracy lost on HMDB51-P"
  dataset = "hmdb51_p"
