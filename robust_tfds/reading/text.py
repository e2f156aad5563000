"""Opens text files: UTF-8 alone, with a limit, every refusal with its path."""

from __future__ import annotations

import os

from robust_tfds import errors
from robust_tfds.reading import limits
from robust_tfds.storage import paths

_SIGNATURES = {
  b"\xff\xfe\x00\x00": "UTF-32 text",
  b"\x00\x00\xfe\xff": "UTF-32 text",
  b"\xff\xfe": "UTF-16 text",
  b"\xfe\xff": "UTF-16 text",
  b"\x1f\x8b": "a gzip file",
  b"BZh": "a bzip2 file",
  b"\xfd7zXZ\x00": "an xz file",
  b"PK\x03\x04": "a zip file",
  b"\x93NUMPY": "a NumPy file",
  b"\x89PNG": "a PNG picture",
  b"\xff\xd8\xff": "a JPEG picture",
  b"%PDF": "a PDF document",
}
_BOM = b"\xef\xbb\xbf"


def file_bytes(path: str | os.PathLike, *, limit: int) -> bytes:
  """All bytes of a file that is not larger than the limit.

  Args:
    path: of a file.
    limit: in bytes, one of `limits`.

  Raises:
    UserError: there is no such file, it is a folder, it cannot be read or is
      larger than the limit.
  """
  size = file_size(path)
  limits.check(size, limit, str(path), "bytes")
  try:
    with paths.opened(path) as file:
      return file.read()
  except OSError as e:
    raise _refusal(path, e) from e


def file_size(path: str | os.PathLike) -> int:
  """The size of a file in bytes.

  Raises:
    UserError: there is no such file, or it is not a file.
  """
  try:
    if paths.is_local(path) and not os.path.isfile(path):
      os.stat(path)
      raise IsADirectoryError
    return paths.state(path).size
  except IsADirectoryError as e:
    raise errors.UserError(f"{path}: not a file, expected one.") from e
  except (OSError, ValueError) as e:
    if isinstance(e, errors.UserError):
      raise
    raise _refusal(path, e) from e


def _refusal(path: str | os.PathLike, error: Exception) -> errors.UserError:
  if isinstance(error, FileNotFoundError):
    return errors.UserError(f"{path}: there is no such file.")
  reason = error.strerror if isinstance(error, OSError) else str(error)
  return errors.UserError(f"{path!s}: cannot be read: {reason}.")


def decode(data: bytes, source: str) -> str:
  """Text of UTF-8 bytes, without a byte order mark.

  Args:
    data: the bytes.
    source: what a refusal begins with, a path or `archive: member`.

  Raises:
    UserError: another encoding, another kind of file, or NUL characters.
  """
  for signature, noun in _SIGNATURES.items():
    if data.startswith(signature):
      raise errors.UserError(
        f"{source}: this is {noun}, expected text in UTF-8. Save or unpack it"
        " as such."
      )
  try:
    text = data.removeprefix(_BOM).decode("utf-8")
  except UnicodeDecodeError as e:
    raise errors.UserError(
      f"{source}: byte {e.start} (0x{data[e.start]:02x}) is not UTF-8. Save the"
      " file as UTF-8 text."
    ) from e
  if "\0" in text:
    raise errors.UserError(
      f"{source}: character {text.index(chr(0))} is NUL, expected text in"
      " UTF-8. The file may be damaged, or be UTF-16."
    )
  return text


def text_file(
  path: str | os.PathLike, *, limit: int = limits.TEXT_BYTES
) -> str:
  """The text of a file in UTF-8.

  Raises:
    UserError: see `file_bytes` and `decode`.
  """
  return decode(file_bytes(path, limit=limit), str(path))


def line_list(path: str | os.PathLike) -> list[str]:
  """The lines of a text file without their ends, empty ones included.

  Raises:
    UserError: see `text_file`.
  """
  return text_file(path).splitlines()
