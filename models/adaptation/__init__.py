"""Methods that adapt a model to the test data while it is tested.

A file of this folder with a `METHOD` is a method, named as the file.

  >>> from models import adaptation
  >>> adaptation.names()[:3]
  ('bn', 'bn_alpha', 'bn_cumulative')

  method = adaptation.get("tent")(model, learning_rate=1e-3)
  state = method.init(variables)
  logits, state = jax.jit(method.step)(state, images, key)
  state = method.reset(state)
"""

import functools
import importlib
import pathlib

from models.adaptation.base import Method
from robust_tfds import errors

_SHARED = ("__init__", "base", "network", "views")


@functools.cache
def names() -> tuple[str, ...]:
  """Return the names of all methods, in alphabetical order."""
  files = pathlib.Path(__file__).parent.glob("*.py")
  return tuple(sorted(f.stem for f in files if f.stem not in _SHARED))


def get(name: str) -> type[Method]:
  """Return a method's class: call it with a model and hyperparameters.

  Raises:
    UserError: the name is unknown; the message suggests the nearest.
  """
  if name not in names():
    raise errors.unknown_error("adaptation method", name, names())
  return importlib.import_module(f"{__name__}.{name}").METHOD
