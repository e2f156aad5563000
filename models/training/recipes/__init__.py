"""Recipes: one file each, which holds one subclass of `base.Recipe`.

The folder is the registry: `config.recipe.name` is a file's name, the other keys of
`config.recipe` are the fields of its class.
"""

import dataclasses
import pkgutil
from collections.abc import Mapping
from typing import Any

from robust_tfds import errors, registry
from robust_tfds.models.training.recipes import base

_BASE = "base"


def names() -> tuple[str, ...]:
  """Names of all recipes."""
  return tuple(
    m.name for m in pkgutil.iter_modules(__path__) if m.name != _BASE
  )


def of(config: Mapping[str, Any]) -> base.Recipe:
  """The recipe that a config names.

  Raises:
    UserError: no such recipe, or a field that it does not have, with the nearest.
  """
  fields = dict(config)
  name = fields.pop("name", "")
  if name not in names():
    raise errors.unknown("recipe", name, names())
  kind = registry.only_class(f"{__name__}.{name}", base.Recipe)
  known = [field.name for field in dataclasses.fields(kind)]
  for field in fields:
    if field not in known:
      raise errors.unknown(f"key of config.recipe ({name})", field, known)
  tuples = {
    k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()
  }
  recipe: base.Recipe = kind(**tuples)
  return recipe
