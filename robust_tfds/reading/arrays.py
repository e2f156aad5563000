"""NumPy files of others: .npz and .npy, read by NumPy without pickles."""

import io
import os
import tokenize
import zipfile
from collections.abc import Callable
from typing import IO

import numpy as np

from robust_tfds import errors
from robust_tfds.reading import limits, text_files
from robust_tfds.reading import members as members_lib
from robust_tfds.storage import paths

_PICKLE = (
  "Python objects (a pickle), which can run code and are never read. Save plain"
  " arrays of numbers or text."
)
# What NumPy raises of files that it cannot read; a header is a text in Python's
# grammar, and may promise more than the memory holds.
_BROKEN = (
  *members_lib.BROKEN_ZIP,
  KeyError,
  SyntaxError,
  TypeError,
  MemoryError,
  tokenize.TokenError,
)


def npz_file(
  path: str | os.PathLike, chosen: Callable[[str], bool] | None = None
) -> dict[str, np.ndarray]:
  """Return the arrays of a `.npz` file by name, in the file's order.

  Args:
    chosen: name -> whether that array is read; None: all are.

  Raises:
    UserError: no such file; not a `.npz`; cut off or damaged; a member that is
      not an array, or holds Python objects (pickles, which can run code); more
      bytes than `limits` allow.
  """
  text_files.file_size(path)
  with paths.opened(path) as file:
    return _arrays(file, str(path), chosen)


def npz_bytes(data: bytes, source: str) -> dict[str, np.ndarray]:
  """Return the arrays of a `.npz` file of which the bytes are known.

  Args:
    data: all bytes of the file.
    source: what a refusal begins with, the file's path.

  Raises:
    UserError: see `npz_file`.
  """
  return _arrays(io.BytesIO(data), source)


def _arrays(
  file: IO[bytes], path: str, chosen: Callable[[str], bool] | None = None
) -> dict[str, np.ndarray]:
  try:
    with zipfile.ZipFile(file) as archive:
      limits.check_arrays(sum(m.file_size for m in archive.infolist()), path)
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
      names = [name for name in arrays.files if not chosen or chosen(name)]
      return {name: _array(arrays, name, path) for name in names}
  except errors.UserError:
    raise
  except _BROKEN as e:
    raise errors.UserError(
      f"{path}: not a whole NumPy archive (.npz): {e or 'it ends too early'}."
      " Write or download it again."
    ) from e


def _array(arrays: np.lib.npyio.NpzFile, name: str, path: str) -> np.ndarray:
  try:
    array = arrays[name]
  except _BROKEN as e:
    _check_no_pickle(e, f"{path}: {name!r}")
    raise
  if not isinstance(array, np.ndarray):
    raise errors.UserError(f"{path}: {name!r} is not an array (.npy).")
  return array


def _check_no_pickle(error: Exception, source: str) -> None:
  """Say in words that NumPy met a pickle, if it did."""
  if "allow_pickle" in str(error) or "Python objects" in str(error):
    raise errors.UserError(f"{source}: {_PICKLE}") from error


def npy_file(path: str | os.PathLike, *, mmap: bool = False) -> np.ndarray:
  """Return the array of a `.npy` file.

  Args:
    mmap: whether it is mapped, read-only, instead of read; a bucket's file is
      read.

  Raises:
    UserError: no such file; not a `.npy`; Python objects (pickles, which can run
      code); shorter than its header says.
  """
  size = text_files.file_size(path)
  try:
    if mmap and paths.is_local(path):
      return np.lib.format.open_memmap(os.fspath(path), "r")
    limits.check_arrays(size, str(path))
    with paths.opened(path) as file:
      return np.lib.format.read_array(file, allow_pickle=False)
  except errors.UserError:
    raise
  except _BROKEN as e:
    _check_no_pickle(e, str(path))
    raise errors.UserError(
      f"{path}: not a whole NumPy array (.npy): {e or 'it ends too early'}."
      " Write or download it again."
    ) from e
