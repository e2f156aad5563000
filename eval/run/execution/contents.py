"""The content of a set, as one hash: of a prepared one of its files' bytes.

Hashing ImageNet's clean set takes some seconds; a file whose size and times of
change are those of an earlier start of the run is not read again.
"""

import contextlib
import json

from etils import epath

from eval.pipeline import inputs
from robust_tfds import errors, reading
from robust_tfds.storage import disk, paths

_Known = dict[str, list[int | str]]  # path -> size, times of change, sha256


class Contents:
  """Hashes of files, remembered in a run's workdir."""

  def __init__(self, note: epath.Path):
    """Read the hashes of an earlier start; those of a damaged note are made again.

    Args:
      note: file of the workdir; made by `save`.
    """
    self._note = note
    self._known: _Known = {}
    if disk.exists(note):
      with contextlib.suppress(errors.UserError):
        known = reading.json_file(note)
        self._known = reading.records(known, _Known, str(note))

  def sha256(self, source: inputs.Source) -> str:
    """Return the sha256 over all files of a source's split, in order."""
    return source.content(self._file_sha256)

  def save(self) -> None:
    """Note the hashes for the next start."""
    disk.write_text(self._note, json.dumps(self._known, sort_keys=True) + "\n")

  def _file_sha256(self, path: str) -> str:
    state = paths.state(path)
    now = [state.size, *state.changed]
    *known, sha256 = self._known.get(path) or [""]
    if known != now:
      sha256 = paths.sha256(path)
      self._known[path] = [*now, sha256]
    return str(sha256)
