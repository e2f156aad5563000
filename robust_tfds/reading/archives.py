"""Opens archives as they were downloaded: tar, tar.gz and zip.

Members are read in place, nothing is unpacked unless asked for. What is not a
plain file of a plain name (links, devices, sparse files, absolute paths, `..`,
names that are not UTF-8 or stand twice, encrypted members, bombs) and what does
not end properly is refused: a set that is short by a part of its pictures looks
like any other.
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
_UTF8, _ENCRYPTED = 0x800, 0x1  # bits of an entry's flags
_END = b"PK\x05\x06"  # begins the record at the end, of 22 bytes and a comment
_END_BYTES = 22
_KNOWN = (
  zipfile.ZIP_STORED,
  zipfile.ZIP_DEFLATED,
  zipfile.ZIP_BZIP2,
  zipfile.ZIP_LZMA,
)


def members(
  path: str | os.PathLike, belongs: Callable[[str], bool] | None = None
) -> Iterator[Member]:
  """List the plain files of a tar or zip archive, in its order, without their bytes.

  Args:
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
  names: set[str] = set()
  fault: errors.UserError | None = None
  for entry in _opened(path).infolist():
    if entry.is_dir():
      continue
    name = _name(entry)
    ours = belongs(members_lib.plain_name(name))
    what = members_lib.name_fault(name) or _fault(entry)
    if what and not fault:
      fault = members_lib.refusal(path, name, what)
    if fault and (ours or names):
      raise fault
    if ours:
      yield _member(path, name, entry, names)


def _data_of_zip(member: members_lib.Member) -> bytes:
  """Return a member's bytes, compared with their checksum.

  Raises:
    UserError: damaged, or encrypted.
  """
  try:
    return _opened(member.archive).read(member.entry)
  except errors.UserError:
    raise
  except (*members_lib.BROKEN_ZIP, KeyError) as e:
    raise errors.UserError(
      f"{member.where}: it cannot be unpacked ({e}). Download the archive again."
    ) from e


def _member(
  path: str, name: str, entry: zipfile.ZipInfo, names: set[str]
) -> members_lib.Member:
  plain = members_lib.plain_name(name)
  if plain in names:
    raise members_lib.refusal(path, name, "it is there twice")
  names.add(plain)
  source = f"{path}: {plain}"
  members_lib.check_growth(entry.file_size, entry.compress_size, source)
  return members_lib.Member(path, plain, entry.file_size, entry=entry.filename)


def _name(entry: zipfile.ZipInfo) -> str:
  """Return an entry's name; bytes that are not UTF-8 become surrogates."""
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
  """Open a zip in one state; an archive that was replaced is opened again."""
  file = path if paths.is_local(path) else paths.opened(path)  # stays open
  try:
    archive = zipfile.ZipFile(file)
  except members_lib.BROKEN_ZIP as e:
    raise _not_whole(path, str(e)) from e
  _check_end(path, state.size, archive)
  packed = sum(entry.compress_size for entry in archive.infolist())
  if packed > state.size:
    raise _not_whole(
      path, f"its members take {packed:,} bytes of a file of {state.size:,}"
    )
  unpacked = sum(entry.file_size for entry in archive.infolist())
  members_lib.check_growth(unpacked, packed, path)
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
