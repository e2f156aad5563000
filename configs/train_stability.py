"""Stability training under uniform noise (Hendrycks & Dietterich 2019).

  robust-tfds train --config=train_stability --workdir=/tmp/stability
  robust-tfds train --config=train_stability --config.recipe.bound=0.1 --plan

Bound and weight of the paper's grid: .01, .05 and .1 each. By itself from random
weights on scikit-learn's digits; `:imagenet` fine-tunes ResNet-50 for 5 epochs at a
rate of its own [U], from the weights that `config.model.checkpoint` names.
"""

import ml_collections

from robust_tfds.configs import train_standard


def get_config(setting: str = "digits") -> ml_collections.ConfigDict:
  """The training; override fields with --config.field=value."""
  recipe = {"name": "stability", "bound": 0.05, "weight": 0.05}
  config = train_standard.common(setting, recipe)
  if setting == "imagenet":
    config.epochs = 5
    config.optimizer.learning_rate = 0.001
    config.schedule = {"name": "cosine", "floor": 0.0, "warmup": 0}
  return config.lock()
