"""Variables of a model: a nested dict of arrays with string keys.

A plain pytree: orbax, optax and sharding need to know nothing of flax.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from robust_tfds import errors

Variables = dict[str, Any]
Path = tuple[str, ...]


def flatten(variables: Mapping[str, Any]) -> dict[Path, Any]:
  """Nested dict -> path -> array; a place of a list is named by its number."""
  leaves = jax.tree_util.tree_flatten_with_path(variables)[0]
  return {
    tuple(jax.tree_util.keystr((k,), simple=True) for k in path): leaf
    for path, leaf in leaves
  }


def replace(
  variables: Mapping[str, Any], arrays: Mapping[Path, Any]
) -> Variables:
  """The same tree with other arrays at some paths."""
  flat = flatten(variables)
  tree = jax.tree.structure(variables)
  return jax.tree.unflatten(tree, {**flat, **arrays}.values())


def nest(flat: Mapping[tuple[Any, ...], Any]) -> Variables:
  """Path -> array, as a nested dict with string keys; undoes `flatten`."""
  nested: Variables = {}
  for path, leaf in flat.items():
    *parents, last = as_text(path)
    node = nested
    for parent in parents:
      node = node.setdefault(parent, {})
    node[last] = leaf
  return nested


def as_text(path: Iterable[Any]) -> Path:
  """A path whose parts are strings: flax counts places of lists in numbers."""
  return tuple(str(part) for part in path)


def check_shapes(
  name: str,
  expected: Mapping[Path, tuple[int, ...]],
  arrays: Mapping[Path, Any],
) -> None:
  """Refuses arrays that are not a model's.

  Args:
    name: the model's, for errors.
    expected: shape of every array of the model.
    arrays: what was given in their place.

  Raises:
    UserError: names the first array that is missing, of another shape, or
      left over.
  """
  for path, shape in expected.items():
    got = np.shape(arrays[path]) if path in arrays else "nothing"
    if got != shape:
      raise errors.UserError(
        f"Variables do not fit {name}: at {'/'.join(path)} got {got},"
        f" expected {shape}. Make them with its `init` or with"
        f" models.convert.load({name!r}, checkpoint)."
      )
  extra = sorted(set(arrays) - set(expected))
  if extra:
    raise errors.UserError(
      f"Variables do not fit {name}: it has no {'/'.join(extra[0])}"
      f" ({len(extra)} arrays too many)."
    )
