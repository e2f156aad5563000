"""The user's pictures besides the data: to mix with, or to take styles from.

There may be many: a picture is read when it is drawn, and held at the size that
it is cropped from, as far as that fits `examples.HELD_BYTES`. The choice of a
picture, and of a part of it, depends on a key alone. The sha256 that is
disclosed is over all files.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from models.training.data import crops, examples
from robust_tfds import errors
from robust_tfds.building import geometry
from robust_tfds.corruptions import seeding
from robust_tfds.reading import pictures
from robust_tfds.storage import paths
from robust_tfds.user_data import folder

_STREAM = 0x42534944  # the choice of a picture, apart from other draws of a key
_DIGITS = 12  # of a sha256, in words
_MAKING = threading.Lock()  # batches are read by several threads


class Pictures:
  """The pictures of a folder and its subfolders.

  Attributes:
    words: their number, folder and sha256 in words; files are read on first
      use.
  """

  def __init__(self, place: str, short_px: int):
    """List the folder; no picture is read.

    Args:
      place: the folder.
      short_px: the shorter side is resized to this before a square is cut.

    Raises:
      UserError: the folder does not exist, or holds no pictures.
    """
    root = paths.parse(place, "the folder of pictures")
    if not root.is_dir():
      raise errors.UserError(
        f"{place}: there is no such folder. Expected one with pictures."
      )
    below, _ = folder.files(paths.resolved(root), f"{place}: the pictures")
    if not below:
      raise errors.UserError(f"{place}: expected pictures in it, got none.")
    self._place, self._short = place.rstrip("/"), short_px
    self._files = list(below.items())
    self._held: dict[int, np.ndarray] = {}
    self._left = examples.HELD_BYTES

  def __len__(self) -> int:
    """Return the number of pictures."""
    return len(self._files)

  def __getstate__(self) -> dict[str, Any]:
    """Return the state for other processes, without the held pixels."""
    return {**self.__dict__, "_held": {}, "_left": examples.HELD_BYTES}

  @functools.cached_property
  def words(self) -> str:
    """The pictures in words, see the class."""
    whole = hashlib.sha256()
    for name, path in self._files:
      whole.update(f"{name}\0{paths.sha256(path)}\n".encode())
    name = self._place.rpartition("/")[2]
    return (
      f"{len(self):,} pictures of {name} (sha256 {whole.hexdigest()[:_DIGITS]})"
    )

  def drawn(
    self, key: np.ndarray, side: int, centred: bool = False
  ) -> np.ndarray:
    """Return a square of one of the pictures.

    Args:
      key: uint32 `[2]`.
      side: side in px, at most `short_px`.
      centred: whether to take the middle of the picture; else anywhere.

    Returns:
      uint8 `[side, side, 3]`.

    Raises:
      UserError: the picture cannot be read; the message names it.
    """
    whole = self._read(_index(key, len(self)))
    height, width = whole.shape[:2]
    left, top = (width - side) // 2, (height - side) // 2
    if not centred:
      left, top, *_ = crops.placed_box(width, height, side, _own(key))
    return whole[top : top + side, left : left + side]

  def _read(self, number: int) -> np.ndarray:
    """Return a whole picture, resized."""
    if number in self._held:
      return self._held[number]
    name, path = self._files[number]
    with errors.prefixed(f"{self._place}/{name}"):
      pixels = geometry.apply(pictures.picture(path), f"short{self._short}")
    self._left -= pixels.nbytes
    if self._left >= 0:
      self._held[number] = pixels
    return pixels


@functools.lru_cache(4)
def folder_pictures(place: str, short_px: int) -> Pictures:
  """Return the pictures of a folder, listed once; arguments as for `Pictures`."""
  return Pictures(place, short_px)


def made(
  draw: Callable[[int, int], np.ndarray], count: int, side: int, key: np.ndarray
) -> np.ndarray:
  """Return one of `count` procedural pictures by the same draw.

  They are made once.

  Args:
    draw: maps (count, side) to uint8 `[count, side, side, 3]`.
    count: number of pictures.
    side: side in px.
    key: uint32 `[2]`.
  """
  with _MAKING:
    array = _made(draw, count, side)
  return array[_index(key, count)]


@functools.lru_cache(4)
def _made(
  draw: Callable[[int, int], np.ndarray], count: int, side: int
) -> np.ndarray:
  return draw(count, side)


def _own(key: np.ndarray) -> np.ndarray:
  """Derive the key of these draws from an example's key."""
  own: np.ndarray = seeding.frame_keys(key, np.array([_STREAM]))[0]
  return own


def _index(key: np.ndarray, count: int) -> int:
  return int(seeding.words(_own(key), 1)[0] * 2.0**-32 * count)
