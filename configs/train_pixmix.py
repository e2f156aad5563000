"""PixMix: pictures mixed with fractals, or with yours (Hendrycks et al. 2022).

  robust-tfds train --config=train_pixmix --workdir=/tmp/pixmix
  robust-tfds train --config=train_pixmix:cifar --workdir=/runs/pixmix \\
      --config.recipe.pictures=/data/fractals_and_fvis
  robust-tfds train --config=train_pixmix:imagenet --plan

Without a setting it trains on scikit-learn's digits. `:cifar` (k 4, beta 3, severity 3,
WRN-40-4) and `:imagenet` (beta 4, severity 1, lr .01 cosine) are the authors' settings.
`config.recipe.pictures` is a folder of mixing pictures, theirs or yours. They are
resized to 36 px (256 for ImageNet) and cropped to the examples' size; one is drawn for
each example. Without a folder, fractals are drawn from a seed; they are not the ones
that the authors collected. The authors draw from all operations. Here colour, contrast,
brightness and sharpness are off, because benchmarks test them.
`--config.recipe.overlap=True` turns them on; it needs
`--config.allow_benchmark_conditions=True`, and is disclosed.
"""

import ml_collections

from configs import train_standard

SETTINGS = ("digits", "cifar", "imagenet")


def get_config(setting: str = "digits") -> ml_collections.ConfigDict:
  """Return the training's config; override fields with --config.field=value."""
  imagenet = setting == "imagenet"
  recipe = {"name": "pixmix", "k": 4, "fractals": 64, "pictures": ""}
  recipe |= {"short_px": 256 if imagenet else 36}
  recipe |= (
    {"beta": 4.0, "severity": 1} if imagenet else {"beta": 3.0, "severity": 3}
  )
  config = train_standard.common(setting, recipe, SETTINGS)
  if setting == "cifar":
    config.model.name = "wrn_40_4"  # dropout .3: of the network
  if imagenet:
    config.optimizer.update({"learning_rate": 0.01, "weight_decay": 5e-4})
    config.optimizer.nesterov = True
    config.schedule = {"name": "cosine", "floor": 1e-6, "warmup": 0}
  return config.lock()
