"""AugMix with its Jensen-Shannon loss (Hendrycks et al. 2020).

  robust-tfds train --config=train_augmix --workdir=/tmp/augmix
  robust-tfds train --config=train_augmix:imagenet --plan

Without a setting it trains on scikit-learn's digits. `:cifar` (severity 3) and
`:imagenet` (severity 1) are the authors' settings, with a network or 180 epochs as in
train_standard. `--config.recipe.jsd=0` is their CIFAR code's --no-jsd: one mixture and
no clean picture. Colour, contrast, brightness and sharpness are off, because benchmarks
test them. `--config.recipe.overlap=True` turns them on; it needs
`--config.allow_benchmark_conditions=True`, and is disclosed.
"""

import ml_collections

from configs import train_standard

SETTINGS = train_standard.COMMON


def get_config(setting: str = "digits") -> ml_collections.ConfigDict:
  """Return the training's config; override fields with --config.field=value."""
  severity = 1 if setting.startswith("imagenet") else 3
  recipe = {"name": "augmix", "jsd": 12.0, "severity": severity}
  return train_standard.common(setting, recipe).lock()
