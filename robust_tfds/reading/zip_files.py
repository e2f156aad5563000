"""Zip archives: their directory, and members read one by one."""

from __future__ import annotations

import functools
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator

from robust_tfds import errors
from robust_tfds.reading import members
from robust_tfds.storage import paths

_UTF8, _ENCRYPTED = 0x800, 0x1  # bits of an entry's flags
_END = b"PK\x05\x06"  # begins the record at the end, of 22 bytes and a comment
_END_BYTES = 22
_KNOWN = (
  zipfile.ZIP_STORED,
  zipfile.ZIP_DEFLATED,
  zipfile.ZIP_BZIP2,
  zipfile.ZIP_LZMA,
)
# What reading a broken zip file raises.
BROKEN = (
  zipfile.BadZipFile,
  zlib.error,
  EOFError,
  OSError,
  NotImplementedError,
  RuntimeError,
  ValueError,
)


def listed(
  path: str, belongs: Callable[[str], bool]
) -> Iterator[members.Member]:
  """The files of a zip that belong to what is read; as `tar_files.listed`."""
  names: set[str] = set()
  fault: errors.UserError | None = None
  for entry in _opened(path).infolist():
    if entry.is_dir():
      continue
    name = _name(entry)
    ours = belongs(members.plain_name(name))
    what = members.name_fault(name) or _fault(entry)
    if what and not fault:
      fault = members.refusal(path, name, what)
    if fault and (ours or names):
      raise fault
    if ours:
      yield _member(path, name, entry, names)


def data(member: members.Member) -> bytes:
  """A member's bytes, compared with their checksum.

  Raises:
    UserError: damaged, or encrypted.
  """
  try:
    return _opened(member.archive).read(member.entry)
  except errors.UserError:
    raise
  except (*BROKEN, KeyError) as e:
    raise errors.UserError(
      f"{member.where}: it cannot be unpacked ({e}). Download the archive again."
    ) from e


def _member(
  path: str, name: str, entry: zipfile.ZipInfo, names: set[str]
) -> members.Member:
  plain = members.plain_name(name)
  if plain in names:
    raise members.refusal(path, name, "it is there twice")
  names.add(plain)
  source = f"{path}: {plain}"
  members.check_growth(entry.file_size, entry.compress_size, source)
  return members.Member(path, plain, entry.file_size, entry=entry.filename)


def _name(entry: zipfile.ZipInfo) -> str:
  """The name of an entry; what is neither ASCII nor UTF-8 has surrogates."""
  if entry.flag_bits & _UTF8 or entry.filename.isascii():
    return entry.filename
  # Without the flag Python takes the bytes for code page 437.
  return entry.filename.encode("cp437").decode("utf-8", "surrogateescape")


def _fault(entry: zipfile.ZipInfo) -> str:
  if entry.flag_bits & _ENCRYPTED:
    return "it is encrypted"
  if stat.S_ISLNK(entry.external_attr >> 16):
    return "it is a symbolic link and no plain file"
  if entry.compress_type not in _KNOWN:
    return f"it is compressed by an unknown method ({entry.compress_type})"
  return ""


def _opened(path: str) -> zipfile.ZipFile:
  return _archive(path, paths.state(path))


@functools.lru_cache(maxsize=4)  # reading the directory of a zip takes 0.1 s
def _archive(path: str, state: paths.State) -> zipfile.ZipFile:
  """Of one state of the file: an archive that was replaced is read again."""
  file = path if paths.is_local(path) else paths.opened(path)  # stays open
  try:
    archive = zipfile.ZipFile(file)
  except BROKEN as e:
    raise _not_whole(path, str(e)) from e
  _check_end(path, state.size, archive)
  packed = sum(entry.compress_size for entry in archive.infolist())
  if packed > state.size:
    raise _not_whole(
      path, f"its members take {packed:,} bytes of a file of {state.size:,}"
    )
  unpacked = sum(entry.file_size for entry in archive.infolist())
  members.check_growth(unpacked, packed, path)
  return archive


def _check_end(path: str, size: int, archive: zipfile.ZipFile) -> None:
  with paths.opened(path) as file:
    file.seek(max(0, size - _END_BYTES - len(archive.comment)))
    if file.read(len(_END)) != _END:
      raise _not_whole(path, "something follows its directory")


def _not_whole(path: str, fault: str) -> errors.UserError:
  return errors.UserError(
    f"{path}: not a whole zip archive: {fault}. Download it again."
  )
