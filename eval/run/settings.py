"""The schema of a config: which keys there are, and what their values may be.

`check` is called once where a run or a plan begins; what it lets through, the run
reads as it is. Values and their defaults stand in `configs/` alone: nothing is
filled in here. What depends on several values (a codec of a data set, the levels
of a name) is checked by whoever owns it.
"""

from __future__ import annotations

import pathlib
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Required

import ml_collections
import numpy as np
import pydantic
from typing_extensions import TypedDict, get_type_hints, is_typeddict

from robust_tfds import conditions, errors
from robust_tfds.eval.run import model_keys
from robust_tfds.eval.tasks import base


def _listed(value: Any) -> Any:
  """Refuses what names nothing, and what stands there twice."""
  if isinstance(value, str):
    value = [word.strip() for word in value.split(",")]
  items = list(value) if isinstance(value, (list, tuple)) else [value]
  if not items or "" in items or len(set(items)) < len(items):
    raise ValueError
  return value


# A type, its limits, and what is expected in words.
_Name = Annotated[str, pydantic.Field(min_length=1, description="a name")]
_Text = Annotated[
  str | None, pydantic.Field(description="a text, empty for none")
]
_Path = Annotated[
  str | pathlib.PurePath | None,
  pydantic.Field(description="a path, empty for none"),
]
_Flag = Annotated[bool, pydantic.Field(description="True or False")]
_Positive = Annotated[
  int, pydantic.Field(ge=1, description="a whole number from 1")
]
_Batch = Annotated[
  int,
  pydantic.Field(
    ge=1, le=1 << 20, description="a whole number from 1 to 1,048,576"
  ),
]
_From0 = Annotated[
  int, pydantic.Field(ge=0, description="a whole number from 0")
]
_Classes = Annotated[
  int | None,
  pydantic.Field(ge=0, description="a whole number, 0 for the model's own"),
]
_Limit = Annotated[
  int,
  pydantic.Field(ge=0, description="a whole number from 0 (0: all examples)"),
]
_Seed = Annotated[
  int,
  pydantic.Field(
    ge=0,
    le=conditions.LARGEST_SEED,
    description="a whole number from 0 to 2**63 - 1",
  ),
]
_Mib = Annotated[
  int, pydantic.Field(ge=1, le=1 << 20, description="a number of MiB from 1")
]
_Rate = Annotated[
  float,
  pydantic.Field(gt=0, allow_inf_nan=False, description="a positive number"),
]
_Format = Annotated[
  Literal["", "tfrecord", "array_record"] | None,
  pydantic.Field(
    description="'tfrecord', 'array_record' or '' for the default"
  ),
]
_Names = Annotated[
  str | list[str] | tuple[str, ...],
  pydantic.AfterValidator(_listed),
  pydantic.Field(
    description="names, groups or sets, none empty or twice ('none' for clean"
    " data alone)"
  ),
]
_Levels = Annotated[
  int | list[int] | tuple[int, ...],
  pydantic.AfterValidator(_listed),
  pydantic.Field(description="whole numbers, at least one and none twice"),
]
_Spec = Annotated[
  dict[str, Any],
  pydantic.Field(description="fields of the model's spec"),
]
# Keys of `data` that not every task reads: `Task.condition_keys`, `own_keys`.
_OF_SOME_TASKS = frozenset(
  {
    "corruptions",
    "difficulties",
    "label_space",
    "merge",
    "perturbations",
    "rules",
    "sampling",
    "severities",
    "views",
  }
)
_Seen = Annotated[
  str | list[str] | tuple[str, ...],
  pydantic.Field(description="names of corruptions, or 'none'"),
]
_closed = pydantic.with_config(pydantic.ConfigDict(extra="forbid"))


@_closed
class _Train(TypedDict, total=False):
  """How a small model is trained: `eval/run/train.py`."""

  dataset: Required[_Name]
  split: Required[_Name]
  steps: Required[_Positive]
  batch_size: Required[_Batch]
  learning_rate: Required[_Rate]
  seed: Required[_Seed]
  flip: _Flag
  crop_px: _From0


@_closed
class _Model(TypedDict, total=False):
  """One model of a run."""

  name: Required[_Name]
  label: _Text
  checkpoint: _Path
  num_classes: _Classes
  dtype: _Text
  allow_random: _Flag
  short_px: _Positive
  long_px: _Positive
  spec: _Spec
  classes: _Path
  trained_on: _Text
  corruptions_seen: _Seen
  train: _Train


@_closed
class _Data(TypedDict, total=False):
  """What a run reads, and what is made of it."""

  name: Required[_Name]
  split: Required[_Name]
  config: _Text
  source: _Name
  codec: _Text
  geometry: _Text
  corruptions: _Names
  perturbations: _Names
  severities: _Levels
  difficulties: _Levels
  views: _Positive
  sampling: _Name
  label_space: _Path
  merge: _Text
  rules: _Text
  limit: _Limit
  subset: _Path
  data_dir: _Path
  manual_dir: _Path
  frost_dir: _Path
  file_format: _Format
  block_mib: _Mib


@_closed
class _Config(TypedDict, total=False):
  """A run."""

  task: _Name
  seed: _Seed
  batch_size: Required[_Batch]
  baseline: Annotated[str, pydantic.Field(description="a text")]
  reports: _Flag
  data: Required[_Data]
  model: _Model
  models: dict[str, _Model]


_ADAPTER = pydantic.TypeAdapter(_Config)


def check(config: ml_collections.ConfigDict) -> None:
  """Refuses a config that does not fit the schema.

  Raises:
    UserError: begins with the key: `config.data.limit: got -1, expected a whole
      number from 0`; of unknown keys with the nearest one.
  """
  if not isinstance(config, ml_collections.ConfigDict):
    raise errors.UserError(
      "config: get_config() must return an ml_collections.ConfigDict, got"
      f" {type(config).__name__}."
    )
  values = _plain(config.to_dict())
  try:
    _ADAPTER.validate_python(values, strict=True)
  except pydantic.ValidationError as e:
    first = e.errors(include_url=False, include_context=False)[0]
    raise _refusal(first["type"], _keys(first["loc"]), values) from e
  _check_specs(values)
  if values.get("model") and values.get("models"):
    raise errors.UserError(
      "config.model and config.models are both set, and a run reads one of them:"
      " put all models into config.models."
    )


def _check_specs(values: Mapping[str, Any]) -> None:
  """Of every model: its spec's fields."""
  entries = {"config.model": values.get("model", {})}
  for label, entry in values.get("models", {}).items():
    entries[f"config.models.{label}"] = entry
  for path, entry in entries.items():
    model_keys.check(entry, path)


def check_keys(task: base.Task) -> None:
  """Refuses keys of `data` that the task does not read, or misses.

  Raises:
    UserError: begins with the key.
  """
  data, name = task.setting.data, task.facts.task
  read = (*task.condition_keys, *task.own_keys)
  for key in task.condition_keys:
    if key not in data:
      raise errors.UserError(
        f"config.data.{key}: missing, expected {_field(['data', key])[1]}: task"
        f" {name} needs it."
      )
  for key in sorted(_OF_SOME_TASKS):
    if key in data and key not in read:
      raise errors.UserError(
        f"config.data.{key}: got {data[key]!r}, which task {name} does not read."
        f" Leave it out; of such keys it reads {', '.join(read) or 'none'}."
      )


def _plain(value: Any) -> Any:
  """Without numpy's scalars, empty recipes and models without a name."""
  if isinstance(value, np.generic):
    return value.item()
  if not isinstance(value, Mapping):
    return value
  out = {k: _plain(v) for k, v in value.items()}
  if not out.get("train", True):
    del out["train"]
  if "models" in out and not out.get("model", {}).get("name", True):
    del out["model"]  # `models` is read then
  return out


def _keys(loc: Sequence[Any]) -> list[str]:
  """The keys of the config that lead to a fault; unions add parts of theirs."""
  kind: Any = _Config
  keys = []
  for part in loc:
    if typing.get_origin(kind) is dict:
      kind = typing.get_args(kind)[1]
    elif is_typeddict(kind):
      kind = get_type_hints(kind).get(part)
    else:
      break
    keys.append(str(part))
  return keys


def _field(keys: Sequence[str]) -> tuple[Any, str]:
  """The type that holds the last key, and what is expected there in words."""
  holder: Any = _Config
  kind: Any = _Config
  for key in keys:
    holder = kind
    if typing.get_origin(kind) is dict:
      kind = typing.get_args(kind)[1]
      continue
    kind = get_type_hints(kind, include_extras=True).get(key)
    if typing.get_origin(kind) is Required:
      (kind,) = typing.get_args(kind)
  for note in getattr(kind, "__metadata__", ()):
    if isinstance(note, pydantic.fields.FieldInfo) and note.description:
      return holder, note.description
  return holder, "a group of settings"


def _refusal(fault: str, keys: Sequence[str], values: Any) -> errors.UserError:
  path = ".".join(("config", *keys))
  holder, expected = _field(keys)
  if fault == "extra_forbidden":
    unknown = errors.unknown("key", keys[-1], get_type_hints(holder))
    return errors.UserError(f"{path}: {unknown}")
  if fault == "missing":
    return errors.UserError(f"{path}: missing, expected {expected}.")
  for key in keys:
    values = values[key]
  return errors.UserError(f"{path}: got {values!r}, expected {expected}.")
