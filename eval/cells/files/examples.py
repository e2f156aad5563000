"""Facts of examples, stored once per run: `examples/<sha256>.npz` beside `cells/`.

Ids, groups, frames, labels and everything else that does not depend on a
model's outputs are the same in all cells of one set. A file of them is named by
the first 16 digits of its sha256, so cells with equal examples share one;
published sets whose conditions have different pictures have several. The note
of a cell names its file with the full checksum. A file is written before the
first cell that needs it, and again by any cell if it is missing or damaged.
"""

import collections
import threading

import numpy as np
from etils import epath

from eval.cells.files import note as note_lib
from eval.cells.files import packed
from eval.cells.files.columns import Columns
from robust_tfds import errors
from robust_tfds.storage import disk, paths

FOLDER = "examples"
_SETS = 2  # so many sets keep their columns in memory


def path(folder: epath.Path, file: note_lib.File) -> epath.Path:
  """Return the path of a file of examples in the run's `examples`."""
  return folder / f"{file.sha256[:16]}.npz"


def labels(columns: Columns) -> np.ndarray | None:
  """Return the true classes of rows; None if only the ground truth has them."""
  return columns.get("labels", columns.get("label"))


def write(folder: epath.Path, columns: Columns) -> note_lib.File:
  """Write facts of examples, unless they are already there.

  Args:
    folder: the run's `examples`; made if missing.
    columns: columns of all rows of a cell, in order.

  Returns:
    The file's entry in the cell's note.

  Raises:
    DiskError: it could not be written.
  """
  data = packed.dumps(columns)
  file = note_lib.File.from_bytes(data)
  place = path(folder, file)
  try:
    if note_lib.read_file(place, file) == data:
      return file
  except errors.UserError:  # it is not there, or damaged
    pass
  with disk.writing(folder):
    folder.mkdir(parents=True, exist_ok=True)
  disk.remove_temporary(folder)
  disk.write_bytes(place, data)
  return file


class Reader:
  """A reader of examples, which caches the last sets for the next cell."""

  def __init__(self) -> None:
    """Create the reader."""
    self._lock = threading.Lock()
    self._sets: collections.OrderedDict[tuple, dict[str, np.ndarray]]
    self._sets = collections.OrderedDict()

  def columns(
    self, folder: epath.Path, file: note_lib.File
  ) -> dict[str, np.ndarray]:
    """Return the facts of a file's examples, which must not be changed.

    A file is read and its checksum compared once, and again if its size or time
    changes.

    Args:
      folder: the run's `examples`.
      file: its entry in a cell's note.

    Raises:
      UserError: it does not match the note; the message names it.
    """
    place = path(folder, file)
    try:
      mark = str(place), file.sha256, paths.state(place)
    except FileNotFoundError as e:
      raise errors.UserError(f"{place}: there is no such file.") from e
    with self._lock:
      if mark not in self._sets:
        columns = packed.loads(note_lib.read_file(place, file), str(place))
        for values in columns.values():
          values.flags.writeable = False
        self._sets[mark] = columns
      self._sets.move_to_end(mark)
      while len(self._sets) > _SETS:
        self._sets.popitem(last=False)
      return dict(self._sets[mark])
