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

from models.training.recipes import base
from robust_tfds import errors, registry, settings

_BASE = "base"


def names() -> tuple[str, ...]:
  """Return the names of all recipes."""
  return tuple(
    m.name for m in pkgutil.iter_modules(__path__) if m.name != _BASE
  )


def kind_of(name: str) -> Any:
  """Return the class of a recipe by its name, a subclass of `base.Recipe`.

  Raises:
    UserError: the recipe is unknown.
  """
  if name not in names():
    raise errors.unknown_error("recipe", name, names())
  return registry.only_class(f"{__name__}.{name}", base.Recipe)


def make_recipe(config: Mapping[str, Any]) -> base.Recipe:
  """Return the recipe that a config names.

  Raises:
    UserError: the recipe or a field is unknown (the message suggests the
      nearest), or a value is out of its range.
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
  """Return the default values of a recipe's fields; {} for an unknown recipe."""
  if name not in names():
    return {}
  fields = dataclasses.fields(kind_of(name))
  return {field.name: field.default for field in fields}


def _config(kind: type[base.Recipe]) -> type[settings.Group]:
  """Return the schema of a recipe's config, with the fields' limits."""
  hints = typing.get_type_hints(kind, include_extras=True)
  fields: dict[str, Any] = {
    field.name: (hints[field.name], field.default)
    for field in dataclasses.fields(kind)
  }
  keys = pydantic.create_model("Keys", __base__=settings.Group, **fields)
  return pydantic.create_model(
    "Config", __base__=settings.Group, recipe=(keys, ...)
  )
