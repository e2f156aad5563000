"""Reads, corrupts and writes the pictures of a folder, by a thread for each core.

A thread makes one result at a time, so that one picture under many conditions is
shared out as well. What is held is bounded: a picture and a result for each thread.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import io
import os
import threading
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from etils import epath

from robust_tfds import conditions, cores, errors
from robust_tfds.reading import picture_folders, pictures
from robust_tfds.storage import paths, whole_files

SUFFIXES = {"png": ".png", "jpeg": ".jpg"}  # suffixes of the results, by format
_QUALITY = 85  # JPEG's, as in the published ImageNet-C
CODECS = {"png": "png", "jpeg": f"jpeg{_QUALITY}"}  # what pixels went through
_LARGE_PX = 1 << 21  # of pictures that are corrupted one at a time, for memory

_Cell = tuple[str, int]  # (corruption, severity)


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
class _Job:
  """A picture and the results that it does not have; threads share them.

  Attributes:
    left: how many are not made yet; after the last the pixels are dropped.
    picture: read by the first thread.
    refusal: why the rest is not made; '' while all goes well.
    unstored: a line for each result that its format cannot hold.
  """

  path: epath.Path
  cells: Sequence[_Cell]
  left: int
  picture: Picture | None = None
  refusal: str = ""
  unstored: list[str] = dataclasses.field(default_factory=list)
  oddities: Sequence[str] = ()
  lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)


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
  workers: int | None = None
  keep_names: bool = False
  dataset: str = "folder"
  canvases: Sequence[tuple[int, int]] = ()
  written: int = 0
  there: int = 0
  failed: list[str] = dataclasses.field(default_factory=list)
  notes: Notes = dataclasses.field(default_factory=Notes)
  lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
  large: threading.Lock = dataclasses.field(default_factory=threading.Lock)

  def run(self, files: Iterable[epath.Path]) -> Iterator[int]:
    """Corrupt the pictures; yield how many are done, after each.

    Raises:
      UserError: a result cannot be written.
    """
    jobs = map(self._job, files)
    units: Iterator[tuple[_Job, _Cell | None]] = (
      (job, cell) for job in jobs for cell in (job.cells or (None,))
    )
    done = 0
    made = cores.mapped(
      self._make, units, self.workers, lambda unit: unit[0].path
    )
    for job in made:
      if job is None:  # more of its results follow
        continue
      for words in job.oddities:
        self.notes.add(words, picture_folders.printable(job.path))
      self.failed += [job.refusal] * bool(job.refusal) + job.unstored
      yield (done := done + 1)

  def choose_canvases(self, files: Iterable[epath.Path]) -> None:
    """Choose few canvases for all pictures without results; reads their headers.

    Counts the results that are there.
    """
    from robust_tfds.corruptions import canvas

    programs = len({name for name, _ in self.cells} - {conditions.CLEAN})
    levels: collections.Counter[tuple[int, int]] = collections.Counter()
    jobs = ((path, len(self._missing(path)[0])) for path in files)
    for count, size in cores.mapped(self._size, jobs, self.workers):
      self.there += len(self.cells) - count
      with contextlib.suppress(errors.UserError):  # said where it is corrupted
        if size:
          levels[canvas.shape(*size)] += -(-count // max(programs, 1))
    self.canvases = canvas.few(levels)

  def _size(
    self, job: tuple[epath.Path, int]
  ) -> tuple[int, tuple[int, int] | None]:
    """Return how many results a picture lacks, and its size if it can be read."""
    path, count = job
    if count:
      with contextlib.suppress(errors.UserError):  # said where it is read
        turned = self.ignore_orientation
        return count, pictures.size(path, ignore_orientation=turned)
    return count, None

  def _job(self, path: epath.Path) -> _Job:
    cells = self._left(path)
    return _Job(path, cells, len(cells))

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

  def _make(self, unit: tuple[_Job, _Cell | None]) -> _Job | None:
    """Make one result of a picture; return its job with the last one."""
    job, cell = unit
    if cell is None:
      return job
    with job.lock:
      if not (job.picture or job.refusal):
        self._read(job)
      picture, refused = job.picture, job.refusal
    if picture and not refused:
      try:
        pixels = self._corrupt(job.path, picture.pixels, *cell)
      except errors.UserError as e:
        job.refusal = f"{picture_folders.printable(job.path)}: {e}"
      else:
        self._save(job, self.place(job.path, *cell), pixels)
    with job.lock:
      job.left -= 1
      if not job.left:
        job.picture = None
    return job if cell == job.cells[-1] else None

  def _read(self, job: _Job) -> None:
    """Read a picture, or note why it cannot be."""
    try:
      job.picture = read(
        job.path,
        drop_alpha=self.drop_alpha,
        ignore_orientation=self.ignore_orientation,
      )
      job.oddities = job.picture.oddities
    except errors.UserError as e:
      job.refusal = str(e)

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
    large = image[..., 0].size > _LARGE_PX
    try:
      shape = canvas.smallest(self.canvases, *image.shape[:2])
      with self.large if large else contextlib.nullcontext():
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

  def _save(self, job: _Job, place: epath.Path, pixels: np.ndarray) -> None:
    """Write a result, or note why the format cannot hold it."""
    try:
      data = _encoded(pixels, self.file_format)
    except (OSError, ValueError) as e:
      job.unstored.append(
        f"{picture_folders.printable(place)}: cannot be stored as"
        f" {self.file_format}: {e}."
      )
      return
    self.writer.write(place, data)
    with self.lock:
      self.written += 1


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


def _encoded(pixels: np.ndarray, file_format: str) -> bytes:
  from PIL import Image

  out = io.BytesIO()
  picture = Image.fromarray(pixels)
  if file_format == "png":
    picture.save(out, "PNG")
  else:
    picture.save(out, "JPEG", quality=_QUALITY, optimize=True)
  return out.getvalue()
