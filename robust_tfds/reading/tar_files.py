"""Tar archives, plain or through gzip, read by Python's tarfile.

tarfile ends in silence at a damaged header, at a cut between two members and at
anything that follows the end mark; here each is refused. Of a plain tar the headers
alone are read, so 150 GB take as long as 6 GB of as many members; a compressed one
is unpacked on the way, once.
"""

import gzip
import io
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import IO

from robust_tfds import errors
from robust_tfds.reading import limits, members, tar_index
from robust_tfds.reading.members import Entry
from robust_tfds.storage import paths

_BLOCK = tarfile.BLOCKSIZE
_GZIP = b"\x1f\x8b"
_open = threading.local()
# MemoryError: a header may claim a name of any length.
_BROKEN = (tarfile.TarError, EOFError, OSError, MemoryError, zlib.error)


def list_members(
  path: str, belongs: Callable[[str], bool]
) -> Iterator[members.Member]:
  """List the plain files of a tar that are to be read, in its order.

  Args:
    belongs: see `members.chosen`.

  Raises:
    UserError: see `archives.members`.
  """
  if is_gzip(path):
    raise errors.UserError(
      f"{path}: compressed, expected a plain tar, which is read in place. Unpack"
      " it with gunzip."
    )
  state = paths.state(path)

  def walk() -> Iterator[Entry]:
    with io.BufferedReader(paths.raw(path), _BLOCK) as file:
      yield from _entries(path, file, state.size, 0)

  index = tar_index.find(path, state, walk)
  for entry in members.chosen(path, index.entries(), belongs):
    yield members.Member(
      path, entry.name, entry.size, entry.offset, changed=state.changed
    )


def contents(
  path: str, belongs: Callable[[str], bool]
) -> Iterator[tuple[members.Member, bytes]]:
  """Yield members like `list_members`, each with its bytes; also of a `.tar.gz`."""
  if not is_gzip(path):
    with paths.opened(path) as archive:
      for member in list_members(path, belongs):
        yield member, member_data(member, archive)
    return
  packed = paths.state(path).size
  with paths.opened(path) as source, gzip.open(source) as file:
    entries = _entries(path, file, None, packed)
    for entry in members.chosen(path, entries, belongs):
      member = members.Member(path, entry.name, entry.size, entry.offset)
      try:
        data = file.read(member.size)
      except _BROKEN as e:
        raise _cut(member.where, f"it cannot be unpacked ({e})") from e
      if len(data) != member.size:
        raise _cut(
          member.where, f"the archive ends after {len(data):,} of its bytes"
        )
      yield member, data


def member_data(member: members.Member, file: IO[bytes] | None = None) -> bytes:
  """Return a member's bytes, from its plain tar; `file` is that archive, if open.

  Raises:
    UserError: the archive has become shorter.
  """
  if file is None:
    if not paths.is_local(member.archive):
      return member_data(member, _open_archive(member))
    with open(member.archive, "rb") as file:
      return member_data(member, file)
  file.seek(member.offset or 0)
  data = file.read(member.size)
  if len(data) != member.size:
    raise _cut(
      member.where, f"{len(data):,} of its {member.size:,} bytes are there"
    )
  return data


def _open_archive(member: members.Member) -> IO[bytes]:
  """Open a bucket's archive; each thread keeps its last one open.

  Opening it for each member takes longer than reading the member.
  """
  key = member.archive, member.changed
  if getattr(_open, "key", None) != key:
    _open.file, _open.key = paths.opened(member.archive), key
  return _open.file


def gunzipped(path: str) -> bytes:
  """Unpack a file that gzip compressed; see `archives.gunzipped`."""
  packed = paths.state(path).size
  out = io.BytesIO()
  try:
    with paths.opened(path) as source, gzip.open(source) as file:
      while part := file.read(limits.MIB):
        out.write(part)
        members.check_growth(out.tell(), packed, path)
  except _BROKEN as e:
    raise errors.UserError(
      f"{path}: cannot be unpacked ({e}); fetch it again."
    ) from e
  return out.getvalue()


def is_gzip(path: str) -> bool:
  """Return whether a file is compressed by gzip."""
  with paths.opened(path) as file:
    return file.read(len(_GZIP)) == _GZIP


def _entries(
  path: str, file: io.BufferedIOBase, size: int | None, packed: int
) -> Iterator[Entry]:
  """Yield the entries but for folders; refuse a tar that does not end properly.

  Args:
    size: the file's, None where it is not known.
    packed: size of the compressed file.
  """
  last = ""
  try:
    with tarfile.open(
      fileobj=file, mode="r:", encoding="utf-8", errors="surrogateescape"
    ) as tar:
      while (info := tar.next()) is not None:
        tar.members = []  # type: ignore[attr-defined] # else all are kept
        last = info.name
        _check_size(path, info, tar.offset, size, packed)
        if not info.isdir():
          fault = members.name_fault(info.name) or _kind_fault(info)
          name = members.plain_name(info.name)
          yield Entry(name, info.size, info.offset_data, fault, info.name)
        file.seek(tar.offset)  # else tarfile reads a byte before it
      file.seek(tar.offset)
      _check_end(path, last, file)
  except _BROKEN as e:
    raise _not_whole(path, last, str(e)) from e


def _check_size(
  path: str, entry: tarfile.TarInfo, end: int, size: int | None, packed: int
) -> None:
  """Refuse an entry that reaches beyond the archive's own end."""
  source = f"{path}: {entry.name}"
  if entry.size < 0 or end <= entry.offset:
    raise _cut(source, f"its header claims {entry.size:,} bytes")
  if size is None:
    members.check_growth(end, packed, source)
  elif end > size:
    raise _cut(
      source, f"the archive is cut off inside it, at byte {size:,} of {end:,}"
    )


def _kind_fault(entry: tarfile.TarInfo) -> str:
  if entry.isreg() and entry.sparse is None:  # type: ignore[attr-defined]
    return ""
  return "it is a link, a device or a sparse file, and no plain file"


def _check_end(path: str, last: str, file: io.BufferedIOBase) -> None:
  """Refuse all but two blocks of zeros or more."""
  count = 0
  while rest := file.read(limits.MIB):
    count += len(rest)
    if rest.strip(b"\0"):
      raise _not_whole(path, last, "neither a header nor an end mark follows")
  if count < 2 * _BLOCK:
    raise _not_whole(path, last, "it has no end mark, so it may be cut off")


def _cut(source: str, fault: str) -> errors.UserError:
  return errors.UserError(f"{source}: {fault}. Download the archive again.")


def _not_whole(path: str, last: str, fault: str) -> errors.UserError:
  after = f"after {last!r} " if last else ""
  return errors.UserError(
    f"{path}: not a whole tar archive: {after}{fault}. Download it again."
  )
