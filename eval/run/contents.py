"""What a prepared set holds, as one hash of its files' bytes.

Hashing ImageNet's clean set takes some seconds; a file whose size and time of
change are those of an earlier start of the run is not read again.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
from collections.abc import Iterable
from typing import Any

from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.results import disk

_BLOCK = 1 << 22  # bytes


class Contents:
  """Hashes of files, remembered in a run's workdir."""

  def __init__(self, note: pathlib.Path):
    """Reads what an earlier start noted.

    Args:
      note: file of the workdir; made by `save`.
    """
    self._note = note
    self._known: dict[str, list] = _read(note)

  def sha256(self, source: inputs.Source) -> str:
    """Over all files of the split that a source reads, in their order."""
    split = source.builder.info.splits[source.split]
    digest = hashlib.sha256()
    for path in split.filepaths:
      digest.update(self._of_file(os.fspath(path)).encode())
    return digest.hexdigest()

  def save(self) -> None:
    """Notes the hashes for the next start."""
    disk.write_text(self._note, json.dumps(self._known, sort_keys=True) + "\n")

  def _of_file(self, path: str) -> str:
    state = os.stat(path)
    stamp = [state.st_size, state.st_mtime_ns]
    known = self._known.get(path)
    if known is None or known[:2] != stamp:
      with open(path, "rb") as file:
        known = [*stamp, _sha256(iter(lambda: file.read(_BLOCK), b""))]
      self._known[path] = known
    return known[2]


def _sha256(blocks: Iterable[bytes]) -> str:
  digest = hashlib.sha256()
  for block in blocks:
    digest.update(block)
  return digest.hexdigest()


def _read(note: pathlib.Path) -> dict[str, Any]:
  """An earlier start's note; nothing where it cannot be read, which costs time."""
  try:
    known = json.loads(note.read_text("utf-8"))
  except (OSError, ValueError):
    return {}
  return known if isinstance(known, dict) else {}
