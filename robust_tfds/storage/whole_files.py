"""Writes files into a folder so that each is whole under its name, or absent.

A file is written into a hidden folder of the writer's own, and linked to its name
when it is whole; a file that exists is never overwritten. The hidden folder is
locked while its writer lives: what a killed one left behind is removed by the
next, and two may write into one folder at once. In a bucket a file is whole when
it is there, so it needs no hidden folder; of two writers of a file the last stays.
"""

import contextlib
import itertools
import os
import pathlib
from collections.abc import Iterator

from etils import epath

from robust_tfds import errors
from robust_tfds.storage import locks, paths

_PREFIX = ".unfinished-"


class Writer:
  """Writes whole files; from any number of threads."""

  def __init__(self, hidden: pathlib.Path | None):
    """Make a writer for files below a folder.

    Args:
      hidden: a folder for unfinished files, on the file system of the others;
        None in a bucket.
    """
    self._hidden = hidden
    self._numbers = itertools.count()

  def write(self, place: epath.Path, data: bytes) -> None:
    """Write a file unless there is one; makes the folders above it.

    Raises:
      UserError: the file system refuses; names the file.
    """
    try:
      if self._hidden is None:
        if not paths.exist([place])[0]:
          paths.write_bytes(place, data)
        return
      unfinished = self._hidden / str(next(self._numbers))
      place.parent.mkdir(parents=True, exist_ok=True)
      unfinished.write_bytes(data)
      # A link, not a rename: it refuses to overwrite.
      with contextlib.suppress(FileExistsError):
        os.link(unfinished, place)
      unfinished.unlink()
    except OSError as e:
      raise errors.UserError(
        f"{place}: cannot be written: {e.strerror or e}. Make room or choose another"
        " folder, then run the same command again: it continues."
      ) from e


@contextlib.contextmanager
def writer(place: epath.Path) -> Iterator[Writer]:
  """Yield a writer of files anywhere below a folder, which is made if need be.

  Raises:
    UserError: the folder cannot be made or written.
  """
  if not paths.is_local(place):
    yield Writer(None)
    return
  folder = pathlib.Path(place)
  with contextlib.ExitStack() as stack:
    try:
      folder.mkdir(parents=True, exist_ok=True)
      locks.remove_leftovers(folder, _PREFIX)
      hidden = stack.enter_context(locks.own_folder(folder, _PREFIX))
    except OSError as e:
      raise errors.UserError(
        f"{folder}: cannot be written: {e.strerror}. Choose another folder."
      ) from e
    yield Writer(hidden)
