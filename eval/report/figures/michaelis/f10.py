"""Figure 10: every corruption of COCO-C by backbone."""

from robust_tfds.eval.report.figures.parts import corruption_curves
from robust_tfds.eval.report.figures.parts.ap_curves import Model


class Figure10(corruption_curves.CorruptionCurves):
  """Faster R-CNN, a curve a backbone."""

  title = "Figure 10: every corruption of COCO-C by backbone"
  dataset = "coco_c"
  models = (
    Model("r50", "faster_rcnn_r50_fpn_1x_coco"),
    Model("r101", printed=("Faster R-CNN r101", "standard")),
    Model("x101-32x4d", "faster_rcnn_x101_32x4d_fpn_1x"),
    Model("x101-64x4d", printed=("Faster R-CNN x101-64x4d", "standard")),
  )
