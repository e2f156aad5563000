"""Recipes: one file each, which holds one subclass of `base.Recipe`.

The folder is the registry: `config.recipe.name` is a file's name, the other keys of
`config.recipe` are the fields of its class.
"""

import dataclasses
import pkgutil
import typing
from collections.abc import Mapping
from typing import Any

import pydantic

from robust_tfds import errors, registry, settings
from robust_tfds.models.training.recipes import base

_BASE = "base"


def names() -> tuple[str, ...]:
  """Names of all recipes."""
  return tuple(
    m.name for m in pkgutil.iter_modules(__path__) if m.name != _BASE
  )


def kind_of(name: str) -> Any:
  """The class of a recipe by its name, of `base.Recipe`.

  Raises:
    UserError: no such recipe.
  """
  if name not in names():
    raise errors.unknown("recipe", name, names())
  return registry.only_class(f"{__name__}.{name}", base.Recipe)


def of(config: Mapping[str, Any]) -> base.Recipe:
  """The recipe that a config names.

  Raises:
    UserError: no such recipe, a field that it does not have, with the nearest, or a
      value out of its range.
  """
  fields = dict(config)
  name = fields.pop("name", "")
  kind = kind_of(name)
  tuples = {
    k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()
  }
  settings.validated(_config(kind), {"recipe": tuples})
  recipe: base.Recipe = kind(**tuples)
  return recipe


def defaults(name: str) -> dict[str, Any]:
  """Fields of a recipe -> their values where a config names none; {} of no recipe."""
  if name not in names():
    return {}
  fields = dataclasses.fields(kind_of(name))
  return {field.name: field.default for field in fields}


def _config(kind: type[base.Recipe]) -> type[settings.Group]:
  """What a config may say of a recipe: the types of its fields, with their limits."""
  hints = typing.get_type_hints(kind, include_extras=True)
  fields: dict[str, Any] = {
    field.name: (hints[field.name], field.default)
    for field in dataclasses.fields(kind)
  }
  keys = pydantic.create_model("Keys", __base__=settings.Group, **fields)
  return pydantic.create_model(
    "Config", __base__=settings.Group, recipe=(keys, ...)
  )
