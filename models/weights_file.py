"""Weights as a file: one `.npz` without pickles, whose bytes depend on them alone.

Its arrays are named by their paths in the variables: `head/kernel`.
"""

import hashlib
import os
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from etils import epath

from models import variables as variables_lib
from robust_tfds import errors, reading
from robust_tfds.reading import limits
from robust_tfds.storage import disk, npz, paths

FILE = "weights.npz"
EMA_FILE = "weights_ema.npz"  # the mean over a training's steps
DISCLOSURE = "disclosure.json"  # the training's, beside both
_DEEPEST = 32  # names of a path; networks have about ten


def folder_of(checkpoint: str | os.PathLike[str]) -> epath.Path:
  """Return the workdir of a training, from its path or that of weights in it.

  Links are followed, since the disclosure lies beside the weights.
  """
  place = paths.resolved(paths.parse(checkpoint, "checkpoint"))
  return place.parent if place.name in (FILE, EMA_FILE) else place


def sha256(variables: object) -> str:
  """Return a sha256 over the names, shapes, dtypes and bytes of all arrays."""
  digest = hashlib.sha256()
  leaves = jax.tree_util.tree_flatten_with_path(variables)[0]
  for path, leaf in leaves:
    array = np.asarray(leaf)
    head = f"{jax.tree_util.keystr(path)}|{array.shape}|{array.dtype}|"
    digest.update(head.encode())
    digest.update(np.ascontiguousarray(array).tobytes())
  return digest.hexdigest()


def write(file: epath.Path, variables: Any) -> None:
  """Write variables; equal ones give equal bytes."""
  flat = variables_lib.flatten(variables)
  with disk.writing(file.parent):
    file.parent.mkdir(parents=True, exist_ok=True)
    arrays = {"/".join(names): array for names, array in flat.items()}
    disk.write_bytes(file, npz.archived(arrays))


def read(file: epath.Path, expected: str | None) -> Any:
  """Read variables and compare them with their sha256.

  Args:
    file: a file from `write`.
    expected: sha256 of the variables in the model's facts.

  Raises:
    UserError: the file does not exist, or holds other weights.
  """
  variables = variables_of(file)
  got = sha256(variables)
  if got != expected:
    raise errors.UserError(
      f"{file}: these weights have the sha256 {got}, but the facts of the model"
      f" say {expected}."
    )
  return variables


def variables_of(file: epath.Path) -> Any:
  """Read the variables of a file from `write`.

  Raises:
    UserError: the file does not exist, or holds something else.
  """
  data = reading.file_bytes(file, limit=limits.ARRAY_BYTES)
  arrays = reading.npz_bytes(data, str(file))
  for name, array in arrays.items():
    _check_array(f"{file}: {name[:100]!r}", name.split("/"), array)
  flat = {tuple(name.split("/")): array for name, array in arrays.items()}
  try:
    return variables_lib.nest(flat)
  except (TypeError, AttributeError, IndexError) as e:  # a path below an array
    raise errors.UserError(f"{file}: these are no variables ({e}).") from e


def _check_array(source: str, names: Sequence[str], array: np.ndarray) -> None:
  """Refuse an array that cannot be among a network's weights."""
  if not all(names) or len(names) > _DEEPEST:
    raise errors.UserError(
      f"{source}: expected a path of 1 to {_DEEPEST} names, got {len(names):,}."
    )
  if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
    raise errors.UserError(
      f"{source}: expected finite numbers, got {array.dtype} or NaN or infinite"
      " values."
    )
