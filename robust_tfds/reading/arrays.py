"""Reads NumPy files of others safely: .npz and .npy.

Pickles, which can run code, are refused, and so is a file whose header promises
more numbers than the file can hold: nothing is allocated for it.
"""

import io
import math
import os
import tokenize
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import IO

import numpy as np

from robust_tfds import errors
from robust_tfds.reading import limits, text_files
from robust_tfds.reading import members as members_lib
from robust_tfds.storage import paths

_SUFFIX = ".npy"
_BLOCK = 1 << 18  # bytes
# What NumPy raises of a header, which is a text in Python's grammar.
_NO_HEADER = (
  ValueError,
  KeyError,
  SyntaxError,
  TypeError,
  EOFError,
  MemoryError,
  RecursionError,
  tokenize.TokenError,
)


def npz_file(
  path: str | os.PathLike, chosen: Callable[[str], bool] | None = None
) -> dict[str, np.ndarray]:
  """The arrays of a `.npz` file by name, in the file's order.

  Args:
    chosen: of a name, whether that array is read; None: all are.

  Raises:
    UserError: no such file; not a `.npz`; cut off or damaged; a member that is
      not an array, stands twice, holds Python objects (pickles, which can run
      code), or promises more than the file can hold.
  """
  size = text_files.file_size(path)
  return _arrays(paths.opened(path), size, str(path), chosen)


def npz_bytes(data: bytes, source: str) -> dict[str, np.ndarray]:
  """The arrays of a `.npz` file of which the bytes are known, as `npz_file`.

  Args:
    data: all bytes of the file.
    source: what a refusal begins with, the file's path.

  Raises:
    UserError: see `npz_file`.
  """
  return _arrays(io.BytesIO(data), len(data), source)


def _arrays(
  opening: AbstractContextManager[IO[bytes]],
  size: int,
  path: str,
  chosen: Callable[[str], bool] | None = None,
) -> dict[str, np.ndarray]:
  try:
    with opening as file, zipfile.ZipFile(file) as archive:
      members = archive.infolist()
      _check_members(path, members, size)
      return {
        member.filename.removesuffix(_SUFFIX): _member(path, archive, member)
        for member in members
        if chosen is None or chosen(member.filename.removesuffix(_SUFFIX))
      }
  except errors.UserError:
    raise
  except members_lib.BROKEN_ZIP as e:
    raise errors.UserError(
      f"{path}: not a whole NumPy archive (.npz): {e or 'it ends too early'}."
      " Write or download it again."
    ) from e


def _check_members(
  path: str | os.PathLike, members: list[zipfile.ZipInfo], size: int
) -> None:
  seen: set[str] = set()
  for member in members:
    name = member.filename
    if not name.endswith(_SUFFIX):
      raise errors.UserError(f"{path}: {name!r} is not an array (.npy).")
    if name in seen:
      raise errors.UserError(f"{path}: the array {name!r} stands twice.")
    seen.add(name)
    if member.flag_bits & 1:
      raise errors.UserError(f"{path}: {name!r} is encrypted.")
    if (
      member.file_size
      > limits.UNPACKED_RATIO * min(member.compress_size, size) + 1024
    ):
      raise errors.UserError(
        f"{path}: {name!r} promises {member.file_size:,} bytes, more than the"
        f" {member.compress_size:,} bytes in a file of {size:,} can hold."
      )
  total = sum(member.file_size for member in members)
  limits.check_arrays(total, str(path))


def _member(
  path: str | os.PathLike, archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> np.ndarray:
  source = f"{path}: {member.filename.removesuffix(_SUFFIX)!r}"
  with archive.open(member) as file:
    shape, order, dtype = _header(file, source)
    count = _count(shape, dtype, member.file_size - file.tell(), source)
    data = bytearray(count * dtype.itemsize)
    _fill(file, data, source)
    file.read(1)  # the end of the member, where its checksum is compared
  return np.frombuffer(data, dtype, count).reshape(
    shape, order="F" if order else "C"
  )


def _fill(file: IO[bytes], data: bytearray, source: str) -> None:
  view = memoryview(data)
  place = 0
  while place < len(view):
    # Zip files make copies: small ones stay in the processor's cache.
    block = view[place : place + _BLOCK]
    part = file.readinto(block)  # type: ignore[attr-defined]
    if not part:
      raise errors.UserError(f"{source} ends too early.")
    place += part


def npy_file(path: str | os.PathLike, *, mmap: bool = False) -> np.ndarray:
  """The array of a `.npy` file.

  Args:
    mmap: whether it is mapped, read-only, instead of read; a bucket's file is
      read.

  Raises:
    UserError: no such file; not a `.npy`; Python objects (pickles, which can run
      code); a size that is not what its header says.
  """
  size = text_files.file_size(path)
  source = str(path)
  try:
    with paths.opened(path) as file:
      shape, order, dtype = _header(file, source)
      count = _count(shape, dtype, size - file.tell(), source)
      if count and mmap and paths.is_local(path):
        return np.memmap(
          path, dtype, "r", file.tell(), shape, order="F" if order else "C"
        )
      limits.check_arrays(count * dtype.itemsize, source)
      if paths.is_local(path):
        flat = np.fromfile(file, dtype, count)
      else:
        data = bytearray(count * dtype.itemsize)
        _fill(file, data, source)
        flat = np.frombuffer(data, dtype, count)
      return flat.reshape(shape, order="F" if order else "C")
  except OSError as e:
    raise errors.UserError(f"{path}: cannot be read: {e}.") from e


def _header(
  file: IO[bytes], source: str
) -> tuple[tuple[int, ...], bool, np.dtype]:
  try:
    version = np.lib.format.read_magic(file)
    read = {
      (1, 0): np.lib.format.read_array_header_1_0,
      (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, order, dtype = read(file)
  except _NO_HEADER as e:
    raise errors.UserError(f"{source}: not a NumPy array (.npy).") from e
  if dtype.hasobject:
    raise errors.UserError(
      f"{source}: Python objects (a pickle), which can run code and are never"
      " read. Save plain arrays of numbers or text."
    )
  return shape, order, dtype


def _count(
  shape: tuple[int, ...], dtype: np.dtype, size: int, source: str
) -> int:
  count = math.prod(shape)
  if min(shape, default=0) < 0 or count * dtype.itemsize != size:
    raise errors.UserError(
      f"{source}: the header promises {dtype} {list(shape)}, which are"
      f" {count * dtype.itemsize:,} bytes, but {size:,} follow. The file is cut"
      " off or damaged: write or download it again."
    )
  return count
