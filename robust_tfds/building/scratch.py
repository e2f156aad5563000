"""Decoded sources on local disk, for builds of several configs.

TFDS writes one config after another. So that sources are decoded only once,
their raw pixels are stored in a folder until the last config is built. The
folder is locked during its build; the next build removes what a killed one
left.
"""

import contextlib
import dataclasses
import errno
import math
import os
import pathlib
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator

import numpy as np

from robust_tfds import errors
from robust_tfds.storage import locks

_PREFIX = "robust_tfds_scratch_"
GIB = 1 << 30


@dataclasses.dataclass(frozen=True)
class Pixels:
  """A reference to a stored picture or video.

  Attributes:
    path: path of a file of raw bytes.
    offset: offset of the first byte.
    shape: `[H, W, 3]`, or `[T, H, W, 3]`.
  """

  path: str
  offset: int
  shape: tuple[int, ...]

  def read(self) -> np.ndarray:
    """Read all of it: uint8 of the shape."""
    return self._read(self.offset, self.shape)

  def frame(self, number: int) -> np.ndarray:
    """Read one frame of a video: uint8 `[H, W, 3]`."""
    shape = self.shape[1:]
    return self._read(self.offset + number * math.prod(shape), shape)

  def frames(self) -> Iterator[np.ndarray]:
    """Yield the frames of a video one by one."""
    return map(self.frame, range(self.shape[0]))

  def _read(self, offset: int, shape: tuple[int, ...]) -> np.ndarray:
    values = np.empty(shape, np.uint8)
    with open(self.path, "rb") as file:
      file.seek(offset)
      whole = file.readinto(values.reshape(-1).data) == values.nbytes
    if not whole:
      raise errors.UserError(
        f"{self.path}: shorter than what was kept there. Something else changed"
        " it; run the same command again."
      )
    return values


def keep(folder: str | os.PathLike, frames: Iterable[np.ndarray]) -> Pixels:
  """Add a video to this thread's file, holding only one frame in memory.

  Args:
    folder: the folder of a `Scratch`.
    frames: uint8 `[H, W, 3]`, all of one shape.

  Raises:
    UserError: no room, or frames of different sizes.
  """
  name = f"{os.getpid()}_{threading.get_ident()}.pixels"
  path = os.path.join(folder, name)
  count, shape = 0, None
  try:
    with open(path, "ab") as file:
      offset = file.tell()
      for frame in frames:
        if shape not in (None, frame.shape):
          raise errors.UserError(
            f"frames of different sizes, {shape} and {frame.shape}; a video has"
            " one size."
          )
        shape = frame.shape
        file.write(np.ascontiguousarray(frame).data)
        count += 1
  except OSError as e:
    if e.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
      raise
    raise _no_room(folder, str(e)) from e
  return Pixels(path, offset, (count, *(shape or ())))


def keep_picture(folder: str | os.PathLike, image: np.ndarray) -> Pixels:
  """Add one picture to this thread's file: uint8 `[H, W, 3]`."""
  video = keep(folder, [image])
  return dataclasses.replace(video, shape=video.shape[1:])


class Scratch:
  """A folder for decoded sources that is removed when its build ends.

  Attributes:
    folder: its path.
  """

  def __init__(self, parent: str | os.PathLike | None = None):
    """Create the folder.

    Args:
      parent: where to make it; the system's folder for temporary files by
        default.

    Raises:
      UserError: the parent cannot be written.
    """
    above = _above(parent)
    self._end = contextlib.ExitStack()
    try:
      above.mkdir(parents=True, exist_ok=True)
      own = locks.own_folder(above, _PREFIX)
      self.folder = self._end.enter_context(own)
    except OSError as e:
      raise errors.UserError(
        f"{above}: decoded sources cannot be kept there ({e}); name another"
        " folder with --scratch_dir."
      ) from e

  def used(self) -> int:
    """Return the number of stored bytes."""
    return sum(p.stat().st_size for p in self.folder.glob("*.pixels"))

  def check_room(self, size: float) -> None:
    """Refuse to begin what does not fit on the disk.

    Raises:
      UserError: there is less room.
    """
    free = shutil.disk_usage(self.folder).free
    if size > free:
      raise _no_room(
        self.folder,
        f"about {size / GIB:,.1f} GiB are needed, {free / GIB:,.1f} GiB free",
      )

  def remove(self) -> None:
    """Remove the folder; may be called again."""
    self._end.close()


def discard_leftovers(parent: str | os.PathLike | None = None) -> None:
  """Remove the folders of killed builds.

  Args:
    parent: the parent of a `Scratch`; it need not exist.
  """
  locks.remove_leftovers(_above(parent), _PREFIX)


def _above(parent: str | os.PathLike | None) -> pathlib.Path:
  return pathlib.Path(parent or tempfile.gettempdir()).expanduser()


def _no_room(folder: str | os.PathLike, why: str) -> errors.UserError:
  return errors.UserError(
    f"{os.fspath(folder)}: no room for the decoded sources ({why}). Name another"
    " folder with --scratch_dir, or build one config after another: each then"
    " decodes them for itself."
  )
