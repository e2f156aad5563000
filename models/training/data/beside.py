"""Pictures that a user brings beside the data: to mix with, or to take styles from.

They may be many: one is read when it is drawn, and held at the size that it is drawn
from, as far as that fits `examples.HELD_BYTES`. Which one, and which part of it,
hangs on a key alone. Their sha256, which is disclosed, is over all files.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from robust_tfds import errors
from robust_tfds.building import geometry
from robust_tfds.corruptions import seeding
from robust_tfds.models.training.data import crops, examples
from robust_tfds.own import folder
from robust_tfds.reading import pictures
from robust_tfds.storage import paths

_STREAM = 0x42534944  # which picture, apart from other draws of a key
_DIGITS = 12  # of a sha256, in words
_MAKING = threading.Lock()  # batches are read by several threads


class Pictures:
  """The pictures of a folder and of those below it.

  Attributes:
    words: which these are, how many and their sha256; read when it is asked for.
  """

  def __init__(self, place: str, short_px: int):
    """Lists the folder; reads no picture.

    Args:
      place: the folder.
      short_px: the shorter side is resized to this before a square is cut.

    Raises:
      UserError: no such folder, or no pictures in it.
    """
    root = paths.of(place, "the folder of pictures")
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
    """How many there are."""
    return len(self._files)

  def __getstate__(self) -> dict[str, Any]:
    """To other processes goes where they lie."""
    return {**self.__dict__, "_held": {}, "_left": examples.HELD_BYTES}

  @functools.cached_property
  def words(self) -> str:
    """See the class."""
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
    """A square of one of them.

    Args:
      key: uint32 `[2]`.
      side: in px, at most `short_px`.
      centred: the middle of it; else anywhere.

    Returns:
      uint8 `[side, side, 3]`.

    Raises:
      UserError: a picture that cannot be read; names it.
    """
    whole = self._read(_which(key, len(self)))
    height, width = whole.shape[:2]
    left, top = (width - side) // 2, (height - side) // 2
    if not centred:
      left, top, *_ = crops.placed_box(width, height, side, _own(key))
    return whole[top : top + side, left : left + side]

  def _read(self, number: int) -> np.ndarray:
    """A whole picture, resized."""
    if number in self._held:
      return self._held[number]
    name, path = self._files[number]
    with errors.begun(f"{self._place}/{name}"):
      pixels = geometry.apply(pictures.picture(path), f"short{self._short}")
    self._left -= pixels.nbytes
    if self._left >= 0:
      self._held[number] = pixels
    return pixels


@functools.lru_cache(4)
def of_folder(place: str, short_px: int) -> Pictures:
  """The pictures of a folder, listed once; arguments as of `Pictures`."""
  return Pictures(place, short_px)


def made(
  draw: Callable[[int, int], np.ndarray], count: int, side: int, key: np.ndarray
) -> np.ndarray:
  """One of procedural pictures, by the same draw; they are made once.

  Args:
    draw: (count, side) -> uint8 `[count, side, side, 3]`.
    count: how many there are.
    side: in px.
    key: uint32 `[2]`.
  """
  with _MAKING:
    array = _made(draw, count, side)
  return array[_which(key, count)]


@functools.lru_cache(4)
def _made(
  draw: Callable[[int, int], np.ndarray], count: int, side: int
) -> np.ndarray:
  return draw(count, side)


def _own(key: np.ndarray) -> np.ndarray:
  """A key of these draws alone."""
  own: np.ndarray = seeding.frame_keys(key, np.array([_STREAM]))[0]
  return own


def _which(key: np.ndarray, count: int) -> int:
  return int(seeding.words(_own(key), 1)[0] * 2.0**-32 * count)
