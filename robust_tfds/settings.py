"""Configs, typed: what values may be, and refusals that begin with the key."""

import pathlib
import typing
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import numpy as np
import pydantic

from robust_tfds import conditions, errors
from robust_tfds.records import Record

# A type, its limits, and what is expected in words.
Name = Annotated[str, pydantic.Field(min_length=1, description="a name")]
Text = Annotated[
  str | None, pydantic.Field(description="a text, empty for none")
]
Path = Annotated[
  str | pathlib.PurePath | None,
  pydantic.Field(description="a path, empty for none"),
]
Flag = Annotated[bool, pydantic.Field(description="True or False")]
Positive = Annotated[
  int, pydantic.Field(ge=1, description="a whole number from 1")
]
Batch = Annotated[
  int,
  pydantic.Field(
    ge=1, le=1 << 20, description="a whole number from 1 to 1,048,576"
  ),
]
From0 = Annotated[
  int, pydantic.Field(ge=0, description="a whole number from 0")
]
Classes = Annotated[
  int | None,
  pydantic.Field(ge=0, description="a whole number, 0 for the model's own"),
]
Limit = Annotated[
  int,
  pydantic.Field(ge=0, description="a whole number from 0 (0: all examples)"),
]
Seed = Annotated[
  int,
  pydantic.Field(
    ge=0,
    le=conditions.LARGEST_SEED,
    description="a whole number from 0 to 2**63 - 1",
  ),
]
Rate = Annotated[
  int | Annotated[float, pydantic.Field(allow_inf_nan=False)],
  pydantic.Field(gt=0, description="a positive number"),
]
Share = Annotated[
  float | int,
  pydantic.Field(ge=0, lt=1, description="a number from 0 to below 1"),
]
NotNegative = Annotated[
  float | int,
  pydantic.Field(
    ge=0, allow_inf_nan=False, description="a number of 0 or more"
  ),
]


def between(least: float, most: float, kind: type = float) -> Any:
  """Return the type of numbers in a range, whole ones if `kind` is int."""
  whole = "whole " * (kind is int)
  words = f"a {whole}number from {least:g} to {most:g}"
  number = kind if kind is int else int | float
  return Annotated[number, pydantic.Field(ge=least, le=most, description=words)]


# What is expected where a type has no limits of its own.
_WORDS = {str: "a text", int: "a whole number", float: "a number"}


class Group(Record):
  """Keys that stand together."""


T = TypeVar("T", bound=Group)


def validated(
  kind: type[T], values: Mapping[str, Any], place: str = "config"
) -> T:
  """Check values of a config by their type.

  Args:
    place: the key that the values stand in, with which refusals begin.

  Raises:
    UserError: begins with the key: `config.data.limit: got -1, expected a whole
      number from 0`; of unknown keys with the nearest one.
  """
  try:
    return kind.model_validate(values)
  except pydantic.ValidationError as e:
    fault = e.errors(include_url=False, include_context=False)[0]
    raise _refusal(place, kind, fault["type"], fault["loc"], values) from e


def defaults(kind: type[Group]) -> dict[str, Any]:
  """Return the keys of a group that may be left out, with what they are then.

  The type of a default says how a flag is read: names with commas are a text.
  """
  out = {}
  for name, field in kind.model_fields.items():
    parts = (field.annotation, *typing.get_args(field.annotation))
    grouped = any(
      typing.get_origin(part) is dict or is_group(part) for part in parts
    )
    if field.is_required() or grouped:
      continue
    out[name] = field.default
    if field.default is None:
      out[name] = placeholder(field.annotation)
    elif field.default == () and str in parts:
      out[name] = ""
  return out


def placeholders(kinds: Mapping[str, Any]) -> dict[str, Any]:
  """Return the fields of specs as `defaults` returns keys.

  Args:
    kinds: name of a field -> a kind of spec that has it.
  """
  return {n: placeholder(k.fields()[n].annotation) for n, k in kinds.items()}


def placeholder(kind: Any) -> Any:
  """Return no value yet, of a type that says how a flag is read."""
  from ml_collections import config_dict

  return config_dict.placeholder(_plain_type(kind))


def _plain_type(kind: Any) -> type:
  """Return the class of which values of a type are, as a flag reads them.

  Of several a text, or a tuple; else the last: a number may be whole.
  """
  if typing.get_origin(kind) is Annotated:
    return _plain_type(typing.get_args(kind)[0])
  parts = [p for p in typing.get_args(kind) if p is not type(None)]
  origins = [typing.get_origin(p) or p for p in parts]
  form = typing.get_origin(kind)
  if form is typing.Literal or str in origins:
    return str
  if form is tuple or tuple in origins:
    return tuple
  return _plain_type(parts[-1]) if parts else kind


def plain(value: Any) -> Any:
  """Return the values of a config without numpy's scalars."""
  if isinstance(value, Mapping):
    return {k: plain(v) for k, v in value.items()}
  return value.item() if isinstance(value, np.generic) else value


def _refusal(
  place: str,
  root: type[Group],
  fault: str,
  location: tuple[int | str, ...],
  values: Any,
) -> errors.UserError:
  """Return the error that says what of a value is not as it should be."""
  group, keys, expected = _place(root, location)
  path = ".".join((place, *keys))
  if fault == "extra_forbidden":
    unknown = errors.unknown_error("key", keys[-1], group.model_fields)
    return errors.UserError(f"{path}: {unknown}")
  if fault == "missing":
    return errors.UserError(f"{path}: missing, expected {expected}.")
  for key in keys:
    values = values[key]
  return errors.UserError(f"{path}: got {values!r}, expected {expected}.")


def _place(
  root: type[Group],
  location: tuple[int | str, ...],
) -> tuple[type[Group], list[str], str]:
  """Return a fault's group, the keys that lead to it, and what is expected."""
  group = root
  kind: Any = root
  keys: list[str] = []
  expected = "a group of settings"
  for part in map(str, location):
    if typing.get_origin(kind) is dict:
      (_, kind) = typing.get_args(kind)
      keys.append(part)
      continue
    groups = [k for k in (kind, *typing.get_args(kind)) if is_group(k)]
    if not groups:
      break  # unions and lists add parts of theirs
    (group,) = groups
    keys.append(part)
    if part not in group.model_fields:
      break
    field = group.model_fields[part]
    kind = field.annotation
    words = _WORDS.get(kind, "a group of settings")
    expected = field.description or _described(kind) or words
  return group, keys, expected


def _described(kind: Any) -> str:
  """Return the description of a type, or of one that may be None; else ''."""
  for part in typing.get_args(kind):
    for fact in getattr(part, "__metadata__", ()):
      if text := getattr(fact, "description", None):
        return str(text)
  return ""


def is_group(kind: Any) -> bool:
  """Return whether a type is one of keys that stand together."""
  return isinstance(kind, type) and issubclass(kind, Group)
