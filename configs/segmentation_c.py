"""Segmentation under corruption: mIoU on Cityscapes, ADE20K or VOC 2012.

  robust-tfds run --config=segmentation_c:cityscapes_seg_c,segformer_b0 \\
      --config.data.manual_dir=/data/manual \\
      --config.model.checkpoint=/weights/segformer_b0.pth --workdir=/runs/city
  robust-tfds run --config=segmentation_c:voc_seg_c,deeplabv3_resnet50 ...
  ... --config.data.corruptions=common --config.data.severities='(1,3,5)'
  ... --config.data.protocol=fan_19 --config.data.limit=200

The manual dir holds the official folders or archives (README of the set). The
pictures are prepared once, lossless, and corrupted at full resolution on the
accelerators; masks stay those of the clean pictures.
"""

import ml_collections

from robust_tfds import errors

# Data set -> classes.
_SETS = {"cityscapes_seg_c": 19, "ade20k_c": 150, "voc_seg_c": 21}


def get_config(
  what: str = "cityscapes_seg_c,segformer_b0",
) -> ml_collections.ConfigDict:
  """Return the run of one network on one data set, named after the colon."""
  dataset, _, model = what.partition(",")
  if dataset not in _SETS or not model:
    raise errors.UserError(
      f"segmentation_c.py:{what}: expected <dataset>,<model>, with a dataset of"
      f" {', '.join(_SETS)}."
    )
  return ml_collections.ConfigDict(
    {
      "task": "segmentation",
      "batch_size": 8,
      "data": {"name": dataset, "split": "validation", "codec": "raw"},
      "model": {"name": model, "num_classes": _SETS[dataset]},
    }
  ).lock()
