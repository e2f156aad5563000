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
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from etils import epath
from typing_extensions import TypedDict

from robust_tfds import errors, reading, version
from robust_tfds.building.source import File, Part
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


def of(sources: Sequence[Part]) -> Note:
  """The note of clean examples before decoding, see the kinds of datasets."""
  remote = {
    file.path
    for source in sources
    for file in source.files()
    if file.member is None and not paths.is_local(file.path)
  }
  sizes = {path: state.size for path, state in paths.states(remote).items()}
  checksums = np.array([_checksum(s, sizes) for s in sources], _CRC)
  numbers = np.linspace(0, len(sources) - 1, min(_SAMPLES, len(sources)))
  blocks = {}
  for number in map(int, numbers):
    ends = b"".join(f.ends(_BLOCK) for f in sources[number].files())
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


def _checksum(source: Part, sizes: Mapping[str, int]) -> int:
  """Of what a source says, but for the places of its files."""
  return zlib.crc32("\n".join(_text(f, sizes) for f in source.facts()).encode())


def _text(fact: Any, sizes: Mapping[str, int]) -> str:
  if isinstance(fact, File):
    return _size(fact, sizes)
  if isinstance(fact, np.ndarray):
    return f"{fact.dtype} {fact.shape} {zlib.crc32(fact.tobytes())}"
  return fact if isinstance(fact, str) else repr(fact)


def _size(file: File, sizes: Mapping[str, int]) -> str:
  """Of a file; its path where it is gone."""
  if file.member is not None:
    return str(file.member.size)
  if file.path in sizes:
    return str(sizes[file.path])
  try:
    return str(os.stat(file.path).st_size)
  except (OSError, ValueError):
    return file.path
