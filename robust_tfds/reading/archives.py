"""Opens archives as they were downloaded: tar, tar.gz and zip.

Members are read in place, nothing is unpacked unless asked for. What is not a
plain file of a plain name (links, devices, sparse files, absolute paths, `..`,
names that are not UTF-8 or stand twice, encrypted members, bombs) and what does
not end properly is refused: a set that is short by a part of its pictures looks
like any other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from etils import epath

from robust_tfds import errors
from robust_tfds.reading import members as members_lib
from robust_tfds.reading import tar_files, text, zip_files
from robust_tfds.storage import paths

Member = members_lib.Member
_COMPLETE = ".complete"  # a file in what was unpacked into a bucket
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the second is an empty one


def members(
  path: str | os.PathLike, belongs: Callable[[str], bool] | None = None
) -> Iterator[Member]:
  """The plain files of a tar or zip archive, in its order; not their bytes.

  Args:
    path: of the archive.
    belongs: name -> whether a member is part of what is read; None for all.
      Others are passed over. Where some belong, all members have to be in order.

  Yields:
    Members for `data`. The archive's end is compared after the last one, so
    that only a caller who takes all of them knows that it is whole.

  Raises:
    UserError: not an archive, cut off (also between two members), without its
      end mark or with something after it; a member that is no plain file, is
      encrypted, has a name twice or one that leads elsewhere, or grows beyond
      measure. Begins with the archive and the member.
  """
  archive = _checked(path)
  read = zip_files.listed if _is_zip(archive) else tar_files.listed
  yield from read(archive, belongs or _all)


def contents(
  path: str | os.PathLike, belongs: Callable[[str], bool] | None = None
) -> Iterator[tuple[Member, bytes]]:
  """As `members` with the bytes of each, in one pass; of a tar.gz too."""
  archive = _checked(path)
  if _is_zip(archive):
    for member in zip_files.listed(archive, belongs or _all):
      yield member, zip_files.data(member)
  else:
    yield from tar_files.contents(archive, belongs or _all)


def data(member: Member) -> bytes:
  """The bytes of a member of a plain tar or a zip.

  Raises:
    UserError: the archive is cut off or damaged; begins with archive and member.
    OSError: the archive is gone.
  """
  if member.offset is None:
    return zip_files.data(member)
  return tar_files.at_offset(member)


def gunzipped(path: str | os.PathLike) -> bytes:
  """The bytes of one file that gzip compressed.

  Raises:
    UserError: no such file; not gzip's, cut off or damaged; it grows beyond
      measure.
  """
  return tar_files.gunzipped(_checked(path))


def extract(path: str | os.PathLike, folder: str | os.PathLike) -> epath.Path:
  """Unpacks an archive whole, or not at all; one that was unpacked is kept.

  Args:
    path: of the archive.
    folder: for its contents; made when they are complete, or where there are no
      folders marked as complete.

  Returns:
    The folder.

  Raises:
    UserError: as `members`.
    OSError: no room, or the folder cannot be written.
  """
  whole = paths.of(folder)
  if not paths.is_local(whole):
    if not (whole / _COMPLETE).exists():
      _unpack(path, whole)
      (whole / _COMPLETE).write_bytes(b"")
    return whole
  if whole.is_dir():
    return whole
  parts = whole.with_name(f"{whole.name}.unpacking-{os.getpid()}")
  parts.rmtree(missing_ok=True)
  try:
    _unpack(path, parts)
    parts.rename(whole)
  finally:
    parts.rmtree(missing_ok=True)
  return whole


def _unpack(path: str | os.PathLike, folder: epath.Path) -> None:
  folder.mkdir(parents=True, exist_ok=True)
  for member, content in contents(path):
    place = folder / member.name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def _checked(path: str | os.PathLike) -> str:
  """The path of a file; UserError where it is none, or an empty one."""
  name = os.fspath(path)
  if not text.file_size(name):
    raise errors.UserError(f"{name}: empty, expected a tar or zip archive.")
  return name


def _is_zip(path: str) -> bool:
  if path.lower().endswith(".zip"):
    return True
  with paths.opened(path) as file:
    return file.read(4) in _ZIP


def _all(name: str) -> bool:
  del name
  return True
