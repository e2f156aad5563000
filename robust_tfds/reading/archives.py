"""Opens archives as they were downloaded: tar, tar.gz and zip.

Members are read in place, nothing is unpacked unless asked for. What is not a
plain file of a plain name (links, devices, sparse files, absolute paths, `..`,
names that are not UTF-8 or stand twice, bombs) and a tar that does not end properly
is refused: a set that is short by a part of its pictures looks like any other.
"""

import functools
import os
import stat
import zipfile
from collections.abc import Callable, Iterator

from etils import epath

from robust_tfds import errors
from robust_tfds.reading import members as members_lib
from robust_tfds.reading import tar_files, text_files
from robust_tfds.storage import paths

Member = members_lib.Member
_COMPLETE = ".complete"  # a file in what was unpacked into a bucket
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the second is an empty one
_UTF8 = 0x800  # a bit of an entry's flags


def members(
  path: str | os.PathLike, belongs: Callable[[str], bool] | None = None
) -> Iterator[Member]:
  """List the plain files of a tar or zip archive, in its order, without their bytes.

  Args:
    belongs: name -> whether a member is part of what is read; None for all.
      Others are passed over. Where some belong, all members have to be in order.

  Yields:
    Members for `data`.

  Raises:
    UserError: not an archive, or a tar that is cut off (also between two members)
      or has something after its end mark; a member that is no plain file, has a
      name twice or one that leads elsewhere, or grows beyond measure. Begins with
      the archive and the member.
  """
  archive = _checked(path)
  read = _listed_zip if _is_zip(archive) else tar_files.list_members
  yield from read(archive, belongs or _all)


def contents(
  path: str | os.PathLike, belongs: Callable[[str], bool] | None = None
) -> Iterator[tuple[Member, bytes]]:
  """Yield members like `members`, each with its bytes, in one pass; also of a tar.gz."""
  archive = _checked(path)
  if _is_zip(archive):
    for member in _listed_zip(archive, belongs or _all):
      yield member, _data_of_zip(member)
  else:
    yield from tar_files.contents(archive, belongs or _all)


def data(member: Member) -> bytes:
  """Return the bytes of a member of a plain tar or a zip.

  Raises:
    UserError: the archive is cut off or damaged; begins with archive and member.
    OSError: the archive is gone.
  """
  if member.offset is None:
    return _data_of_zip(member)
  return tar_files.member_data(member)


def gunzipped(path: str | os.PathLike) -> bytes:
  """Return the bytes of one file that gzip compressed.

  Raises:
    UserError: no such file; not gzip's, cut off or damaged; it grows beyond
      measure.
  """
  return tar_files.gunzipped(_checked(path))


def extract(path: str | os.PathLike, folder: str | os.PathLike) -> epath.Path:
  """Unpack an archive whole, or not at all; one that was unpacked is kept.

  Args:
    folder: for its contents; made when they are complete, or where there are no
      folders marked as complete.

  Returns:
    The folder.

  Raises:
    UserError: as `members`.
    OSError: no room, or the folder cannot be written.
  """
  whole = paths.parse(folder)
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
  """Return the path of a file; raise UserError if there is none or it is empty."""
  name = os.fspath(path)
  if not text_files.file_size(name):
    raise errors.UserError(f"{name}: empty, expected a tar or zip archive.")
  return name


def _is_zip(path: str) -> bool:
  if path.lower().endswith((".zip", ".whl")):
    return True
  with paths.opened(path) as file:
    return file.read(4) in _ZIP


def _all(name: str) -> bool:
  del name
  return True


def _listed_zip(
  path: str, belongs: Callable[[str], bool]
) -> Iterator[members_lib.Member]:
  """List the files of a zip that are to be read; as `tar_files.list_members`."""
  for entry in members_lib.chosen(path, _zip_entries(path), belongs):
    yield Member(path, entry.name, entry.size, entry=entry.raw_name)


def _zip_entries(path: str) -> Iterator[members_lib.Entry]:
  """Yield the entries of a zip but for folders."""
  for info in _opened(path).infolist():
    if info.is_dir():
      continue
    name = _name(info)
    fault = members_lib.name_fault(name)
    if stat.S_ISLNK(info.external_attr >> 16):
      fault = fault or "it is a symbolic link and no plain file"
    yield members_lib.Entry(
      members_lib.plain_name(name),
      info.file_size,
      fault=fault,
      raw_name=info.filename,
    )


def _data_of_zip(member: members_lib.Member) -> bytes:
  """Return a member's bytes, compared with their checksum.

  Raises:
    UserError: damaged, encrypted, or packed by an unknown method.
  """
  try:
    return _opened(member.archive).read(member.entry)
  except errors.UserError:
    raise
  except (*members_lib.BROKEN_ZIP, KeyError) as e:
    raise errors.UserError(
      f"{member.where}: it cannot be unpacked ({e}). Download the archive again."
    ) from e


def _name(entry: zipfile.ZipInfo) -> str:
  """Return an entry's name; bytes that are not UTF-8 become surrogates."""
  if entry.flag_bits & _UTF8 or entry.filename.isascii():
    return entry.filename
  # Without the flag Python takes the bytes for code page 437.
  return entry.filename.encode("cp437").decode("utf-8", "surrogateescape")


def _opened(path: str) -> zipfile.ZipFile:
  return _archive(path, paths.state(path))


@functools.lru_cache(maxsize=4)  # reading the directory of a zip takes 0.1 s
def _archive(path: str, state: paths.State) -> zipfile.ZipFile:
  """Open a zip in one state; an archive that was replaced is opened again."""
  file = path if paths.is_local(path) else paths.opened(path)  # stays open
  try:
    archive = zipfile.ZipFile(file)
  except members_lib.BROKEN_ZIP as e:
    raise errors.UserError(
      f"{path}: not a whole zip archive: {e}. Download it again."
    ) from e
  unpacked = sum(entry.file_size for entry in archive.infolist())
  members_lib.check_growth(unpacked, state.size, path)
  return archive
