"""Stylized pictures (Michaelis et al. 2019; Stylized ImageNet of Geirhos et al. 2019).

  robust-tfds train --config=train_stylized --workdir=/tmp/stylized
  robust-tfds train --config=train_stylized --config.recipe.mode=combined --plan
  robust-tfds train --config=train_stylized:imagenet --workdir=/runs/sin \\
      --config.recipe.styles=/data/paintings \\
      --config.recipe.stylizer=/weights/vgg_normalised.pth,/weights/decoder.pth

The mode is `standard`, `stylized` or `combined`, which shows both versions and so takes
twice the steps of an epoch. Without a setting it trains on scikit-learn's digits in
procedural textures; the stylizer `texture` is an encoder without weights, not AdaIN.
`:cifar` and `:imagenet` are the settings that recipes are compared in. ImageNet is
`combined`, as Hendrycks & Dietterich's network was trained. Paintings (short side
512 px) and the weights of AdaIN are yours to give.
"""

import ml_collections

from configs import train_standard

SETTINGS = ("digits", "cifar", "imagenet")


def get_config(setting: str = "digits") -> ml_collections.ConfigDict:
  """Return the training's config; override fields with --config.field=value."""
  imagenet = setting == "imagenet"
  recipe: dict = {
    "name": "stylized",
    "mode": "combined" if imagenet else "stylized",
  }
  recipe |= {"styles": "", "stylizer": "texture", "alpha": 1.0}
  recipe |= {"style_px": 512 if imagenet else 32, "style_again": False}
  return train_standard.common(setting, recipe, SETTINGS).lock()
