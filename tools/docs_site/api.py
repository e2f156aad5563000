"""The generated part of docs/evidence/API.md: the public surface by module.

What is public `tests/api_test.py` says; this page has its docstrings.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable
from typing import Any

from eval.run import evaluation
from models import model, spec
from models.detection import spec as detection_spec
from models.video import spec as video_spec
from tools import import_graph

# What the functions take and give.
_TYPES = (
  evaluation.Result,
  model.Model,
  spec.Spec,
  video_spec.VideoSpec,
  detection_spec.DetectorSpec,
)


def text() -> str:
  """Return a section for each module, then the classes."""
  from tests import api_test

  parts = []
  by_module = itertools.groupby(
    ((_module(f), f.__name__) for f, _ in api_test.SURFACE), key=lambda x: x[0]
  )
  for module, members in by_module:
    parts.append(f"\n## {module}\n\n")
    parts += [_directive("function", f"{m}.{name}") for m, name in members]
  parts.append("\n## Classes\n\n")
  for cls in _TYPES:
    members = "   :members:\n" if cls is evaluation.Result else ""
    name = f"{cls.__module__}.{cls.__name__}"  # where pages find it in a clone
    parts.append(_directive("class", name, members))
  return "".join(parts)


def _module(function: Callable[..., Any]) -> str:
  """Return a module's section, with its import line."""
  from tests import api_test

  public = [
    m for m in vars(api_test).values() if isinstance(m, types.ModuleType)
  ]
  places = [
    m.__name__ for m in public if vars(m).get(function.__name__) is function
  ]
  return _public(min([*places, function.__module__], key=len))


def _public(module: str) -> str:
  """Return a module as users reach it: `eval.metrics.action` is of `robust_tfds`.

  >>> _public("eval.metrics.action"), _public("robust_tfds.corruptions")
  ('robust_tfds.metrics.action', 'robust_tfds.corruptions')
  """
  places = {place: name for name, place in import_graph.public_names().items()}
  for place in sorted(places, key=len, reverse=True):
    if f"{module}.".startswith(f"{place}."):
      name = "" if place == "eval" else f".{places[place]}"
      return f"robust_tfds{name}{module.removeprefix(place)}"
  return module


def _directive(kind: str, name: str, options: str = "") -> str:
  return f"```{{eval-rst}}\n.. auto{kind}:: {name}\n{options}```\n\n"
