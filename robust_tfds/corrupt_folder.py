"""Corrupts every picture of a folder.

  python -m robust_tfds.corrupt_folder IN OUT --corruption=all --severity=1,3,5
  python -m robust_tfds.corrupt_folder IN OUT --corruption=fog,snow --format=jpeg

Writes OUT/<corruption>/<severity>/<the picture's path in IN>. Pictures keep their
size (the rules of the detection paper, edition `any`). Other modes become RGB
(`reading/pictures.py`), of an animation the first frame is taken. Photographs are
turned upright as their EXIF data ask, which the results do not have any more;
`--ignore_orientation` leaves the pixels as they are stored. Transparency is
refused unless `--drop_alpha`.

A second launch continues; files that exist are never overwritten. A picture that
cannot be read or corrupted is named and left out, the others are done, and the
command fails; with `--skip_errors` it names them and succeeds. A few pictures are
held at a time, whatever the number in the folder.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import io
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import TypeVar

import numpy as np
from absl import app
from absl import flags

from robust_tfds import command
from robust_tfds import conditions
from robust_tfds import errors
from robust_tfds import reading
from robust_tfds import whole_files
from robust_tfds.reading import picture_folders
from robust_tfds.reading import pictures

_SUFFIX = {"png": ".png", "jpeg": ".jpg"}
_RECORD = ".corrupt_folder.json"  # in OUT: the settings that pixels depend on
_WAITING_BYTES = 256 << 20  # of results that are not written yet

_Cell = tuple[str, int]  # (corruption, severity)
_ItemT = TypeVar("_ItemT")
_ResultT = TypeVar("_ResultT")


def run(
  source: str | os.PathLike,
  target: str | os.PathLike,
  *,
  names: Sequence[str],
  severities: Sequence[int],
  seed: int = 0,
  file_format: str = "png",
  drop_alpha: bool = False,
  ignore_orientation: bool = False,
  workers: int = 4,
  quiet: bool = False,
) -> tuple[int, list[str]]:
  """Corrupts a folder.

  Args:
    source: folder of pictures, searched to the bottom.
    target: folder of the results; not inside `source`.
    names: corruptions.
    severities: 1-5 each.
    seed: of the corruptions.
    file_format: `png` or `jpeg`.
    drop_alpha: ignore transparency.
    ignore_orientation: do not turn photographs upright.
    workers: threads that read and write.
    quiet: print no progress and no notes.

  Returns:
    How many files were written, and one line for each picture that was not.

  Raises:
    FileNotFoundError: no such folder, or no pictures in it.
    UserError: unknown names or severities, folders inside one another, results
      of other settings in `target`, pictures that would be written to one file,
      or a result that cannot be written.
  """
  cells = _cells(names, severities)
  if file_format not in _SUFFIX:
    raise errors.unknown("format", file_format, _SUFFIX)
  if workers < 1:
    raise errors.UserError(f"workers: got {workers}, expected at least 1.")
  root, out = _folders(source, target)
  walk = picture_folders.Walk(root)
  total = sum(1 for _ in walk.pictures())  # refuses what would collide, too
  if not total and not walk.faults:
    raise FileNotFoundError(
      f"No pictures in {root}; looked for"
      f" {', '.join(sorted(picture_folders.EXTENSIONS))}."
    )
  settings = {"seed": seed, "ignore_orientation": ignore_orientation}
  with (
    whole_files.writer(out) as writer,
    concurrent.futures.ThreadPoolExecutor(workers) as pool,
  ):
    _hold_settings(out / _RECORD, settings, writer)
    batch = _Batch(
      root=root,
      out=out,
      cells=cells,
      seed=seed,
      file_format=file_format,
      drop_alpha=drop_alpha,
      ignore_orientation=ignore_orientation,
      writer=writer,
      pool=pool,
      workers=workers,
    )
    start = time.perf_counter()
    try:
      for done in batch.run(walk.pictures()):
        if not quiet:
          _report(done, total, batch.written, time.perf_counter() - start)
    finally:
      pool.shutdown(cancel_futures=True)
  if not quiet:
    for note in [*batch.notes.lines(), *_beside(walk)]:
      print(f"Note: {note}")
  return batch.written, [*walk.faults, *batch.failed]


def _cells(names: Sequence[str], severities: Sequence[int]) -> list[_Cell]:
  from robust_tfds.corruptions import frost_pictures
  from robust_tfds.corruptions import spec

  for name in names:
    conditions.PICTURES.row(name)
  for severity in severities:
    spec.check_severity(severity)
  cells = dict.fromkeys((n, int(s)) for n in names for s in severities)
  if not cells:
    raise errors.UserError(
      f"Nothing to do: got corruptions {list(names)} and severities"
      f" {list(severities)}, expected at least one of each."
    )
  if "frost" in names:
    frost_pictures.folder()
  return list(cells)


def _folders(
  source: str | os.PathLike, target: str | os.PathLike
) -> tuple[pathlib.Path, pathlib.Path]:
  root, out = pathlib.Path(source).resolve(), pathlib.Path(target).resolve()
  if not root.is_dir():
    raise FileNotFoundError(f"{root} is no folder.")
  if out.is_relative_to(root) or root.is_relative_to(out):
    raise errors.UserError(f"{out} and {root} must not lie inside one another.")
  if out.exists() and not out.is_dir():
    raise errors.UserError(f"{out}: a file, expected a folder for the results.")
  return root, out


def _hold_settings(
  record: pathlib.Path, settings: dict[str, Any], writer: whole_files.Writer
) -> None:
  """Writes down what pixels depend on; refuses a folder of other settings."""
  text = json.dumps(settings, indent=1, sort_keys=True)
  writer.write(record, text.encode())
  held = reading.json_file(record)
  if held != settings:
    raise errors.UserError(
      f"{record.parent}: holds results of {held}, this run is of {settings}."
      " Name another folder, or give the settings that it was begun with."
    )


@dataclasses.dataclass(frozen=True)
class _Picture:
  """What was read of a file.

  Attributes:
    pixels: uint8 RGB `[H, W, 3]`.
    turned: they were turned upright.
    animated: frames or pages follow that are not taken.
  """

  pixels: np.ndarray
  turned: bool
  animated: bool


class _Notes:
  """What the user should know about pictures that were done, by kind."""

  def __init__(self) -> None:
    """No notes."""
    self._counts: collections.Counter[str] = collections.Counter()
    self._first: dict[str, str] = {}

  def add(self, kind: str, source: str) -> None:
    """One more picture of a kind."""
    self._counts[kind] += 1
    self._first.setdefault(kind, source)

  def lines(self) -> list[str]:
    """A line for each kind, with the first picture."""
    return [
      f"{count:,} {kind}, e.g. {self._first[kind]}."
      for kind, count in self._counts.items()
    ]


@dataclasses.dataclass
class _Batch:
  """The work on one folder, and what became of it."""

  root: pathlib.Path
  out: pathlib.Path
  cells: Sequence[_Cell]
  seed: int
  file_format: str
  drop_alpha: bool
  ignore_orientation: bool
  writer: whole_files.Writer
  pool: concurrent.futures.ThreadPoolExecutor
  workers: int
  written: int = 0
  failed: list[str] = dataclasses.field(default_factory=list)
  notes: _Notes = dataclasses.field(default_factory=_Notes)

  def run(self, paths: Iterable[pathlib.Path]) -> Iterator[int]:
    """Corrupts the pictures; yields how many are done, after each.

    Raises:
      UserError: a result cannot be written.
    """
    waiting = _Waiting(self)
    jobs = ((path, self._missing(path)) for path in paths)
    pairs = _read_ahead(self.pool, self._read, jobs, self.workers)
    for done, ((path, cells), picture) in enumerate(pairs, 1):
      if isinstance(picture, _Picture):
        self._note(path, picture)
        for name, severity in cells:
          try:
            pixels = self._corrupt(path, picture.pixels, name, severity)
          except errors.UserError as e:
            self.failed.append(f"{picture_folders.shown(path)}: {e}")
            break
          waiting.add(self._place(path, name, severity), pixels)
      elif picture is not None:
        self.failed.append(str(picture))
      yield done
    waiting.finish()

  def _note(self, path: pathlib.Path, picture: _Picture) -> None:
    source = picture_folders.shown(path)
    if picture.turned:
      self.notes.add("pictures turned upright as their EXIF data ask", source)
    if picture.animated:
      self.notes.add(
        "pictures have more frames, of which the first was taken", source
      )

  def _missing(self, path: pathlib.Path) -> list[_Cell]:
    """What a picture lacks; notes results that are older than it."""
    missing = []
    changed = path.stat().st_mtime
    older = False
    for cell in self.cells:
      try:
        older |= os.stat(self._place(path, *cell)).st_mtime < changed
      except OSError:
        missing.append(cell)
    if older:
      self.notes.add(
        "pictures are newer than results of theirs, which were left as they are"
        " (delete them to have them made again)",
        picture_folders.shown(path),
      )
    return missing

  def _read(
    self, job: tuple[pathlib.Path, list[_Cell]]
  ) -> _Picture | errors.UserError | None:
    """The picture; None where nothing is missing; the refusal of a bad one."""
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
    self, path: pathlib.Path, image: np.ndarray, name: str, severity: int
  ) -> np.ndarray:
    import jax

    from robust_tfds import corruptions

    relative = path.relative_to(self.root).as_posix()
    key = corruptions.example_key(self.seed, "folder", name, severity, relative)
    try:
      return np.asarray(
        corruptions.corrupt(image, name, severity, edition="any", key=key)
      )
    except (MemoryError, jax.errors.JaxRuntimeError) as e:
      raise errors.UserError(
        f"{name} of {image.shape[1]} x {image.shape[0]} px needs more memory"
        f" than there is ({str(e).splitlines()[0]}). Make the picture smaller."
      ) from e

  def _place(
    self, path: pathlib.Path, name: str, severity: int
  ) -> pathlib.Path:
    relative = path.relative_to(self.root).with_suffix(
      _SUFFIX[self.file_format]
    )
    return self.out / name / str(severity) / relative


class _Waiting:
  """Results that threads encode and write, few at a time."""

  def __init__(self, batch: _Batch):
    """Nothing waits."""
    self._batch = batch
    self._queue: collections.deque[tuple[int, concurrent.futures.Future]] = (
      collections.deque()
    )
    self._bytes = 0

  def add(self, place: pathlib.Path, pixels: np.ndarray) -> None:
    """One more; waits while too many are not written."""
    save = self._batch.pool.submit(self._save, place, pixels)
    self._queue.append((pixels.nbytes, save))
    self._bytes += pixels.nbytes
    while (
      len(self._queue) > 4 * self._batch.workers or self._bytes > _WAITING_BYTES
    ):
      self._take()

  def finish(self) -> None:
    """Waits for all."""
    while self._queue:
      self._take()

  def _take(self) -> None:
    size, save = self._queue.popleft()
    refusal = save.result()
    self._bytes -= size
    if refusal is None:
      self._batch.written += 1
    else:
      self._batch.failed.append(refusal)

  def _save(self, place: pathlib.Path, pixels: np.ndarray) -> str | None:
    """Writes a result; the reason where the format cannot hold it."""
    try:
      data = _encoded(pixels, self._batch.file_format)
    except (OSError, ValueError) as e:
      return (
        f"{picture_folders.shown(place)}: cannot be stored as"
        f" {self._batch.file_format}: {e}."
      )
    self._batch.writer.write(place, data)
    return None


def read(
  path: str | os.PathLike,
  *,
  drop_alpha: bool = False,
  ignore_orientation: bool = False,
) -> _Picture:
  """A picture of the folder.

  Raises:
    UserError: as `reading.pictures.picture`, or with transparency that was not
      allowed to be dropped; names the file.
  """
  source = picture_folders.shown(path)
  with pictures.opened(path, source) as image:
    if not drop_alpha and _is_transparent(image):
      raise errors.UserError(
        f"{source}: has transparency; use --drop_alpha to ignore it."
      )
    number = 1 if ignore_orientation else pictures.orientation(image)
    upright = pictures.upright(pictures.rgb(image, source), number)
    pixels = np.asarray(upright)
    return _Picture(pixels, number != 1, pictures.has_more_frames(image))


def _is_transparent(image: Any) -> bool:
  if "A" not in image.getbands() and "transparency" not in image.info:
    return False
  if pictures.is_deep(image):
    return True
  return bool(np.asarray(image.convert("RGBA"))[..., 3].min() < 255)


def _read_ahead(
  pool: concurrent.futures.Executor,
  function: Callable[[_ItemT], _ResultT],
  items: Iterable[_ItemT],
  count: int,
) -> Iterator[tuple[_ItemT, _ResultT]]:
  """(item, function(item)) in order, `count` of them begun in advance."""
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
    picture.save(out, "JPEG", quality=85, optimize=True)
  return out.getvalue()


def _beside(walk: picture_folders.Walk) -> list[str]:
  """Notes on what lay beside the pictures."""
  notes = []
  if walk.hidden:
    notes.append(f"{walk.hidden:,} hidden files or folders were passed by.")
  if walk.other:
    kinds = ", ".join(
      f"{count:,} {kind or 'without extension'}"
      for kind, count in walk.other.most_common(8)
    )
    notes.append(f"files of other types were passed by: {kinds}.")
  return notes


def _report(done: int, total: int, written: int, elapsed: float) -> None:
  left = elapsed / done * (total - done)
  print(
    f"\r{done:,}/{total:,} pictures  {written:,} files "
    f" {written / max(elapsed, 1e-9):,.0f}/s  ETA {left:,.0f} s ",
    end="" if done < total else "\n",
    flush=True,
  )


def severities(values: Sequence[str]) -> Iterator[int]:
  """Numbers of a `--severity` list.

  Raises:
    UserError: not a number.
  """
  for value in values:
    if value.strip() not in map(str, range(10)):
      raise errors.UserError(f"--severity takes numbers 1-5, got {value!r}.")
    yield int(value)


def define_flags() -> None:
  """The command's flags."""
  flags.DEFINE_string(
    "corruption", "common", "common, extra, all, or names with commas."
  )
  flags.DEFINE_list("severity", ["1", "2", "3", "4", "5"], "1-5.")
  flags.DEFINE_integer("seed", 0, "Seed of the corruptions.")
  flags.DEFINE_enum("format", "png", ["png", "jpeg"], "Of the results.")
  flags.DEFINE_bool("drop_alpha", False, "Ignore transparency.")
  flags.DEFINE_bool(
    "ignore_orientation", False, "Do not turn photographs upright (EXIF)."
  )
  flags.DEFINE_bool(
    "skip_errors", False, "Succeed although pictures had to be left out."
  )
  flags.DEFINE_integer("workers", 4, "Threads that read and write.")
  flags.DEFINE_string("frost_dir", "", "Folder of the frost pictures.")


def main(argv: Sequence[str]) -> None:
  """Corrupts, and names the pictures that were left out."""
  if len(argv) != 3:
    raise app.UsageError("Name two folders: IN OUT.")
  options = flags.FLAGS
  written, failed = _run_command(argv[1], argv[2], options)
  print(f"{written:,} files written to {picture_folders.shown(argv[2])}")
  if not failed:
    return
  text = "\n".join([f"{len(failed):,} left out:", *failed])
  if not options.skip_errors:
    sys.exit(f"{text}\nTo accept this, use --skip_errors.")
  print(text, file=sys.stderr)


def _run_command(
  source: str, target: str, options: flags.FlagValues
) -> tuple[int, list[str]]:
  from robust_tfds.corruptions import frost_pictures

  if options.frost_dir:
    frost_pictures.use_folder(options.frost_dir)
  return run(
    source,
    target,
    names=conditions.PICTURES.resolve(options.corruption),
    severities=list(severities(options.severity)),
    seed=options.seed,
    file_format=options.format,
    drop_alpha=options.drop_alpha,
    ignore_orientation=options.ignore_orientation,
    workers=options.workers,
  )


if __name__ == "__main__":
  command.run(main, define_flags)
