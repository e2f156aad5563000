"""Cityscapes-C: box and mask AP under 19 corruptions x 5.

  robust-tfds run --config=cityscapes_c:mask_rcnn_r50 \\
      --config.data.manual_dir=/data/manual \\
      --config.model.checkpoint=/weights/mask_rcnn_r50.pth --workdir=/runs/cityscapes_c
  ... --config.data.corruptions=common --config.data.severities='(1,3,5)'
  ... --config.data.limit=200

The manual dir holds the official folders or archives (README of `cityscapes_c`). The
pictures are prepared once, lossless, and corrupted at full resolution on the
accelerators; each lies on one of ten canvases, so that all sizes compile ten
programs a corruption. Needs the extra `detection`.
"""

import ml_collections

from configs import coco_c


def get_config(model: str = "mask_rcnn_r50") -> ml_collections.ConfigDict:
  """Return the run of one detector of `models.detection`; else as `coco_c.py`."""
  config = coco_c.get_config(model).unlock()
  config.data.update(name="cityscapes_c", split="validation")
  # The paper's resize rule for this set.
  config.model.update(short_px=1024, long_px=2048, num_classes=8)
  return config.lock()
