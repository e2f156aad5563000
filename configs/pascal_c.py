"""PASCAL-C: AP50 of a detector on VOC2007 test under 19 corruptions x 5.

  robust-tfds run --config=pascal_c:faster_rcnn_r50 \\
      --config.data.manual_dir=/data/manual \\
      --config.model.checkpoint=/weights/faster_rcnn_r50.pth --workdir=/runs/pascal_c
  ... --config.data.corruptions=common --config.data.severities='(1,3,5)'
  ... --config.data.limit=200

The manual dir holds the official folders or archives (README of `pascal_c`). The
pictures are prepared once, lossless, and corrupted at full resolution on the
accelerators; each lies on one of ten canvases, so that all sizes compile ten
programs a corruption. Needs the extra `detection`.
"""

import ml_collections

from configs import coco_c


def get_config(model: str = "faster_rcnn_r50") -> ml_collections.ConfigDict:
  """Return the run of one detector of `models.detection`; else as `coco_c.py`."""
  config = coco_c.get_config(model).unlock()
  config.data.update(name="pascal_c", split="test")
  # The paper's resize rule for this set.
  config.model.update(short_px=600, long_px=1000, num_classes=20)
  return config.lock()
