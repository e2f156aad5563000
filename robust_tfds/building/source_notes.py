"""A note beside a set of what it was made from, compared when it is met again.

A second build of a set that is there makes nothing. Were its sources changed
since, the set would pass for one of theirs: so a note keeps, for each example, a
checksum of what its source says (id, label, annotations, the size of its file),
and for a few examples one of the file's first and last bytes. Names of folders
and times are no part of it: copies, and archives that were unpacked, are the same.
Sources that are gone are no fault; nor are sets without a note, or with one of
another version of this package.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
import os
import types
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from etils import epath
from typing_extensions import TypedDict

from robust_tfds import errors, reading, version
from robust_tfds.reading import archives
from robust_tfds.storage import paths

NAME = "sources.json"
_SAMPLES = 64  # examples whose files are looked into
_BLOCK = 4096  # bytes at either end of such a file
_CRC = np.dtype("<u4")


@dataclasses.dataclass(frozen=True)
class Note:
  """What a set was made from.

  Attributes:
    version: of this package, which may number or name examples otherwise.
    examples: one checksum each, in order: base64 of uint32, little end first.
    blocks: number of an example -> checksum of its files' ends.
  """

  version: str
  examples: str
  blocks: Mapping[str, int]

  def first_other(self, other: Note) -> int | None:
    """The first example that is not the same; None where all are."""
    ours, theirs = self._checksums(), other._checksums()
    count = min(len(ours), len(theirs))
    differing = set(np.flatnonzero(ours[:count] != theirs[:count]).tolist())
    differing |= {
      int(i)
      for i, value in self.blocks.items()
      if other.blocks.get(i, value) != value
    }
    if not differing and len(ours) != len(theirs):
      return count
    return min(differing, default=None)

  def count(self) -> int:
    """How many examples there were."""
    return len(self._checksums())

  def _checksums(self) -> np.ndarray:
    return np.frombuffer(base64.b64decode(self.examples), _CRC)


class _Stored(TypedDict):
  """A note as JSON."""

  version: str
  examples: str
  blocks: dict[str, int]


def of(sources: Sequence[Any]) -> Note:
  """The note of clean examples before decoding, see the kinds of datasets."""
  remote = paths.states({t for s in sources for t in _remote(s)})
  sizes = {path: state.size for path, state in remote.items()}
  checksums = np.array(
    [zlib.crc32("\n".join(_facts(s, sizes)).encode()) for s in sources], _CRC
  )
  numbers = np.linspace(0, len(sources) - 1, min(_SAMPLES, len(sources)))
  blocks = {}
  for number in map(int, numbers):
    ends = b"".join(_ends(sources[number]))
    if ends:
      blocks[str(number)] = zlib.crc32(ends)
  text = base64.b64encode(checksums.tobytes()).decode()
  return Note(version.VERSION, text, blocks)


def write(folder: str | os.PathLike, note: Note) -> None:
  """Lays a note into a set's folder, whole under its name or not at all."""
  path = epath.Path(folder) / NAME
  unfinished = path.with_name(f".{NAME}.{os.getpid()}")
  unfinished.write_text(json.dumps(dataclasses.asdict(note)))
  unfinished.replace(path)


def read(folder: str | os.PathLike) -> Note | None:
  """A set's note; None where it has none, or one of another version.

  Raises:
    UserError: it is damaged.
  """
  path = paths.of(folder) / NAME
  if not path.exists():
    return None
  stored = reading.records(reading.json_file(path), _Stored, str(path))
  note = Note(**stored)
  return note if note.version == version.VERSION else None


def compare(
  folder: str | os.PathLike,
  then: Note,
  sources: Sequence[Any],
  manual_dir: str | os.PathLike,
) -> None:
  """Refuses a set whose sources have changed since.

  Args:
    folder: of the set.
    then: its note.
    sources: what there is now.
    manual_dir: where it lies.

  Raises:
    UserError: names the first example that is another, or how many there were.
  """
  now = of(sources)
  number = then.first_other(now)
  if number is None:
    return
  count = then.count()
  if len(sources) != count:
    change = f"{count:,} examples then, {len(sources):,} now"
  else:
    change = f"the first that changed is {sources[number].example_id!r}"
  raise errors.UserError(
    f"{os.fspath(folder)}: made from other sources than {os.fspath(manual_dir)}"
    f" holds now: {change}. Remove the folder to build the set again; to use it as"
    " it is, name no manual dir."
  )


def _facts(value: Any, sizes: Mapping[str, int]) -> Iterator[str]:
  """What a source says, but for the places of files and for code.

  Args:
    value: a source, or a part of one.
    sizes: of the files of buckets.
  """
  if isinstance(value, archives.Member):
    yield str(value.size)
  elif isinstance(value, str | os.PathLike):
    text = os.fspath(value)
    yield str(sizes[text]) if text in sizes else _size(text)
  elif isinstance(value, np.ndarray):
    yield f"{value.dtype} {value.shape} {zlib.crc32(value.tobytes())}"
  elif isinstance(value, bool | int | float | bytes):
    yield repr(value)
  else:
    for part in _parts(value):
      yield from _facts(part, sizes)


def _remote(value: Any) -> Iterator[str]:
  """The files of buckets that a source names."""
  if isinstance(value, str | os.PathLike):
    if not paths.is_local(value):
      yield os.fspath(value)
  elif not isinstance(value, archives.Member | np.ndarray | bytes):
    for part in _parts(value):
      yield from _remote(part)


def _size(text: str) -> str:
  """A text, or the size of the file that it names."""
  if not os.path.isabs(text):
    return text
  try:
    return str(os.stat(text).st_size)
  except (OSError, ValueError):
    return text


def _ends(value: Any) -> Iterator[bytes]:
  """The first and last bytes of the files of a source; none of a zip's."""
  if isinstance(value, archives.Member):
    if value.offset is not None:
      data = archives.data(value)
      yield data[:_BLOCK] + data[-_BLOCK:]
  elif isinstance(value, str | os.PathLike):
    path = os.fspath(value)
    state = paths.states([path]).get(path) if _is_place(path) else None
    if state and (not paths.is_local(path) or os.path.isfile(path)):
      with paths.opened(path) as file:
        start = file.read(_BLOCK)
        file.seek(max(state.size - _BLOCK, 0))
        yield start + file.read(_BLOCK)
  elif not isinstance(value, np.ndarray | bytes):
    for part in _parts(value):
      yield from _ends(part)


def _is_place(text: str) -> bool:
  return os.path.isabs(text) or not paths.is_local(text)


def _parts(value: Any) -> Iterator[Any]:
  """What a value is made of; nothing of functions and classes."""
  if isinstance(value, functools.partial):
    yield from (value.func, *value.args, value.keywords)
  elif isinstance(value, types.MethodType):
    yield value.__self__
  elif isinstance(value, Mapping):
    for key in sorted(value, key=str):
      yield from (key, value[key])
  elif isinstance(value, list | tuple):
    yield from value
  elif isinstance(value, set | frozenset):
    yield from sorted(value, key=repr)
  elif dataclasses.is_dataclass(value) and not isinstance(value, type):
    parts = [getattr(value, f.name) for f in dataclasses.fields(value)]
    packed = any(isinstance(part, archives.Member) for part in parts)
    for part in parts:
      # The archive's own path says nothing of its member.
      if not (packed and isinstance(part, str) and _is_place(part)):
        yield part
