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
  """Return the run of one detector, named after the colon; without one, of digits."""
  config = ml_collections.ConfigDict(
    {
      "task": "frame_detection",
      "batch_size": 8 if model else 40,
      "data": {
        "name": "imagenet_vid_robust" if model else "digits_vid_robust",
        "split": "test",
        "config": "reviewed",
        "codec": "raw",
      },
    }
  )
  if model:
    config.model = {"name": model, "num_classes": 30}
    return config.lock()
  recipe = {"dataset": "digits_detection", "steps": 800, "batch_size": 16}
  train = {**recipe, "learning_rate": 5e-3}
  config.model = {"name": "tiny_retinanet", "train": train}
  return config.lock()
