"""Keys of a model that no file has to name: `config.model.spec.FIELD` and others.

A config's file names the keys that its users are to see; these are known to every
model, so that a command may set them where the file does not. Of several models
they stand in each entry: `config.models.NAME.spec.mean`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ml_collections
from ml_collections import config_dict

from robust_tfds import errors

if TYPE_CHECKING:
  from robust_tfds.models.field_type import FieldType

_SPEC = "spec"
# Texts of an entry: the file of `output_classes.py`, and `training_data.py`.
_TEXTS = ("classes", "trained_on", "corruptions_seen")


def of_specs() -> dict[str, FieldType]:
  """Name -> type of every field of a classifier's, a clip's, a detector's spec."""
  from robust_tfds.models.detection.spec import DetectorSpec
  from robust_tfds.models.video.spec import VideoSpec

  # A VideoSpec is a Spec too.
  return VideoSpec.field_types() | DetectorSpec.field_types()


def check(entry: Mapping[str, Any], path: str) -> None:
  """Refuses fields that no spec has, and values of another type.

  Args:
    entry: a model's part of the config.
    path: where it stands, e.g. `config.model`.

  Raises:
    UserError: begins with the key: `config.model.spec.mean: got ...`.
  """
  types = of_specs()
  for name, value in entry.get(_SPEC, {}).items():
    key = f"{path}.{_SPEC}.{name}"
    if name not in types:
      raise errors.UserError(f"{key}: {errors.unknown('key', name, types)}")
    if not types[name].fits(value):
      raise errors.UserError(
        f"{key}: got {value!r}, expected {types[name].words}."
      )


def fields(entry: Mapping[str, Any]) -> dict[str, Any]:
  """What an entry says of the model's spec: name -> value."""
  return dict(entry.get(_SPEC, {}).items())


def num_classes(label: str, entry: Mapping[str, Any]) -> int | None:
  """Of a model's head; None: the published one.

  Raises:
    UserError: `num_classes` and `spec.num_classes` differ.
  """
  stated = entry.get("num_classes") or None
  of_spec: int | None = entry.get(_SPEC, {}).get("num_classes")
  if stated and of_spec and stated != of_spec:
    raise errors.UserError(
      f"Model {label}: num_classes is {stated} and spec.num_classes {of_spec}:"
      " set one of them."
    )
  return stated or of_spec


def allows(config: ml_collections.ConfigDict, keys: Sequence[str]) -> bool:
  """Whether a command may set a key that a config does not name.

  Args:
    config: as its file made it.
    keys: the way to the key, e.g. `("model", "spec", "mean")`.

  Raises:
    UserError: no such field of a spec.
  """
  _, rest = _parted(config, keys)
  if rest[:1] == [_SPEC] and len(rest) == 2:
    if rest[1] not in of_specs():
      unknown = errors.unknown("key", rest[1], of_specs())
      raise errors.UserError(f"--{'.'.join(('config', *keys))}: {unknown}")
    return True
  return len(rest) == 1 and rest[0] in (_SPEC, *_TEXTS)


def names(config: ml_collections.ConfigDict, keys: Sequence[str]) -> list[str]:
  """What may stand at a place beyond what a config names there."""
  _, rest = _parted(config, keys)
  return [_SPEC, *_TEXTS] if len(rest) == 1 else []


def declare(config: ml_collections.ConfigDict, keys: Sequence[str]) -> None:
  """Makes room for a key that a command sets, if it is one of these."""
  if not allows(config, keys):
    return
  entry, rest = _parted(config, keys)
  with config.unlocked():
    if rest[0] in _TEXTS:
      entry[rest[0]] = entry.get(rest[0], "")
      return
    if _SPEC not in entry:
      entry[_SPEC] = ml_collections.ConfigDict()
    if len(rest) == 2 and rest[1] not in entry[_SPEC]:
      kind = of_specs()[rest[1]].type
      entry[_SPEC][rest[1]] = config_dict.placeholder(kind)


def _parted(
  config: ml_collections.ConfigDict, keys: Sequence[str]
) -> tuple[ml_collections.ConfigDict, list[str]]:
  """The model's entry that keys lead into, and the keys within it, if any."""
  depth = {"model": 1, "models": 2}.get(keys[0], 0)
  place: Any = config
  for key in keys[:depth]:
    if not isinstance(place, ml_collections.ConfigDict) or key not in place:
      return config, []
    place = place[key]
  inside = depth and isinstance(place, ml_collections.ConfigDict)
  return (place, list(keys[depth:])) if inside else (config, [])
