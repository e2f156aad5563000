"""COCO-C: P, mPC and rPC of a detector on val2017 under 19 corruptions x 5.

  robust-tfds run --config=coco_c:retinanet_r50 \\
      --config.data.manual_dir=/data/manual \\
      --config.model.checkpoint=/weights/retinanet_r50.pth --workdir=/runs/coco_c
  ... --config.data.corruptions=common --config.data.severities='(1,3,5)'
  ... --config.data.limit=200

The manual dir holds the official folders or archives (README of `coco_c`). The
pictures are prepared once, lossless, and corrupted at full resolution on the
accelerators; each lies on one of ten canvases, so that all sizes compile ten
programs a corruption. Needs the extra `detection`.
"""

import ml_collections

_SHORT = {
  "retinanet_r50": "retinanet_resnet50_fpn",
  "faster_rcnn_r50": "fasterrcnn_resnet50_fpn",
  "mask_rcnn_r50": "maskrcnn_resnet50_fpn",
}


def get_config(model: str = "retinanet_r50") -> ml_collections.ConfigDict:
  """Return the run of one detector of `models.detection`, named after the colon."""
  return ml_collections.ConfigDict(
    {
      "task": "detection",
      "batch_size": 8,
      "data": {"name": "coco_c", "split": "validation", "codec": "raw"},
      "model": {
        "name": _SHORT.get(model, model),
        "label": model,
        # The paper's resize rule: shorter side, unless the longer one exceeds.
        "short_px": 800,
        "long_px": 1333,
        "num_classes": 80,
      },
    }
  ).lock()
