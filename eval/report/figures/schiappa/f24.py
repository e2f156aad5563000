"""Figure 24: accuracy lost on UCF101-P, networks pretrained on Kinetics-400."""

from robust_tfds.eval.report.figures.parts import drop_bars


class Figure24(drop_bars.DropBars):
  """A bar a perturbation and network."""

  title = (
    "Figure 24: accuracy lost on UCF101-P, networks pretrained on Kinetics-400"
  )
  dataset = "ucf101_p"
  training = "kinetics400"
