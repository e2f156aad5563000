"""Robustness benchmarks as TFDS datasets; importing this registers them.

  import robust_tfds
  import tensorflow_datasets as tfds
  ds = tfds.load("digits_c/gaussian_noise_3", split="test")
  ds = robust_tfds.load("digits_c/gaussian_noise/3", split="test")

The other public names are loaded when they are first used:

  from robust_tfds import corruptions, evaluate, metrics, models, training

Importing this loads neither TensorFlow nor JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

from robust_tfds import layout, registration, version

if TYPE_CHECKING:
  import models as models
  from eval import evaluate as evaluate
  from eval import metrics as metrics
  from models import training as training
  from robust_tfds import corruptions as corruptions
  from robust_tfds import datasets as datasets

__version__ = version.VERSION
__all__ = (
  "corruptions",
  "datasets",
  "evaluate",
  "load",
  "metrics",
  "models",
  "training",
)
# Public name -> its module in a clone.
_BESIDE = {
  "evaluate": "eval",
  "metrics": "eval.metrics",
  "models": "models",
  "training": "models.training",
}

registration.register()


def __getattr__(name: str) -> Any:
  """Load a public name.

  Raises:
    ForeignPackageError: another `eval`, `models` or `configs` hides a clone's.
  """
  if name not in __all__:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
  if name == "load":
    return __getattr__("datasets").load
  if name not in _BESIDE:
    return importlib.import_module(f"{__name__}.{name}")
  module = layout.module(_BESIDE[name])
  return module.evaluate if name == "evaluate" else module


def __dir__() -> list[str]:
  """Return the names that are loaded, and the public ones."""
  return sorted({*globals(), *__all__})
