"""Figure 7: every corruption of Pascal-C by training data."""

from robust_tfds.eval.report.figures.parts import corruption_curves, trainings


class Figure7(corruption_curves.CorruptionCurves):
  """Faster R-CNN r50, a curve a training."""

  title = "Figure 7: every corruption of Pascal-C by training data"
  dataset = "pascal_c"
  models = trainings.of("pascal_c")
  measure = "AP50"
