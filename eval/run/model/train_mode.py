"""Remedies for models in train mode, in the words of their framework."""

import inspect
import types
from collections.abc import Iterable, Iterator
from typing import Any

# Package of a class -> what its user writes.
_REMEDIES = {
  "torch": "Call `net.eval()` before you wrap it",
  "flax.nnx": "Call `module.eval()` before you wrap it",
  "flax.linen": (
    "Give the adapter what the module's `__call__` takes for it, e.g."
    " `train=False` (`use_running_average=True`, `deterministic=True`)"
  ),
  "keras": "Call it with `training=False`",
  "tensorflow": "Call it with `training=False`",
}
_UNKNOWN = (
  "Switch it to evaluation (torch: `net.eval()`; nnx: `module.eval()`; Keras and"
  " TensorFlow: `training=False`; linen: `train=False`; of a file: export it"
  " anew after that)"
)


def remedy(code: Any) -> str:
  """Return what to do, as a sentence; for all frameworks if it is unknown.

  Args:
    code: a model's `code`: a module, its class, or a function that uses one.
  """
  for thing in _used(code, []):
    package = package_of(thing, _REMEDIES)
    if package:
      return f"{_REMEDIES[package]}."
  return f"{_UNKNOWN}."


def package_of(thing: Any, packages: Iterable[str]) -> str:
  """Return the first of some packages that a thing or its class is from."""
  kind = thing if isinstance(thing, type) else type(thing)
  for base in kind.__mro__:
    for package in packages:
      if f"{base.__module__}.".startswith(f"{package}."):
        return package
  return ""


def _used(code: Any, functions: list[Any]) -> Iterator[Any]:
  """Yield the objects that a function refers to; append functions to `functions`."""
  if isinstance(code, types.MethodType):
    yield code.__self__
    code = code.__func__
  if not isinstance(code, types.FunctionType):
    yield code
    return
  if code in functions or (
    functions and code.__module__ != functions[0].__module__
  ):
    return
  functions.append(code)
  try:
    around = inspect.getclosurevars(code)
  except ValueError:  # a name that has no value yet
    return
  for thing in (*around.nonlocals.values(), *around.globals.values()):
    yield from _used(thing, functions)
