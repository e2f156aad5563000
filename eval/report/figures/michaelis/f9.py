"""Figure 9: every corruption of Cityscapes-C by training data."""

from robust_tfds.eval.report.figures.parts import corruption_curves, trainings


class Figure9(corruption_curves.CorruptionCurves):
  """Faster R-CNN r50, a curve a training."""

  title = "Figure 9: every corruption of Cityscapes-C by training data"
  dataset = "cityscapes_c"
  models = trainings.of("cityscapes_c")
