"""Figure 7: accuracy lost on SSv2-P."""

from robust_tfds.eval.report.figures.parts import drop_bars


class Figure7(drop_bars.DropBars):
  """A bar a perturbation and network."""

  title = "Figure 7: accuracy lost on SSv2-P"
  dataset = "ssv2_p"
