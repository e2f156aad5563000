"""Archives of arrays (`.npz`) that hold their members and nothing else.

What reads a zip file looks for its directory from the end: bytes before the first
member, between members or behind the end are read by nobody, and could be anything.
Here a file is its members one after the other, each its header and data; their
directory; and the record at the end, which says where that is.
"""

import struct
import zipfile
from typing import IO

from etils import epath

from robust_tfds import errors
from robust_tfds.reading import members
from robust_tfds.storage import paths

_MEMBER = struct.Struct("<4s22xHH")  # ..., bytes of its name, of what follows
_ENTRY_BYTES = 46  # of the directory, without the name
_END = struct.Struct(
  "<4s8xLLH"
)  # ..., directory's bytes, offset, comment's bytes
_WIDE = 76  # bytes before the end of an archive above 2 GiB
_MOST_EXTRA = 32  # sizes above 4 GiB


def check(path: epath.Path) -> None:
  """Refuses an archive with bytes that belong to no array.

  Args:
    path: of a `.npz` file.

  Raises:
    UserError: no archive, or one with more than its members. Names it.
  """
  try:
    with paths.opened(path) as file, zipfile.ZipFile(file) as archive:
      fault = _fault(file, archive)
  except (struct.error, *members.BROKEN_ZIP) as e:
    raise errors.UserError(f"{path}: not a whole .npz file ({e}).") from e
  if fault:
    raise errors.UserError(
      f"{path}: {fault}. Expected arrays one after the other and nothing else,"
      " as this package writes them: write the file again."
    )


def _fault(file: IO[bytes], archive: zipfile.ZipFile) -> str:
  """What is wrong with the places of members; empty where nothing is."""
  size = file.seek(0, 2)
  place, directory = 0, 0
  for entry in sorted(archive.infolist(), key=lambda e: e.header_offset):
    if entry.header_offset != place:
      return f"foreign bytes before {entry.filename!r}"
    header = _read(file, place, _MEMBER)
    if entry.compress_type != zipfile.ZIP_STORED:  # could grow a thousandfold
      return f"{entry.filename!r} is compressed"
    if entry.comment or max(len(entry.extra), header[2]) > _MOST_EXTRA:
      return f"foreign bytes beside the name {entry.filename!r}"
    place += _MEMBER.size + header[1] + header[2] + entry.compress_size
    directory += _ENTRY_BYTES + header[1] + len(entry.extra)
  return _end_fault(file, place, directory, size)


def _end_fault(file: IO[bytes], place: int, directory: int, size: int) -> str:
  """Of the directory that begins at a place, and of the end."""
  mark, length, start, comment = _read(file, size - _END.size, _END)
  if mark != b"PK\x05\x06" or comment:
    return "foreign bytes behind the end of the archive"
  wide = 0xFFFFFFFF in (length, start)
  end = place + directory + _WIDE * wide + _END.size
  if end != size or (not wide and (length, start) != (directory, place)):
    return "foreign bytes between its members and its end"
  return ""


def _read(file: IO[bytes], place: int, what: struct.Struct) -> tuple:
  file.seek(place)
  return what.unpack(file.read(what.size))
