"""Natural perturbations of detectors: pm-k of boxes on ImageNet-Vid-Robust or digits.

  robust-tfds run --config=vid_robust_detection --workdir=/tmp/boxes
  robust-tfds run --config=vid_robust_detection:fasterrcnn_resnet50_fpn \\
      --config.data.manual_dir=/data/manual \\
      --config.model.checkpoint=/weights/of_30_classes.pth \\
      --workdir=/runs/vid_faster_rcnn
  ... --config.data.subset=2015

Without a model the embedded set runs: sets of moving digits, a small RetinaNet
trained on still scenes in about a minute, nothing downloaded. With one, the manual
dir holds ImageNet-Vid-Robust and ILSVRC's `Annotations/VID`, whose boxes are the
ground truth, and the model is a detector of the set's 30 classes. Frames are shown
whole, as their files are. `data.subset=2015` takes the sets of ILSVRC 2015 alone,
on which the paper has R-FCN.
"""

import ml_collections


def get_config(model: str = "") -> ml_collections.ConfigDict:
  """The run of one detector, named after the colon; without one, of digits."""
  config = ml_collections.ConfigDict()
  config.task = "frame_detection"
  config.batch_size = 8 if model else 40

  config.data = ml_collections.ConfigDict()
  config.data.name = "imagenet_vid_robust" if model else "digits_vid_robust"
  config.data.split = "test"
  config.data.config = "reviewed"
  config.data.codec = "raw"

  config.model = ml_collections.ConfigDict()
  config.model.name = model or "tiny_retinanet"
  if model:
    config.model.num_classes = 30
    return config.lock()
  config.model.train = ml_collections.ConfigDict(
    {
      "dataset": "digits_detection",
      "split": "train",
      "steps": 800,
      "batch_size": 16,
      "learning_rate": 5e-3,
      "seed": 0,
    }
  )
  return config.lock()
