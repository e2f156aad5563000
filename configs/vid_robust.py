"""Natural perturbations: pm-k on ImageNet-Vid-Robust, YTBB-Robust or digits.

  robust-tfds run --config=vid_robust --workdir=/tmp/frames
  robust-tfds run --config=vid_robust:resnet50 \\
      --config.data.manual_dir=/data/manual \\
      --config.model.checkpoint=torchvision:ResNet50_Weights.IMAGENET1K_V1 \\
      --workdir=/runs/vid_resnet50
  ... --config.data.name=ytbb_robust --config.data.config=all
  ... --config.data.geometry=model

Without a model the embedded set runs: sets of moving digits, two small models
trained in seconds, nothing downloaded. With one, the manual dir holds
ImageNet-Vid-Robust (the README of `robust_tfds/datasets/imagenet_vid_robust` says
how); frames are prepared once (Resize 256, CenterCrop 224, lossless). Models of
the 1,000 ImageNet classes are projected to the set's classes on the accelerator,
models of the set's own classes run as they are. `data.config=all` takes the
frames before the human review too and reports what the review changed.
"""

import ml_collections


def get_config(model: str = "") -> ml_collections.ConfigDict:
  """Return the run of one model, named after the colon; without one, of digits."""
  config = ml_collections.ConfigDict(
    {
      "task": "frames",
      "batch_size": 128,
      "data": {
        "name": "imagenet_vid_robust" if model else "digits_vid_robust",
        "split": "test",
        "config": "reviewed" if model else "all",
        "codec": "raw",
        "geometry": "imagenet" if model else "",  # or "model"
        "merge": "max",  # or mean, median, sum
      },
    }
  )
  if model:
    config.model = {"name": model}
    return config.lock()
  recipe = {"dataset": "digits", "steps": 300, "batch_size": 128}
  config.models = {
    name: {"name": name, "train": {**recipe, "learning_rate": 3e-3}}
    for name in ("digits_linear", "digits_cnn")
  }
  return config.lock()
