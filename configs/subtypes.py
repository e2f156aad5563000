"""Subtype robustness: broad types of subtypes that training showed, and others.

  robust-tfds run --config=subtypes --workdir=/tmp/subtypes
  robust-tfds run --config=subtypes:imagenet \\
      --config.data.manual_dir=/data/manual \\
      --config.model.checkpoint=torchvision:ResNet50_Weights.IMAGENET1K_V1 \\
      --workdir=/runs/subtypes_resnet50
  robust-tfds run --config=subtypes:resnet18 --plan ...

Without a model the embedded stand-in runs: digits with and without a loop, three of
the ten unseen in training, two small networks trained in seconds. With one (`imagenet`
is resnet50) the 25 types of ImageNet-22K: the README of
`robust_tfds/datasets/imagenet22k_subtypes` says what the manual dir holds. The
network is frozen and shown every picture once; its last layer is fitted to the types
in the run by the recipe `model.last_layer` (`eval/run/model/last_layer.py`).
"""

import ml_collections


def get_config(model: str = "") -> ml_collections.ConfigDict:
  """Return the run of one model, named after the colon; without one, of digits."""
  config = ml_collections.ConfigDict(
    {
      "task": "subtypes",
      "batch_size": 128,
      "data": {
        "name": "imagenet22k_subtypes" if model else "digits_subtypes",
        "split": "seen+unseen",
        "codec": "raw",
        "geometry": "imagenet" if model else "",  # or "model"
      },
    }
  )
  # The published script's recipe, but for the epochs of few pictures.
  last_layer = {"epochs": 1, "learning_rate": 0.01, "batch_size": 128}
  if model:
    name = "resnet50" if model == "imagenet" else model
    config.model = {"name": name, "last_layer": last_layer}
    return config.lock()
  recipe = {"dataset": "digits_subtypes", "steps": 300, "batch_size": 128}
  config.models = {
    name: {
      "name": name,
      "num_classes": 2,
      "train": {**recipe, "learning_rate": 3e-3},
      "last_layer": {**last_layer, "epochs": 20},
    }
    for name in ("digits_linear", "digits_cnn")
  }
  return config.lock()
