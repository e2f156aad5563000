"""Stability training under uniform noise (Hendrycks & Dietterich 2019).

  robust-tfds train --config=train_stability --workdir=/tmp/stability
  robust-tfds train --config=train_stability:imagenet,0.01,0.1 --workdir=/runs/stability

The setting is followed by the bound and the weight, each .01, .05 or .1 as in the
paper's grid; the default is .05 and .05. The paper picks a cell on validation
conditions of ImageNet-P, which no training here reads: evaluate all nine and say so.
Without a setting it trains on scikit-learn's digits, from random weights. `:imagenet`
fine-tunes torchvision's ResNet-50 for 5 epochs, at .001 [U], cosine [U]. Uniform noise
is not a condition of a benchmark, but other noises are.
"""

import ml_collections

from configs import train_standard

_GRID = (0.01, 0.05, 0.1)
_CELLS = {
  f"{bound},{weight}": (bound, weight) for bound in _GRID for weight in _GRID
}
_KINDS = ("digits", "imagenet")
SETTINGS = (*_KINDS, *(f"{kind},{cell}" for kind in _KINDS for cell in _CELLS))


def get_config(setting: str = "digits") -> ml_collections.ConfigDict:
  """Return the training's config; override fields with --config.field=value."""
  train_standard.check(setting, SETTINGS, "train_stability")
  kind, _, cell = setting.partition(",")
  bound, weight = _CELLS[cell or "0.05,0.05"]
  recipe = {"name": "stability", "bound": bound, "weight": weight}
  config = train_standard.common(kind, recipe)
  if kind == "imagenet":
    train_standard.fine_tuned(config, 0.001)
  return config.lock()
