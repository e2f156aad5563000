"""Variables of a model: a nested dict of arrays with string keys.

They are a plain pytree, so that orbax, optax and sharding do not depend on flax.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from robust_tfds import errors

Variables = dict[str, Any]
Path = tuple[str, ...]


def flatten(variables: Mapping[str, Any]) -> dict[Path, Any]:
  """Return arrays by path; an item of a list is named by its index."""
  leaves = jax.tree_util.tree_flatten_with_path(variables)[0]
  return {
    tuple(jax.tree_util.keystr((k,), simple=True) for k in path): leaf
    for path, leaf in leaves
  }


def replace(
  variables: Mapping[str, Any], arrays: Mapping[Path, Any]
) -> Variables:
  """Return the same tree with other arrays at some paths."""
  flat = flatten(variables)
  tree = jax.tree.structure(variables)
  return jax.tree.unflatten(tree, {**flat, **arrays}.values())


def nest(flat: Mapping[tuple[Any, ...], Any]) -> Variables:
  """Return a nested dict with string keys; the inverse of `flatten`."""
  nested: Variables = {}
  for path, leaf in flat.items():
    *parents, last = as_text(path)
    node = nested
    for parent in parents:
      node = node.setdefault(parent, {})
    node[last] = leaf
  return nested


def as_text(path: Iterable[Any]) -> Path:
  """Return a path of strings; flax numbers the items of lists."""
  return tuple(str(part) for part in path)


def check_shapes(
  name: str,
  expected: Mapping[Path, tuple[int, ...]],
  arrays: Mapping[Path, Any],
) -> None:
  """Refuse arrays that do not fit a model.

  Args:
    name: name of the model, for errors.
    expected: shape of every array of the model.
    arrays: the arrays.

  Raises:
    UserError: an array is missing, has another shape, or is left over; the
      message names the first.
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
