"""The catalogue of models by name: of every kind of `models.spec.Kind`.

A file of `models/classification`, `models/detection`, `models/segmentation` or
`models/video` with a `Family` in it is a family, and adding one file adds its
models.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import importlib
import os
import pathlib
import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from robust_tfds import errors

if TYPE_CHECKING:
  from models.family import Family
  from models.model import Model, NetworkModel
  from models.spec import Kind


def names(
  pattern: str = "*", *, kind: Kind | None = None, weights: str | None = None
) -> tuple[str, ...]:
  """Return the names of models in alphabetical order.

  >>> names("resnet*", weights="torchvision")[:2]
  ('resnet101', 'resnet152')

  Args:
    pattern: a pattern as in a shell: `resnet*`, `vit_?_16`, `*_[ab]`.
    kind: `classification`, `detection`, `segmentation` or `video`; None for all
      of them.
    weights: source of their public checkpoints, as `ModelSpec.weights`:
      `torchvision`, `timm`, ...; None for all.

  Raises:
    UserError: the kind or the weights are unknown.
  """
  from models.spec import KINDS

  if not isinstance(pattern, str):
    raise errors.UserError(
      f"Got {pattern!r} as a pattern of names, expected a text such as"
      " 'resnet*'."
    )
  if kind is not None and kind not in KINDS:
    raise errors.unknown_error("kind of models", kind, KINDS)
  specs = {n: f.variants[n].spec for n, f in _families().items()}
  known = sorted({spec.weights for spec in specs.values()})
  if weights is not None and weights not in known:
    raise errors.unknown_error("weights of models", weights, known)
  return tuple(
    name
    for name, spec in sorted(specs.items())
    if fnmatch.fnmatchcase(name, pattern)
    and kind in (None, spec.kind)
    and weights in (None, spec.weights)
  )


@errors.without_traceback
def get(
  name: str,
  num_classes: int | None = None,
  *,
  dtype: str = "float32",
  kind: Kind | None = None,
  of_function: Callable[[Callable[..., Any]], Model] | None = None,
  of_timm: Callable[[str, int | None], Model] | None = None,
) -> Model:
  """Return a model by name.

  Args:
    name: one of `names()`, or `module:function` of your own code, where
      `function()` returns a model (see `models.adapters`); either may be
      followed by enhancements, as in `resnet50+clahe+ten_crop` (see
      `models.enhancements`).
    num_classes: number of logits, or of classes of objects, for checkpoints
      with another head; the published number if None.
    dtype: `float32`, or `bfloat16` for bfloat16 compute with float32 logits.
    kind: the required kind; a model of another kind is refused.
    of_function: makes a model from a plain function of a batch, which
      `module:function` is or returns; None: such functions are refused, since
      they have no spec.
    of_timm: makes a model from `timm:NAME`; None: such names are refused.

  Raises:
    UserError: the name (the message has the nearest ones), enhancement, dtype
      or class count is unknown; an enhancement does not suit the model; or the
      model is of another kind.
  """
  from models import enhancements, own
  from models.spec import KINDS

  if kind is not None and kind not in KINDS:
    raise errors.unknown_error("kind of models", kind, KINDS)
  base, enhancing = split(name)
  model: Model
  if ":" in base:
    if dtype != "float32":
      raise errors.UserError(
        f"dtype={dtype!r} is for networks of the catalogue; {base} has a dtype"
        " of its own. Leave dtype out."
      )
    if base.startswith("timm:"):
      if of_timm is None:
        raise errors.UserError(
          "timm:NAME is for runs: evaluate('timm:NAME', ...),"
          " --config.model.name=timm:NAME. Elsewhere pass timm's module:"
          " models.adapters.get('torch')(timm.create_model('NAME').eval(),"
          " spec)."
        )
      model = of_timm(base, num_classes)
    else:
      model = own.from_user(base, num_classes, of_function)
  else:
    if _find(base) is None:
      what = f"{kind} model" if kind else "model"
      raise errors.unknown_error(what, base, names(kind=kind))
    model = network(base, num_classes, dtype=dtype)
  if kind is not None and model.kind != kind:
    raise errors.UserError(
      f"{base} is a model of kind {model.kind}, expected {kind}: the run's task"
      " needs another kind of answers. models.names(kind="
      f"{kind!r}) lists the models that give them."
    )
  return enhancements.wrap(model, *enhancing)


def network(
  name: str, num_classes: int | None = None, *, dtype: str = "float32"
) -> NetworkModel:
  """Return a model of `names()` without enhancements; see `get`."""
  from models.detection.detector import Detector
  from models.detection.spec import DetectorSpec
  from models.model import Classifier
  from models.segmentation.segmenter import Segmenter
  from models.segmentation.spec import SegmenterSpec
  from models.spec import Spec

  family = family_of(name)
  variant = family.variants[name]
  counted = dataclasses.replace(variant.spec, gflops=gflops().get(name))
  spec = counted.with_classes(num_classes)
  if isinstance(spec, DetectorSpec):
    return Detector(name, spec, variant, family, dtype)
  if isinstance(spec, SegmenterSpec):
    return Segmenter(name, spec, variant, family, dtype)
  if isinstance(spec, Spec):
    return Classifier(name, spec, variant, family, dtype)
  raise TypeError(f"{name} has a {type(spec).__name__}.")


def family_of(name: str) -> Family:
  """Return the family of a model; enhancements in `name` are ignored.

  Raises:
    UserError: the name is unknown.
  """
  base, _ = split(name)
  family = _find(base)
  if family is None:
    raise errors.unknown_error("model", base, names())
  return family


def split(name: str) -> tuple[str, tuple[str, ...]]:
  """Return a model's name and its enhancements.

  >>> split("resnet50+clahe+ten_crop")
  ('resnet50', ('clahe', 'ten_crop'))

  Raises:
    UserError: `name` is not a text.
  """
  if not isinstance(name, str):
    raise errors.UserError(
      f"Got {name!r} as the name of a model, expected a text such as"
      " 'resnet50'."
    )
  base, *enhancing = name.split("+")
  return base, tuple(enhancing)


@functools.cache
def gflops() -> dict[str, float]:
  """Return the multiply-adds of one input in billions, by model.

  `python -m tools.count_models` counts them (`models/multiply_adds.py`).
  """
  path = pathlib.Path(__file__).with_name("gflops.tsv")
  lines = path.read_text("utf-8").splitlines()
  pairs = (line.split("\t") for line in lines)
  return {name: float(count) for name, count in pairs}


@functools.cache
def _files() -> dict[str, Kind]:
  """Return the kind of models of each module with a family."""
  from models.spec import KINDS

  root = pathlib.Path(__file__).parent
  package = __name__.rpartition(".")[0]
  return {
    f"{package}.{kind}.{file.name}": kind
    for kind in KINDS
    for file in pkgutil.iter_modules([str(root / kind)])
  }


@functools.cache
def _find(name: str) -> Family | None:
  """Return the family of a model, or None; imports the likeliest file first."""

  def likelihood(module: str) -> tuple[bool, int]:
    _, kind, file = module.rsplit(".", 2)
    return f'"{name}"' in _text(kind, file), len(
      os.path.commonprefix([name, file])
    )

  for module in sorted(_files(), key=likelihood, reverse=True):
    family = _family_in(module)
    if family and name in family.variants:
      return family
  return None


@functools.cache
def _text(kind: str, file: str) -> str:
  path = pathlib.Path(__file__).parent / kind / f"{file}.py"
  return path.read_text("utf-8")


def _family_in(module: str) -> Family | None:
  """Return the family of a file; None for layers that families share."""
  from models.family import Family

  member = vars(importlib.import_module(module)).get("FAMILY")
  if not isinstance(member, Family):
    return None
  kind = _files()[module]
  for name, variant in member.variants.items():
    if variant.spec.kind != kind:
      raise errors.UserError(f"{name!r} of {module} is no model of {kind}.")
  return member


@functools.cache
def _families() -> dict[str, Family]:
  """Return the family of each model."""
  families: dict[str, Family] = {}
  for module in _files():
    member = _family_in(module)
    if member is None:
      continue
    for name in member.variants:
      if name in families:
        raise errors.UserError(
          f"{name!r} of {module} is the name of two models."
        )
      families[name] = member
  return families
