"""The models of a run, each made once: what they are, and their checkpoints."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from robust_tfds import errors, models
from robust_tfds.eval.run import config as config_lib
from robust_tfds.eval.tasks import base
from robust_tfds.models.convert import match, preprocessing
from robust_tfds.models.model import Model, NetworkModel

OfFunction = Callable[..., Model]


@dataclasses.dataclass(frozen=True, eq=False)
class ModelObject:
  """A model that is handed over as an object, not by a name.

  Attributes:
    model: the model.
    variables: its weights; None: it brings them, or a checkpoint has them.
  """

  model: Model
  variables: Any = None


@dataclasses.dataclass(frozen=True, eq=False)
class Definition:
  """A model of a run.

  Attributes:
    model: with the spec that the run prepares its pictures by: its own, then
      what the checkpoint's source says, then what the config says.
    checkpoint: its weights from a file; None where it has none.
    notes: what a run prints of it: its route, and who said its preprocessing.
  """

  model: Model
  checkpoint: match.Loaded | None = None
  notes: tuple[str, ...] = ()


def define(
  entries: Mapping[str, config_lib.Model],
  given: Mapping[str, ModelObject],
  kind: base.ModelKind,
  of_function: OfFunction | None = None,
) -> dict[str, Definition]:
  """Label -> definition.

  Args:
    entries: label -> the model's part of the config.
    given: of those labels that are no names.
    kind: what the task needs.
    of_function: makes a model of a plain function; None: it is refused.

  Raises:
    FileNotFoundError: a checkpoint is not there.
    UserError: an unknown name or dtype, a model of another kind, settings that
      do not suit it, a checkpoint that does not fit, or whose preprocessing
      nobody says.
  """
  return {
    label: _define(label, entry, given.get(label), kind, of_function)
    for label, entry in entries.items()
  }


def _define(
  label: str,
  entry: config_lib.Model,
  given: ModelObject | None,
  kind: base.ModelKind,
  of_function: OfFunction | None,
) -> Definition:
  _check_sides(label, entry, kind)
  model = _model(label, entry, given, kind, of_function)
  notes = [model.route] if model.route else []
  checkpoint = None
  if entry.checkpoint:
    checkpoint = _checkpoint(label, entry, model)
    if checkpoint.declared.fields and _is_as_published(model):
      model = model.with_fields(checkpoint.declared.fields)
      notes.append(_words(checkpoint))
    notes += checkpoint.notes
  model = _with_fields(label, entry, model)
  return Definition(model, checkpoint, tuple(notes))


def _with_fields(label: str, entry: config_lib.Model, model: Model) -> Model:
  """With what the config says of its spec."""
  fields = {**_sides(entry), **entry.spec}
  try:
    return model.with_fields(fields) if fields else model
  except errors.UserError as e:
    raise errors.UserError(f"Model {label}: spec: {e}") from e


def _model(
  label: str,
  entry: config_lib.Model,
  given: ModelObject | None,
  kind: base.ModelKind,
  of_function: OfFunction | None,
) -> Model:
  """As it is by itself."""
  if of_function:
    of_function = functools.partial(of_function, classes=entry.classes)
  if given is None:
    return models.get(
      entry.name,
      num_classes=_num_classes(label, entry),
      dtype=entry.dtype or "float32",
      kind=kind,
      of_function=of_function,
    )
  if given.model.kind != kind:
    raise errors.UserError(
      f"{label} is a model of kind {given.model.kind}, expected {kind}: the"
      " task needs another kind of answers. The class of its spec says the kind."
    )
  return given.model


def _num_classes(label: str, entry: config_lib.Model) -> int | None:
  """Of a model's head; None: the published one.

  Raises:
    UserError: `num_classes` and `spec.num_classes` differ.
  """
  stated = entry.num_classes or None
  in_spec: int | None = entry.spec.get("num_classes")
  if stated and in_spec and stated != in_spec:
    raise errors.UserError(
      f"Model {label}: num_classes is {stated} and spec.num_classes {in_spec}:"
      " set one of them."
    )
  return stated or in_spec


def _checkpoint(
  label: str, entry: config_lib.Model, model: Model
) -> match.Loaded:
  """The weights of a model of the catalogue.

  Raises:
    UserError: see `define`.
  """
  assert entry.checkpoint  # who calls this asked
  loaded = match.load(
    entry.name,
    entry.checkpoint,
    num_classes=model.spec.num_classes,
    input_px=_side(model, entry.spec),
    weights=entry.spec.get("weights") or "",
  )
  stated = set(entry.spec) & {"weights", *preprocessing.FIELDS}
  if loaded.declared.doubt and not stated and _is_as_published(model):
    raise errors.UserError(f"Model {label}: {loaded.declared.doubt}")
  return loaded


def _side(model: Model, spec: Mapping[str, Any]) -> int | None:
  """The side that a config asks for, where variables depend on it."""
  sized = isinstance(model, NetworkModel) and model.family.sized
  return spec.get("input_px") if sized else None


def _is_as_published(model: Model) -> bool:
  """Whether nobody changed how a model of the catalogue prepares pictures."""
  own = models.get(model.name).spec
  differ = preprocessing.differences(own, dataclasses.asdict(model.spec))
  return not differ


def _words(checkpoint: match.Loaded) -> str:
  fields = ", ".join(f"{k} {v}" for k, v in checkpoint.declared.fields.items())
  return f"preprocessing as {checkpoint.declared.origin} says: {fields}"


def _sides(entry: config_lib.Model) -> dict[str, int]:
  """The resize rule of a detector, where the config has one."""
  sides = {"short_px": entry.short_px, "long_px": entry.long_px}
  return {name: side for name, side in sides.items() if side is not None}


def _check_sides(
  label: str, entry: config_lib.Model, kind: base.ModelKind
) -> None:
  sides = list(_sides(entry))
  if sides and (kind != "detection" or len(sides) == 1):
    raise errors.UserError(
      f"Model {label}: {sides[0]} is of detectors, which take"
      " short_px and long_px together."
    )
