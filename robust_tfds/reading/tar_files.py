"""Tar archives in one pass over their headers, plain or through gzip.

Python's own reader ends in silence at a damaged header, at a cut between two
members and at anything that follows the end mark; here each is refused. Of a
plain tar the headers alone are read, so 150 GB take as long as 6 GB of as many
members; a compressed one is unpacked on the way, once.
"""

import gzip
import io
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from robust_tfds import errors
from robust_tfds.reading import limits, members, tar_index
from robust_tfds.storage import paths

_BLOCK = tarfile.BLOCKSIZE
_GZIP = b"\x1f\x8b"
# Of one header with its long names; tarfile reads as much as a header claims.
_HEADER_BYTES = limits.MIB
_KINDS = {
  tarfile.LNKTYPE: "a hard link",
  tarfile.SYMTYPE: "a symbolic link",
  tarfile.CHRTYPE: "a device",
  tarfile.BLKTYPE: "a device",
  tarfile.FIFOTYPE: "a pipe",
}
_open = threading.local()
_BROKEN = (tarfile.TarError, EOFError, OSError, zlib.error)


def list_members(
  path: str, belongs: Callable[[str], bool]
) -> Iterator[members.Member]:
  """List the plain files of a tar that are to be read, in its order.

  Args:
    belongs: name -> whether the member is part of what is read. Links and odd
      names are refused only in an archive that holds such a member.

  Raises:
    UserError: see `archives.members`; also after the last member.
  """
  if is_gzip(path):
    raise errors.UserError(
      f"{path}: compressed, expected a plain tar, which is read in place. Unpack"
      " it with gunzip."
    )
  state = paths.state(path)
  index = tar_index.find(path, state)
  entries = index.entries() if index else _indexed(path, state)
  for entry in _ours(path, entries, belongs):
    yield members.Member(
      path, entry.name, entry.size, entry.offset, changed=state.changed
    )


def _indexed(path: str, state: paths.State) -> Iterator[tar_index.Entry]:
  """Walk over the headers; keep the index if the archive ends properly."""
  recorder = tar_index.Recorder(path, state)
  with _Headers(paths.raw(path), path) as headers:
    for entry in _entries(path, headers, state.size, 0):
      recorder.add(entry)
      yield entry
  recorder.save()


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
  with (
    paths.opened(path) as source,
    gzip.open(source) as file,
    _Headers(file, path) as headers,  # type: ignore[arg-type]
  ):
    for entry in _ours(path, _entries(path, headers, None, packed), belongs):
      member = members.Member(path, entry.name, entry.size, entry.offset)
      try:
        data = headers.data(member.size)
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
      while part := file.read(_HEADER_BYTES):
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


class _Headers(io.BufferedReader):
  """The file as tarfile sees it: headers alone are read through it."""

  def __init__(self, file: io.RawIOBase, path: str):
    super().__init__(file, _BLOCK)
    self._path = path
    self.block = b""  # the last one that was read

  def read(self, size: int | None = -1, /) -> bytes:
    """Read from the file; refuse a size that no header has."""
    if size is None or not 0 <= size <= _HEADER_BYTES:
      raise errors.UserError(
        f"{self._path}: a header at byte {self.tell():,} claims {size or 0:,}"
        " bytes of names: the archive is damaged. Download it again."
      )
    self.block = super().read(size)
    return self.block

  def data(self, size: int) -> bytes:
    """Return what follows a header."""
    return super().read(size)


def _ours(
  path: str, entries: Iterable[tar_index.Entry], belongs: Callable[[str], bool]
) -> Iterator[tar_index.Entry]:
  """Yield the entries that are to be read; refuse faults before the first of them."""
  names: set[str] = set()
  fault: errors.UserError | None = None
  for entry in entries:
    ours = belongs(entry.name)
    if entry.fault and not fault:
      fault = members.refusal(path, entry.raw_name or entry.name, entry.fault)
    if fault and (ours or names):
      raise fault
    if ours:
      if entry.name in names:
        name = entry.raw_name or entry.name
        raise members.refusal(path, name, "it is there twice")
      names.add(entry.name)
      yield entry


def _entries(
  path: str, headers: _Headers, size: int | None, packed: int
) -> Iterator[tar_index.Entry]:
  """Yield the entries but for folders; refuse a tar that does not end properly.

  Args:
    size: the file's, None where it is not known.
    packed: size of the compressed file.
  """
  last = ""
  try:
    with tarfile.open(
      fileobj=headers, mode="r:", encoding="utf-8", errors="surrogateescape"
    ) as tar:
      while (entry := tar.next()) is not None:
        tar.members = []  # type: ignore[attr-defined] # else all are kept
        last = entry.name
        _check_size(path, entry, tar.offset, size, packed)
        if not entry.isdir():
          yield _entry(entry)
        if size is not None:
          headers.seek(tar.offset)  # else tarfile reads a byte before it
      end = tar.offset
  except _BROKEN as e:
    raise _not_whole(path, last, str(e)) from e
  _check_end(path, last, end, headers)


def _entry(info: tarfile.TarInfo) -> tar_index.Entry:
  return tar_index.Entry(
    members.plain_name(info.name),
    info.size,
    info.offset_data,
    members.name_fault(info.name) or _kind_fault(info),
    info.name,
  )


def _check_size(
  path: str, entry: tarfile.TarInfo, end: int, size: int | None, packed: int
) -> None:
  """Refuse an entry that reaches beyond the archive's own end."""
  if entry.size < 0 or end <= entry.offset:
    raise _cut(
      f"{path}: {entry.name}", f"its header claims {entry.size:,} bytes"
    )
  if size is None:
    members.check_growth(end, packed, f"{path}: {entry.name}")
  elif end > size:
    raise _cut(
      f"{path}: {entry.name}",
      f"the archive is cut off inside it, at byte {size:,} of {end:,}",
    )


def _kind_fault(entry: tarfile.TarInfo) -> str:
  if entry.sparse is not None:  # type: ignore[attr-defined]
    return "it is a sparse file"
  if entry.type in tarfile.REGULAR_TYPES:  # type: ignore[attr-defined]
    return ""
  kind = _KINDS.get(entry.type, f"an entry of type {entry.type!r}")
  return f"it is {kind} and no plain file"


def _check_end(path: str, last: str, end: int, headers: _Headers) -> None:
  """Refuse all but two blocks of zeros or more, and nothing after them."""
  block = headers.block
  if not block or (len(block) < _BLOCK and not block.strip(b"\0")):
    raise _not_whole(path, last, "it has no end mark, so it may be cut off")
  if block.strip(b"\0"):
    raise _not_whole(path, last, f"there is no header at byte {end:,}")
  count, rest = 1, b""
  try:
    while rest := headers.read(_HEADER_BYTES):
      if rest.strip(b"\0"):
        break
      count += len(rest) // _BLOCK
  except _BROKEN as e:
    raise _not_whole(path, last, str(e)) from e
  if rest:
    raise _not_whole(path, last, "something follows its end mark")
  if count < 2:
    raise _not_whole(
      path, last, "half of its end mark is missing, so it may be cut off"
    )


def _cut(source: str, fault: str) -> errors.UserError:
  return errors.UserError(f"{source}: {fault}. Download the archive again.")


def _not_whole(path: str, last: str, fault: str) -> errors.UserError:
  after = f"after {last!r} " if last else ""
  return errors.UserError(
    f"{path}: not a whole tar archive: {after}{fault}. Download it again."
  )
