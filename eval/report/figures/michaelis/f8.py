"""Figure 8: every corruption of COCO-C by training data."""

from robust_tfds.eval.report.figures.parts import corruption_curves, trainings


class Figure8(corruption_curves.CorruptionCurves):
  """Faster R-CNN r50, a curve a training."""

  title = "Figure 8: every corruption of COCO-C by training data"
  dataset = "coco_c"
  models = trainings.of("coco_c")
