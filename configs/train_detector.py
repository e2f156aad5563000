"""Detectors: Shankar et al.'s Table 11, Michaelis et al.'s stylized pictures.

  robust-tfds train --config=train_detector --workdir=/tmp/detector
  robust-tfds train --config=train_detector:coco --workdir=/runs/coco \\
      --config.data.manual_dir=/data/coco --config.recipe.mode=combined \\
      --config.recipe.styles=/data/paintings \\
      --config.recipe.stylizer=/weights/vgg_normalised.pth,/weights/decoder.pth
  robust-tfds train --config=train_detector:voc --plan

Without a setting it trains a small RetinaNet on scenes of digits, which are not
mirrored. `:voc`, `:coco` and `:cityscapes` are Faster R-CNNs by the schedules of
Michaelis et al. (docs/evidence/specs/training.md section 1). `config.recipe.mode` is
`standard`, `stylized` or `combined`; the last takes twice the steps. `:vid` and
`:vid,resnet101` are those of Table 11, on the boxes of ImageNet-Vid; the second network
is mmdetection's [U]. Start from weights: `config.model.checkpoint`. Momentum, decay,
warmup and the frozen stem are the usual ones of mmdetection and maskrcnn-benchmark [U].
Cityscapes' pictures all get a short edge of 1024, where the authors drew from 800 to
1024.
"""

import ml_collections

from configs import train_standard

SETTINGS = ("digits", "voc", "coco", "cityscapes", "vid", "vid,resnet101")
_FASTER = "fasterrcnn_resnet50_fpn_mmdet1"
_OF_VID = {
  "resnet50": "fasterrcnn_resnet50_fpn",
  "resnet101": "fasterrcnn_resnet101_fpn_mmdet1",
}
_STYLES = {"mode": "standard", "styles": "", "stylizer": "texture"}
# Short and long edge, canvas, most objects, epochs, x.1 after, rate, batch: Michaelis
# et al. 2019, Appendix B; long edges, canvases and most objects are the sets'.
_SCHEDULES = {
  "voc": (600, 1000, (500, 500), 64, 12, (9,), 0.00125, 2),
  "coco": (800, 1333, (640, 640), 100, 12, (8, 11), 0.01, 8),
  "cityscapes": (1024, 2048, (1024, 2048), 200, 64, (48,), 0.0025, 2),
}
_SOURCES = {
  "voc": "voc0712_train",
  "coco": "coco_train",
  "cityscapes": "cityscapes_train",
}


def get_config(setting: str = "digits") -> ml_collections.ConfigDict:
  """Return the training's config; override fields with --config.field=value."""
  train_standard.check(setting, SETTINGS, "train_detector")
  recipe = {"name": "detector", **_STYLES, "alpha": 1.0}
  recipe |= {"style_px": 32 if setting == "digits" else 512}
  config = train_standard.common("digits", {**recipe, "style_again": False})
  config.model.update({"frozen_norms": False, "frozen_stages": 0})
  config.model.spec = ml_collections.ConfigDict()
  config.data.update({"manual_dir": "", "canvas": (), "boxes": 0})
  if setting == "digits":
    _digits(config)
  else:
    _of_papers(config, setting)
  return config.lock()


def _digits(config: ml_collections.ConfigDict) -> None:
  """Set what `quickstart_detection` trains with."""
  config.model.name = "tiny_retinanet"
  config.data.source = "digits_detection"
  config.optimizer.learning_rate = 5e-3
  config.optimizer.clip_norm = 5.0  # without it and warmup seeds learn little
  config.schedule.warmup = 80
  config.steps, config.epochs, config.batch_size = 800, 0, 16


def _of_papers(config: ml_collections.ConfigDict, setting: str) -> None:
  """Set the papers' training; norms and the first two stages are frozen."""
  config.model.update({"name": _FASTER, "frozen_norms": True})
  config.model.frozen_stages = 2
  config.data.validation = 0.01
  config.recipe.flip = True
  config.keep.every = 0
  if setting.startswith("vid"):
    _vid(config, setting.partition(",")[2] or "resnet50")
    return
  short, long, canvas, boxes, epochs, at, rate, batch = _SCHEDULES[setting]
  config.model.spec.update({"short_px": short, "long_px": long})
  config.data.update({"source": _SOURCES[setting], "canvas": canvas})
  config.data.boxes = boxes
  config.epochs, config.batch_size = epochs, batch
  _steps(config, rate, at=at)


def _vid(config: ml_collections.ConfigDict, backbone: str) -> None:
  """Set Table 11 of `eval/papers/shankar2021/table11.tsv`, by maskrcnn-benchmark."""
  lines = train_standard.printed("shankar2021", "table11")
  rows = {r["network"].split()[-1].replace("-", "").lower(): r for r in lines}
  row = rows[backbone]
  at = [int(n) for n in row["note"].split() if n.isdigit()]
  config.model.name = _OF_VID[backbone]
  config.data.update({"source": "imagenet_vid_det_train", "boxes": 64})
  config.data.canvas = (1280, 1280)
  config.steps, config.epochs = int(row["iterations"]), 0
  config.batch_size = int(row["batch_size"])
  _steps(config, float(row["learning_rate"]), at_steps=at)


def _steps(
  config: ml_collections.ConfigDict, rate: float, **at: tuple | list
) -> None:
  """Set SGD, and a rate that is cut to a tenth at some epochs or steps."""
  config.optimizer = train_standard.sgd(rate, weight_decay=1e-4, nesterov=False)
  config.schedule = {"name": "step", "factor": 0.1, "warmup": 500, **at}
