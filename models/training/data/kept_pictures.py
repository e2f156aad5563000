"""Decoded pictures that later epochs read: `config.data.cache`, a folder.

A set has one file of levels, each picture's with its shorter side at 256 px or less,
and an index beside it. Their name is a digest of ids, stored bytes, classes and
decoder, so that another set never reads them. The first epoch fills them; a picture
counts from when its checksum is written, so that a training that is killed leaves
what is whole. Pixels are the same whether a picture was there or not: all are cut
from what is kept.
"""

from __future__ import annotations

import functools
import hashlib
import mmap
import os
import pathlib
import shutil
import zlib
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np
from absl import logging

from models.training.data import examples
from models.training.data.config import KEPT_PX
from robust_tfds import cores, errors
from robust_tfds.building import geometry, source
from robust_tfds.reading import decoders
from robust_tfds.storage import disk, paths

_VERSION = 1  # of the files
_DIGITS = 16  # of the digest
_INDEX = np.dtype(
  [
    ("start", "<i8"),
    ("height", "<i4"),
    ("width", "<i4"),
    ("label", "<i4"),
    ("checksum", "<u4"),
    ("whole", "?"),
  ]
)


class KeptPictures(examples.Examples):
  """Examples whose decoded pictures are kept in a folder."""

  def __init__(
    self,
    read: examples.Examples,
    folder: str,
    digest: str,
    digests: Sequence[bytes],
    say: Callable[[str], None],
  ):
    """Find the files, or make empty ones.

    Args:
      read: the examples; pictures with labels.
      folder: a folder on this machine.
      digest: sha256 over ids and stored bytes of the examples.
      digests: the sha256 of each one's stored bytes, which is what is kept.
      say: receives the size, before anything is written.

    Raises:
      UserError: they are no pictures, or there is no room for them.
    """
    if read.kind != examples.PICTURES:
      raise errors.UserError(
        f"config.data.cache: {read.name} is a set of {read.kind}; pictures with a"
        " label each are kept. Leave it out."
      )
    super().__init__(read.name, read.classes, read.words)
    self.kind, self.ids, self.groups = read.kind, read.ids, read.groups
    self._inner, self._digests = read, digests
    parts = [
      _VERSION,
      KEPT_PX,
      digest,
      *read.classes,
      decoders.picture_decoder(),
    ]
    key = hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()
    name = f"{read.name.replace('/', '-')}-{key[:_DIGITS]}"
    self._path = pathlib.Path(folder).absolute() / name
    self._open_or_make(say)

  def stored_at(self, place: tuple[int, bytes, Any]) -> bytes:
    """Return an example's picture as it is stored in its file."""
    return self._inner.stored_at(place[-1])

  def files(self) -> Any:
    """Return the files in which the examples are stored."""
    return self._inner.files()

  def size(self, number: int) -> tuple[int, int]:
    """Return height and width of the picture that is kept."""
    row = self._index[number]
    return int(row["height"]), int(row["width"])

  def read(self, number: int) -> dict[str, Any]:
    """Return an example; the system holds what is read often."""
    return self.decode(self.place(number))

  def place(self, number: int) -> tuple[int, bytes, Any]:
    """Return an example's number, its sha256, and where it is stored."""
    return int(number), self._digests[number], self._inner.place(number)

  def decode(self, place: tuple[int, bytes, Any]) -> dict[str, Any]:
    """Return an example, from the file or, the first time, into it.

    Raises:
      UserError: it cannot be decoded, or its file was changed.
    """
    number, digest, inner = place
    row = self._index[number]
    height, width, start = (int(row[n]) for n in ("height", "width", "start"))
    size = height * width * 3
    if row["whole"]:
      kept = np.frombuffer(self._map, np.uint8, size, start)
      if number in self._checked or zlib.crc32(kept.data) == row["checksum"]:
        self._checked.add(number)
        return {
          "image": kept.reshape(height, width, 3),
          "label": int(row["label"]),
        }
      logging.warning(
        "%s: picture %d is damaged; it is decoded again", self._levels, number
      )
    example = self._inner.decode(inner)
    if hashlib.sha256(self._inner.stored_at(inner)).digest() != digest:
      raise source.changed_error(self.ids[number])
    image = np.ascontiguousarray(shrunk(example["image"]))
    with disk.writing(self._levels):
      _write(self._file.fileno(), image, start)
    row["label"], row["checksum"] = example["label"], zlib.crc32(image.data)
    row["whole"] = True
    return {"image": image, "label": example["label"]}

  @property
  def _levels(self) -> pathlib.Path:
    return self._path.with_name(f"{self._path.name}.levels")

  @functools.cached_property
  def _index(self) -> np.ndarray:
    return np.memmap(f"{self._path}.index", _INDEX, "r+")

  @functools.cached_property
  def _file(self) -> IO[bytes]:
    return open(self._levels, "r+b", buffering=0)

  @functools.cached_property
  def _map(self) -> mmap.mmap:
    return mmap.mmap(self._file.fileno(), 0, prot=mmap.PROT_READ)

  @functools.cached_property
  def _checked(self) -> set[int]:
    return set()

  def _open_or_make(self, say: Callable[[str], None]) -> None:
    index = self._path.with_name(f"{self._path.name}.index")
    if index.exists() and self._fits():
      there = int(self._index["whole"].sum())
      say(
        f"cache: {there:,} of {len(self.ids):,} pictures are in {self._levels}"
      )
      return
    if index.exists():
      say(
        f"cache: {index} does not fit {self._levels.name}: both are made anew"
      )
    vars(self).pop("_index", None)
    made = np.zeros(len(self.ids), _INDEX)
    sizes = np.array([*cores.mapped(self._kept_size, range(len(self.ids)))])
    made["height"], made["width"] = sizes.T
    ends = _ends(made)
    made["start"][1:] = ends[:-1]
    self._make(index, made, int(ends[-1]), say)

  def _make(
    self,
    index: pathlib.Path,
    rows: np.ndarray,
    size: int,
    say: Callable[[str], None],
  ) -> None:
    """Make the files, of which the first epoch fills one.

    Raises:
      UserError: there is no room, or the folder refuses.
    """
    with disk.writing(index):
      index.parent.mkdir(parents=True, exist_ok=True)
      self._levels.unlink(missing_ok=True)
      free = shutil.disk_usage(index.parent).free
      need = f"{size / 1e9:,.1f} GB" if size > 1e8 else f"{size / 1e6:,.1f} MB"
      if size > free:
        raise errors.UserError(
          f"config.data.cache: {len(rows):,} pictures with the shorter side at"
          f" {KEPT_PX} px are {need}; {index.parent} has {free / 1e9:,.1f} GB left."
          " Name a folder with room, or leave it out."
        )
      say(
        f"cache: {len(rows):,} pictures, {need} in {self._levels}, filled in the"
        " first epoch"
      )
      with open(self._levels, "wb") as file:
        file.truncate(size)
      paths.write_bytes(index, rows.tobytes())

  def _fits(self) -> bool:
    """Return whether index and file are those of the examples, and whole."""
    try:
      rows, size = self._index, os.path.getsize(self._levels)
    except (OSError, ValueError):
      return False
    ends = _ends(rows)
    starts_fit = np.array_equal(rows["start"][1:], ends[:-1])
    return len(rows) == len(self.ids) and starts_fit and size == ends[-1]

  def _kept_size(self, number: int) -> tuple[int, int]:
    height, width = self._inner.size(number)
    if min(height, width) > KEPT_PX:
      width, height = geometry.fit(f"short{KEPT_PX}", width, height).size
    return height, width

  def __getstate__(self) -> dict[str, Any]:
    """Return what `decode` needs in another process, which opens the files."""
    opened = ("_index", "_file", "_map", "_checked", "_digests")
    state = super().__getstate__()
    return {name: x for name, x in state.items() if name not in opened}


def shrunk(image: np.ndarray) -> np.ndarray:
  """Return a picture as it is kept: uint8 `[h, w, 3]`."""
  if min(image.shape[:2]) <= KEPT_PX:
    return image
  return geometry.apply(image, f"short{KEPT_PX}")


def _ends(rows: np.ndarray) -> np.ndarray:
  """Return where each picture ends in the file, int64 `[n]`."""
  return np.cumsum(3 * np.int64(rows["height"]) * rows["width"])


def _write(file: int, image: np.ndarray, start: int) -> None:
  left = image.data.cast("B")
  while left:
    written = os.pwrite(file, left, start)
    start, left = start + written, left[written:]
