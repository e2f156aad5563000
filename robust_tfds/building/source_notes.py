"""The note of a set about its sources, which is compared when the set is found
again.

A second build of an existing set makes nothing, even if its sources have
changed. So a note stores, for each example, a checksum of its source (id,
label, annotations, the size of its file), and for a few examples one of the
file's first and last bytes. Folder names and times are not part of it: copies
and unpacked archives are equal. Missing sources are no error; neither are sets
without a note, or with a note of another version of this package.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
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
  """A description of the sources of a set.

  Attributes:
    version: this package's version; others may number or name examples
      differently.
    examples: one checksum per example, in order: base64 of little-endian
      uint32.
    blocks: number of an example -> checksum of its files' ends.
  """

  version: str
  examples: str
  blocks: Mapping[str, int]

  def first_difference(self, now: Note) -> int | None:
    """Return the first example that differs; None if all are equal."""
    ours, theirs = self._checksums(), now._checksums()
    count = min(len(ours), len(theirs))
    differing = set(np.flatnonzero(ours[:count] != theirs[:count]).tolist())
    differing |= {
      int(i)
      for i, value in self.blocks.items()
      if now.blocks.get(i, value) != value
    }
    if not differing and len(ours) != len(theirs):
      return count
    return min(differing, default=None)

  def count(self) -> int:
    """Return how many examples there were."""
    return len(self._checksums())

  def _checksums(self) -> np.ndarray:
    return np.frombuffer(base64.b64decode(self.examples), _CRC)


class _Stored(TypedDict):
  """A note as JSON."""

  version: str
  examples: str
  blocks: dict[str, int]


def from_sources(sources: Sequence[Part]) -> Note:
  """Create the note of clean examples before decoding."""
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


def digest(sources: Sequence[Part]) -> str:
  """Return a sha256 of the note of some sources, in their order."""
  note = from_sources(sources)
  text = json.dumps([note.examples, note.blocks], sort_keys=True)
  return hashlib.sha256(text.encode()).hexdigest()


def write(folder: str | os.PathLike, note: Note) -> None:
  """Write a note into a set's folder atomically."""
  data = json.dumps(dataclasses.asdict(note)).encode()
  paths.write_bytes(paths.parse(folder) / NAME, data)


def read(folder: str | os.PathLike) -> Note | None:
  """Return a set's note; None if it has none, or one of another version.

  Raises:
    UserError: it is damaged.
  """
  path = paths.parse(folder) / NAME
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
  """Refuse a set whose sources have changed since.

  Raises:
    UserError: the message names the first example that differs, or their
      number.
  """
  now = from_sources(sources)
  number = then.first_difference(now)
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
  """Return a checksum of a source, independent of the places of its files."""
  return zlib.crc32("\n".join(_text(f, sizes) for f in source.facts()).encode())


def _text(fact: Any, sizes: Mapping[str, int]) -> str:
  if isinstance(fact, File):
    return _size(fact, sizes)
  if isinstance(fact, np.ndarray):
    return f"{fact.dtype} {fact.shape} {zlib.crc32(fact.tobytes())}"
  return fact if isinstance(fact, str) else repr(fact)


def _size(file: File, sizes: Mapping[str, int]) -> str:
  """Return the size of a file; its path if the file is missing."""
  if file.member is not None:
    return str(file.member.size)
  if file.path in sizes:
    return str(sizes[file.path])
  try:
    return str(os.stat(file.path).st_size)
  except (OSError, ValueError):
    return file.path
