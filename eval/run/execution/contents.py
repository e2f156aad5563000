"""The content of a set, as one hash: of a prepared one of its files' bytes.

Hashing ImageNet's clean set takes some seconds; a file whose size and times of
change are those of an earlier start of the run is not read again.
"""

import json
import sys
from typing import Any

from etils import epath

from eval.pipeline import inputs
from robust_tfds import errors, reading, records
from robust_tfds.records import Record
from robust_tfds.storage import disk, paths


class _File(Record):
  """A file as it was hashed; `changed` is of its bytes, then of its entry."""

  size: int
  changed: list[int]
  sha256: str


class _Note(Record):
  """The content of contents.json: path -> file, and a checksum of that."""

  files: dict[str, _File]
  checksum: str


class Contents:
  """Hashes of files, remembered in a run's workdir."""

  def __init__(self, note: epath.Path):
    """Read the hashes of an earlier start; a damaged note is reported and ignored.

    Args:
      note: file of the workdir; made by `save`.
    """
    self._note = note
    self._known = _read(note)

  def sha256(self, source: inputs.Source) -> str:
    """Return the sha256 over all files of a source's split, in order."""
    return source.content(self._file_sha256)

  def save(self) -> None:
    """Note the hashes for the next start."""
    note = {"files": _plain(self._known), "checksum": _checksum(self._known)}
    disk.write_text(self._note, json.dumps(note, sort_keys=True) + "\n")

  def _file_sha256(self, path: str) -> str:
    state = paths.state(path)
    changed = list(state.changed)
    known = self._known.get(path)
    if known is None or known.size != state.size or known.changed != changed:
      sha256 = paths.sha256(path)
      known = _File(size=state.size, changed=changed, sha256=sha256)
      self._known[path] = known
    return known.sha256


def _read(path: epath.Path) -> dict[str, _File]:
  """Return an earlier start's note; nothing if it is damaged."""
  if not disk.exists(path):
    return {}
  try:
    note = reading.records(reading.json_file(path), _Note, str(path))
    if note.checksum != _checksum(note.files):
      raise errors.UserError(f"{path}: checksum: the file was changed.")
  except errors.UserError as e:
    print(f"{e} The data is hashed again.", file=sys.stderr, flush=True)
    return {}
  return note.files


def _plain(files: dict[str, _File]) -> dict[str, Any]:
  return {path: file.model_dump() for path, file in files.items()}


def _checksum(files: dict[str, _File]) -> str:
  return records.checksum(_plain(files), spaces=True)
