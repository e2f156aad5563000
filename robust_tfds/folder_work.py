"""Reads, corrupts and writes the pictures of a folder, a few at a time.

Threads read ahead and write behind; corruptions run in the caller's. What is held
is bounded: a picture for each thread, and results up to a number and a size.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import dataclasses
import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from etils import epath

from robust_tfds import conditions, errors
from robust_tfds.reading import picture_folders, pictures
from robust_tfds.storage import paths, whole_files

SUFFIXES = {"png": ".png", "jpeg": ".jpg"}  # suffixes of the results, by format
_QUALITY = 85  # JPEG's, as in the published ImageNet-C
CODECS = {"png": "png", "jpeg": f"jpeg{_QUALITY}"}  # what pixels went through
_WAITING_BYTES = 256 << 20  # results that are not written yet

_Cell = tuple[str, int]  # (corruption, severity)
_ItemT = TypeVar("_ItemT")
_ResultT = TypeVar("_ResultT")


@dataclasses.dataclass(frozen=True)
class Picture:
  """A picture's pixels, and how its file departs from the usual.

  Attributes:
    pixels: uint8 RGB `[H, W, 3]`.
    oddities: see `pictures.oddities`.
  """

  pixels: np.ndarray
  oddities: Sequence[str]


class Notes:
  """Notes for the user about pictures that were done, by kind."""

  def __init__(self) -> None:
    """Start without notes."""
    self._counts: collections.Counter[str] = collections.Counter()
    self._first: dict[str, str] = {}

  def add(self, kind: str, source: str) -> None:
    """Add one more picture of a kind."""
    self._counts[kind] += 1
    self._first.setdefault(kind, source)

  def lines(self) -> list[str]:
    """Return a line for each kind, with the first picture."""
    return [
      f"{count:,} {kind}, e.g. {self._first[kind]}."
      for kind, count in self._counts.items()
    ]


@dataclasses.dataclass
class Batch:
  """The work on one folder, and what became of it; draws are of `dataset`.

  Attributes:
    canvases: (height, width) in px in which pictures are corrupted; one that fits
      in none has its own.
    written: how many results were; threads count them as they write.
    there: how many were there before; `choose_canvases` counts them.
    failed: a line for each picture or result that could not be made.
    notes: on the others.
  """

  root: epath.Path
  out: epath.Path
  cells: Sequence[_Cell]
  seed: int
  file_format: str
  drop_alpha: bool
  ignore_orientation: bool
  writer: whole_files.Writer
  pool: concurrent.futures.ThreadPoolExecutor
  workers: int
  keep_names: bool = False
  dataset: str = "folder"
  canvases: Sequence[tuple[int, int]] = ()
  written: int = 0
  there: int = 0
  failed: list[str] = dataclasses.field(default_factory=list)
  notes: Notes = dataclasses.field(default_factory=Notes)
  lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

  def run(self, files: Iterable[epath.Path]) -> Iterator[int]:
    """Corrupt the pictures; yield how many are done, after each.

    Raises:
      UserError: a result cannot be written.
    """
    waiting = _Waiting(self)
    jobs = ((path, self._left(path)) for path in files)
    pairs = _read_ahead(self.pool, self._read, jobs, self.workers)
    for done, ((path, cells), picture) in enumerate(pairs, 1):
      if isinstance(picture, Picture):
        for words in picture.oddities:
          self.notes.add(words, picture_folders.printable(path))
        for name, severity in cells:
          try:
            pixels = self._corrupt(path, picture.pixels, name, severity)
          except errors.UserError as e:
            self.failed.append(f"{picture_folders.printable(path)}: {e}")
            break
          waiting.add(self.place(path, name, severity), pixels)
      elif picture is not None:
        self.failed.append(str(picture))
      yield done
    waiting.finish()

  def choose_canvases(self, files: Iterable[epath.Path]) -> None:
    """Choose few canvases for all pictures without results; reads their headers.

    Counts the results that are there.
    """
    from robust_tfds.corruptions import canvas

    programs = len({name for name, _ in self.cells} - {conditions.CLEAN})
    levels: collections.Counter[tuple[int, int]] = collections.Counter()
    jobs = ((path, len(self._missing(path)[0])) for path in files)
    sizes = _read_ahead(self.pool, self._size, jobs, self.workers)
    for (_, count), size in sizes:
      self.there += len(self.cells) - count
      with contextlib.suppress(errors.UserError):  # said where it is corrupted
        if size:
          levels[canvas.shape(*size)] += -(-count // max(programs, 1))
    self.canvases = canvas.few(levels)

  def _size(self, job: tuple[epath.Path, int]) -> tuple[int, int] | None:
    path, count = job
    if not count:
      return None
    try:
      return pictures.size(path, ignore_orientation=self.ignore_orientation)
    except errors.UserError:  # said where it is read
      return None

  def _left(self, path: epath.Path) -> list[_Cell]:
    """List the results that a picture does not have; note those older than it."""
    cells, older = self._missing(path)
    if older:
      self.notes.add(
        "pictures are newer than results of theirs, which were left as they are"
        " (delete them to have them made again)",
        picture_folders.printable(path),
      )
    return cells

  def _missing(self, path: epath.Path) -> tuple[list[_Cell], bool]:
    """Return the results that a picture does not have, and whether any is outdated."""
    places = {cell: os.fspath(self.place(path, *cell)) for cell in self.cells}
    there = paths.states(places.values())
    changed = paths.state(path).changed[0]
    older = any(state.changed[0] < changed for state in there.values())
    missing = [cell for cell, place in places.items() if place not in there]
    return missing, older

  def _read(
    self, job: tuple[epath.Path, list[_Cell]]
  ) -> Picture | errors.UserError | None:
    """Read a picture: None if nothing is missing, the refusal if it is bad."""
    path, cells = job
    if not cells:
      return None
    try:
      return read(
        path,
        drop_alpha=self.drop_alpha,
        ignore_orientation=self.ignore_orientation,
      )
    except errors.UserError as e:
      return e

  def _corrupt(
    self, path: epath.Path, image: np.ndarray, name: str, severity: int
  ) -> np.ndarray:
    import jax

    from robust_tfds import corruptions
    from robust_tfds.corruptions import canvas
    from robust_tfds.corruptions import image as images

    if name == conditions.CLEAN:
      return image
    example = picture_folders.example_id(path, self.root)
    key = corruptions.example_key(
      self.seed, self.dataset, name, severity, example
    )
    try:
      shape = canvas.smallest(self.canvases, *image.shape[:2])
      return images.corrupt_in_canvas(
        image, shape, name, severity, edition="any", key=key
      )
    except (MemoryError, jax.errors.JaxRuntimeError) as e:
      raise errors.UserError(
        f"{name} of {image.shape[1]} x {image.shape[0]} px needs more memory"
        f" than there is ({' '.join(str(e).split())[:99]}). Make it smaller."
      ) from e

  def place(self, path: epath.Path, name: str, severity: int) -> epath.Path:
    """Return the path of a picture's result."""
    relative = path.relative_to(self.root)
    if not self.keep_names:
      relative = relative.with_suffix(SUFFIXES[self.file_format])
    return self.out / name / str(severity) / relative


class _Waiting:
  """Results that threads encode and write, few at a time."""

  def __init__(self, batch: Batch):
    """Start with no waiting result."""
    self._batch = batch
    self._queue: collections.deque[tuple[int, concurrent.futures.Future]] = (
      collections.deque()
    )
    self._bytes = 0

  def add(self, place: epath.Path, pixels: np.ndarray) -> None:
    """Add one more; wait while too many are not written."""
    save = self._batch.pool.submit(self._save, place, pixels)
    self._queue.append((pixels.nbytes, save))
    self._bytes += pixels.nbytes
    while (
      len(self._queue) > 4 * self._batch.workers or self._bytes > _WAITING_BYTES
    ):
      self._take()

  def finish(self) -> None:
    """Wait for all jobs."""
    while self._queue:
      self._take()

  def _take(self) -> None:
    size, save = self._queue.popleft()
    refusal = save.result()
    self._bytes -= size
    if refusal is not None:
      self._batch.failed.append(refusal)

  def _save(self, place: epath.Path, pixels: np.ndarray) -> str | None:
    """Write a result; return the reason if the format cannot hold it."""
    try:
      data = _encoded(pixels, self._batch.file_format)
    except (OSError, ValueError) as e:
      return (
        f"{picture_folders.printable(place)}: cannot be stored as"
        f" {self._batch.file_format}: {e}."
      )
    self._batch.writer.write(place, data)
    with self._batch.lock:
      self._batch.written += 1
    return None


def read(
  path: str | os.PathLike,
  *,
  drop_alpha: bool = False,
  ignore_orientation: bool = False,
) -> Picture:
  """Read a picture of the folder.

  Raises:
    UserError: as `reading.pictures.picture`, or with transparency that was not
      allowed to be dropped; names the file.
  """
  source = picture_folders.printable(path)
  odd = pictures.oddities(
    path,
    source,
    drop_alpha=drop_alpha,
    ignore_orientation=ignore_orientation,
  )
  with pictures.opened(path, source) as image:
    number = 1 if ignore_orientation else pictures.orientation(image)
    upright = pictures.upright(pictures.rgb(image, source), number)
    return Picture(np.asarray(upright), odd)


def _read_ahead(
  pool: concurrent.futures.Executor,
  function: Callable[[_ItemT], _ResultT],
  items: Iterable[_ItemT],
  count: int,
) -> Iterator[tuple[_ItemT, _ResultT]]:
  """Yield (item, function(item)) in order, `count` of them begun in advance."""
  queue: collections.deque[
    tuple[_ItemT, concurrent.futures.Future[_ResultT]]
  ] = collections.deque()
  for item in items:
    queue.append((item, pool.submit(function, item)))
    if len(queue) > count:
      first, future = queue.popleft()
      yield first, future.result()
  for first, future in queue:
    yield first, future.result()


def _encoded(pixels: np.ndarray, file_format: str) -> bytes:
  from PIL import Image

  out = io.BytesIO()
  picture = Image.fromarray(pixels)
  if file_format == "png":
    picture.save(out, "PNG")
  else:
    picture.save(out, "JPEG", quality=_QUALITY, optimize=True)
  return out.getvalue()
