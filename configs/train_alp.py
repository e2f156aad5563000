"""Adversarial logit pairing on targeted PGD (Kannan et al. 2018).

  robust-tfds train --config=train_alp --workdir=/tmp/alp
  robust-tfds train --config=train_alp:imagenet64 --workdir=/runs/alp
  robust-tfds train --config=train_alp:tiny --config.model.checkpoint=/runs/alp \\
      --config.data.source=folder:/data/tiny-imagenet-200/train --workdir=/runs/tiny

Without a setting it trains on scikit-learn's digits. `:imagenet64` and `:tiny` are the
settings of the authors' code: the attack pgdll_16_2_10, RMSProp, .045 x .94 every 2
epochs, averaged weights, weight decay on all weights. Tiny ImageNet starts from
ImageNet's weights, at .02, and trains the last layer alone. (The authors' ResNets v2
also have a norm before that layer, and their norms use batch statistics; ours use the
stored ones.) Our choices [U]: 90 epochs, and 10; batches of 32, as one worker's; crops
and flips.

`:linf` is adversarial training as for ResNeXt-101 DenoiseAll: pixels stay within 16
levels, after 30 steps of targeted PGD. Our choices [U]: steps of one level towards a
random wrong class, no clean pictures, smoothing .1, and 110 epochs of SGD at .1 for 256
pictures, x.1 after 35, 70 and 95.
"""

import ml_collections

from configs import train_standard

SETTINGS = ("digits", "imagenet64", "tiny", "linf")


def get_config(setting: str = "digits") -> ml_collections.ConfigDict:
  """Return the training's config; override fields with --config.field=value."""
  train_standard.check(setting, SETTINGS, "train_alp")
  recipe = {
    "name": "alp",
    "weight": 0.5,
    "clean": 1.0,
    "target": "least_likely",
  }
  recipe |= {"bound": 16.0, "step": 2.0, "steps": 10}
  if setting == "linf":
    recipe |= {"weight": 0.0, "clean": 0.0, "target": "random"}
    recipe |= {"step": 1.0, "steps": 30}
  kind = "digits" if setting == "digits" else "imagenet"
  config = train_standard.common(kind, recipe)
  config.recipe.label_smoothing = 0.1
  if setting in ("imagenet64", "tiny"):
    _pairing(config)
  if setting == "imagenet64":
    config.recipe.weight = 0.25
  if setting == "tiny":
    config.data.source = "folder:tiny-imagenet-200/train"
    config.model.update({"frozen_stages": 5, "num_classes": 200})
    config.optimizer.learning_rate, config.epochs = 0.02, 10
  if setting == "linf":
    config.model.name, config.epochs = "resnext101_32x8d_denoise_all", 110
    config.schedule.at = (35, 70, 95)
  return config.lock()


def _pairing(config: ml_collections.ConfigDict) -> None:
  """Set what tensorflow/models trains a ResNet-50 at 64 px with."""
  config.model.name = "resnet50_64px"
  config.model.update({"frozen_stages": 0, "num_classes": 0})
  config.data.source = "tfds:imagenet_resized/64x64"
  config.data.crop, config.data.geometry = "random_resized64", "short64_crop64"
  rate = {"name": "rmsprop", "learning_rate": 0.045, "accumulate": 1}
  config.optimizer = {**rate, "rho": 0.9, "momentum": 0.9, "epsilon": 1.0}
  config.optimizer.update({"weight_decay": 1e-4, "decay_all": True})
  config.optimizer.ema = 0.9999
  config.schedule = {"name": "step", "every": 2, "factor": 0.94, "warmup": 0}
  config.batch_size = 32
