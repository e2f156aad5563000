"""Faster R-CNN r50 trained on standard, stylized and combined data: its curves."""

from collections.abc import Mapping

from eval.report.figures.parts.ap_curves import Model

_NETWORK = "Faster R-CNN r50"
_FILE = "faster_rcnn_r50_fpn_1x_"
# Data set -> training -> the end of the results file's name, where it is public.
_PUBLIC = {
  "pascal_c": {"standard": "voc0712", "combined": "vocsvoc0712"},
  "coco_c": {"standard": "coco", "stylized": "scoco"},
  "cityscapes_c": {"standard": "city", "stylized": "scity"},
}
TRAININGS = ("standard", "stylized", "combined")
# Our names -> the paper's, and what P is.
DATASETS: Mapping[str, tuple[str, str]] = {
  "pascal_c": ("Pascal-C", "AP50"),
  "coco_c": ("COCO-C", "AP"),
  "cityscapes_c": ("Cityscapes-C", "AP"),
}


def curve_models(dataset: str) -> tuple[Model, ...]:
  """Return the three curves of a data set; one has no public results."""
  public = _PUBLIC[dataset]
  return tuple(
    Model(
      f"trained on {training} data",
      _FILE + public[training] if training in public else "",
      (_NETWORK, training),
    )
    for training in TRAININGS
  )
