"""The models of a run as objects, each made once, before their weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from robust_tfds import errors
from robust_tfds import models
from robust_tfds.eval.run import model_keys
from robust_tfds.eval.tasks import base
from robust_tfds.models.model import Model


@dataclasses.dataclass(frozen=True, eq=False)
class Given:
  """A model that is handed over as an object, not by a name.

  Attributes:
    model: the model.
    variables: its weights; None: it brings them, or a checkpoint has them.
  """

  model: Model
  variables: Any = None


def define(
  entries: Mapping[str, Any],
  given: Mapping[str, Given],
  kind: base.ModelKind,
) -> dict[str, Model]:
  """Label -> model.

  Args:
    entries: label -> the model's part of the config.
    given: of those labels that are no names.
    kind: what the task needs.

  Raises:
    UserError: an unknown name or dtype, a model of another kind, or settings
      that do not suit it.
  """
  return {
    label: _define(label, entry, given.get(label), kind)
    for label, entry in entries.items()
  }


def _define(
  label: str, entry: Any, given: Given | None, kind: base.ModelKind
) -> Model:
  _check_sides(label, entry, kind)
  if given is None:
    model = models.get(
      entry.name,
      num_classes=model_keys.num_classes(label, entry),
      dtype=entry.get("dtype") or "float32",
      kind=kind,
    )
  elif given.model.kind != kind:
    raise errors.UserError(
      f"{label} is a model of kind {given.model.kind}, expected {kind}: the"
      " task needs another kind of answers. The class of its spec says the kind."
    )
  else:
    model = given.model
  sides = {k: entry[k] for k in ("short_px", "long_px") if k in entry}
  fields = {**sides, **model_keys.fields(entry)}
  try:
    return model.with_fields(fields) if fields else model
  except errors.UserError as e:
    raise errors.UserError(f"Model {label}: spec: {e}") from e


def _check_sides(label: str, entry: Any, kind: base.ModelKind) -> None:
  sides = [key for key in ("short_px", "long_px") if key in entry]
  if sides and (kind != "detection" or len(sides) == 1):
    raise errors.UserError(
      f"Model {label}: {sides[0]} is of detectors, which take"
      " short_px and long_px together."
    )
