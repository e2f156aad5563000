"""Cross-entropy: what every other training is held against.

  robust-tfds train --config=train_standard --workdir=/tmp/standard
  robust-tfds train --config=train_standard --plan
  robust-tfds train --config=train_standard:cifar --workdir=/runs/cifar

By itself on scikit-learn's digits, in seconds. `:cifar` and `:imagenet` are the
settings that AugMix's paper and code compare with (Hendrycks et al. 2020): WRN-40-2
and ResNet-50; their data are read through TFDS.
"""

import ml_collections

from robust_tfds import errors

_SETTINGS = ("digits", "cifar", "imagenet")


def get_config(setting: str = "digits") -> ml_collections.ConfigDict:
  """The training; override fields with --config.field=value."""
  if setting not in _SETTINGS:
    raise errors.UserError(
      f"train_standard.py:{setting}: expected one of {', '.join(_SETTINGS)} after"
      " the colon."
    )
  return common(setting, {"name": "standard"}).lock()


def common(setting: str, recipe: dict) -> ml_collections.ConfigDict:
  """A recipe in one of the settings that recipes are compared in, unlocked."""
  recipe = {**recipe, "flip": setting != "digits", "label_smoothing": 0.0}
  config = ml_collections.ConfigDict()
  config.model = {"name": "digits_cnn", "checkpoint": "", "dtype": "float32"}
  config.data = {"source": "digits", "split": "train", "validation": 0.1}
  config.data.update({"crop": "", "geometry": "", "data_dir": ""})
  config.recipe = {**recipe, "crop_px": 0}
  config.optimizer = {"name": "adam", "learning_rate": 3e-3, "accumulate": 1}
  config.optimizer.update({"weight_decay": 0.0, "ema": 0.0})
  config.schedule = {"name": "cosine", "floor": 0.0, "warmup": 0}
  config.keep = {"every": 100 * (setting == "digits"), "last": 2, "best": 1}
  config.steps, config.epochs, config.batch_size = 0, 30, 128
  config.seed = 0
  config.allow_benchmark_conditions = False
  {"cifar": _cifar, "imagenet": _imagenet}.get(setting, lambda c: None)(config)
  return config


def _cifar(config: ml_collections.ConfigDict) -> None:
  """AugMix's CIFAR code: cosine per step to 1e-6, 100 epochs."""
  config.model.name = "wrn_40_2"
  config.data.source = "tfds:cifar10"
  config.recipe.crop_px = 4
  config.optimizer = _sgd(0.1, weight_decay=5e-4, nesterov=True)
  config.schedule.floor = 1e-6
  config.epochs = 100


def _imagenet(config: ml_collections.ConfigDict) -> None:
  """AugMix's ImageNet code: x.1 at each third of 90 epochs, 0.1 * B / 256."""
  config.model.name = "resnet50"
  config.model.dtype = "bfloat16"
  config.data.source, config.data.validation = "tfds:imagenet2012", 0.01
  config.data.crop = "random_resized224"
  config.data.geometry = "short256_crop224"
  config.optimizer = _sgd(0.1, weight_decay=1e-4, nesterov=False)
  config.schedule = {"name": "step", "at": (30, 60), "factor": 0.1, "warmup": 0}
  config.epochs, config.batch_size = 90, 256


def _sgd(rate: float, **more: float | bool) -> ml_collections.ConfigDict:
  momentum = {"name": "sgd", "learning_rate": rate, "momentum": 0.9}
  rest = {"accumulate": 1, "ema": 0.0}
  return ml_collections.ConfigDict({**momentum, **rest, **more})
