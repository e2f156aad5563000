"""Plain functions as models: the pictures they get, and the number of their classes."""

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eval.run.model import output_classes, train_mode
from models import adapters
from models.detection.spec import DetectorSpec
from models.model import Model
from models.segmentation.spec import SegmenterSpec
from models.spec import Kind, ModelSpec, Spec
from models.video.spec import VideoSpec
from robust_tfds import errors, reading
from robust_tfds.building import own_set
from robust_tfds.storage import paths

# Package of a model that is no plain function -> its adapter, and what that takes.
_ADAPTERS = {
  "torch": ("torch", "net"),
  "flax": ("flax_module", "net"),
  "keras": ("keras", "net"),
  "onnxruntime": ("onnx", "'model.onnx'"),
}
_SIDE_PX = 224  # ImageNet's crop
# Kinds of models that are shown uncropped pictures -> their name in messages.
_OWN_SIZES = {"detection": "detector", "segmentation": "segmenter"}


def model(
  function: Callable[..., Any],
  kind: Kind,
  counts: Sequence[int],
  *,
  is_asked: bool,
  for_metric: bool = False,
  side_px: int | None = None,
  classes: Any = None,
  label: str = "",
) -> Model:
  """Return a plain function as a model on the host.

  Args:
    function: as `models.adapters.on_host` takes it.
    counts: numbers of classes that models of the set may have, its own first.
    is_asked: whether a classifier answers a test picture, which tells its number of
      classes.
    for_metric: whether its answers go to a custom metric. Then there is no test
      picture, and without `side_px` pictures are shown as they are stored.
    side_px: side of the square pictures that it is shown; None: 224.
    classes: the meaning of its outputs, as in a config; None: the set's classes.
    label: the model's name; empty: the function's.

  Raises:
    UserError: it is no function, or it is a network of a framework, whose adapter the
      message names; a classifier fails or answers with another shape; a detector
      got a size.
  """
  _check_plain(function, kind)
  if side_px and kind in _OWN_SIZES:
    raise errors.UserError(
      f"size={side_px}: a {_OWN_SIZES[kind]} is shown pictures of their own sizes."
      " Leave it out."
    )
  if for_metric:
    spec = _spec(kind, counts[0], side_px or _SIDE_PX)
    if isinstance(spec, Spec):
      resize = spec.resize if side_px else "whole"
      spec = dataclasses.replace(spec, outputs="any", resize=resize)
    return adapters.get("on_host")(
      function, spec, name=label or _name(function)
    )
  side_px = side_px or _SIDE_PX
  is_classifier = kind == "classification"
  count = counts[0]
  if classes and (is_classifier or classes not in own_set.ORDERS):
    named = 0 if is_classifier else _named(classes)
    count = named or _answered(function, side_px)
  elif is_classifier and is_asked:
    count = _answered(function, side_px, counts)
  spec = _spec(kind, count, side_px)
  return adapters.get("on_host")(function, spec, name=label or _name(function))


def _check_plain(function: Any, kind: Kind) -> None:
  package = train_mode.package_of(function, _ADAPTERS)
  if package:
    adapter, given = _ADAPTERS[package]
    specs = {
      "detection": DetectorSpec,
      "segmentation": SegmenterSpec,
      "video": VideoSpec,
    }
    spec = specs.get(kind, Spec)
    training = getattr(function, "training", False) is True
    first = f" {train_mode.remedy(function)}" if training else ""
    raise errors.UserError(
      f"{type(function).__name__} is a network of {package}, which is not called"
      f" with uint8 pictures [B, H, W, 3] as a plain function is.{first} Say what"
      f" it expects: from robust_tfds import models;"
      f" models.adapters.get('{adapter}')({given},"
      f" models.{spec.__name__}({'num_classes=' * (kind in _OWN_SIZES)}...))."
    )
  if not callable(function):
    raise errors.UserError(
      f"Got a {type(function).__name__} as a model, expected one of"
      " models.adapters or models.get, a name, or a function of a batch of"
      " pictures."
    )


def _spec(kind: Kind, classes: int, side_px: int) -> ModelSpec:
  """Return the spec of a plain function: ImageNet's crop in proportion."""
  if kind == "detection":
    return DetectorSpec(num_classes=classes, short_px=0, label_space="custom")
  if kind == "segmentation":
    return SegmenterSpec(num_classes=classes, label_space="custom")
  spec_class = VideoSpec if kind == "video" else Spec
  return spec_class(
    num_classes=classes,
    input_px=side_px,
    flexible=True,
    weights="robust_tfds",
    label_space="custom",
  )


def _name(function: Callable[..., Any]) -> str:
  """Return the name of a function in tables."""
  if inspect.isfunction(function) or inspect.ismethod(function):
    return function.__name__.strip("<>")
  return type(function).__name__


def _answered(
  function: Callable[..., Any], side_px: int, counts: Sequence[int] = ()
) -> int:
  """Return how many classes a function answers with; refuse other counts."""
  rng = np.random.default_rng(0)
  pictures = rng.integers(0, 256, (2, side_px, side_px, 3), np.uint8)
  try:
    shape = np.shape(function(pictures))
  except Exception as error:
    raise errors.UserError(
      f"{_name(function)} fails on uint8 {list(pictures.shape)}:"
      f" {errors.user_fault(error)}"
    ) from error
  if len(shape) != 2 or (counts and shape[1] not in counts):
    classes = f" with {' or '.join(map(str, counts))} classes" if counts else ""
    raise errors.UserError(
      f"{_name(function)} answered with shape {shape}, expected [B, classes]{classes};"
      f" of other outputs say what they are: classes=. {errors.NOT_HERE}."
    )
  return int(shape[1])


def _named(classes: Any) -> int:
  """Return how many outputs are named."""
  if isinstance(classes, str):
    classes = reading.line_list(paths.parse(classes, "classes"))
  if all(isinstance(each, str) for each in classes):
    return len(classes) - (classes[0].strip() == output_classes.INDEX)
  return 1 + max(output for _, outputs in classes for output in outputs)
