"""Corrupts every picture of a folder.

  python -m robust_tfds.corrupt_folder IN OUT --corruption=all --severity=1,3,5
  python -m robust_tfds.corrupt_folder IN OUT --corruption=fog,snow --format=jpeg

Writes OUT/<corruption>/<severity>/<the picture's path in IN>. Pictures keep their
size (the rules of the detection paper, edition `any`). A second launch continues;
files that exist are never overwritten. Grey, palette and 16-bit pictures become
RGB; transparency is refused unless `--drop_alpha`.
"""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import sys
import time
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import numpy as np
from absl import app
from absl import flags

from robust_tfds import command
from robust_tfds import conditions
from robust_tfds import errors

_EXTENSIONS = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff")
_SUFFIX = {"png": ".png", "jpeg": ".jpg"}


def read(path: pathlib.Path, *, drop_alpha: bool = False) -> np.ndarray:
  """A picture as uint8 RGB `[H, W, 3]`.

  Raises:
    ValueError: not a picture, truncated, or with transparency that was not
      allowed to be dropped; names the file.
  """
  from PIL import Image

  try:
    with Image.open(path) as picture:
      picture.load()
      return _to_rgb(picture, drop_alpha)
  except (OSError, SyntaxError, ValueError) as e:
    raise errors.UserError(f"{path}: {e}") from e


def _to_rgb(picture: Any, drop_alpha: bool) -> np.ndarray:
  transparent = "A" in picture.getbands() or "transparency" in picture.info
  if transparent and not drop_alpha:
    alpha = np.asarray(picture.convert("RGBA"))[..., 3]
    if alpha.min() < 255:
      raise errors.UserError("has transparency; use --drop_alpha to ignore it")
  if picture.mode in ("I;16", "I;16B", "I;16L", "I"):
    levels = np.asarray(picture).astype(np.int64)
    deep = np.clip(levels, 0, 65535) >> 8
    return np.repeat(deep.astype(np.uint8)[..., None], 3, axis=-1)
  return np.asarray(picture.convert("RGB"))


def run(
  source: str | os.PathLike,
  target: str | os.PathLike,
  *,
  names: Sequence[str],
  severities: Sequence[int],
  seed: int = 0,
  file_format: str = "png",
  drop_alpha: bool = False,
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
    workers: threads that read and write.
    quiet: print no progress.

  Returns:
    How many files were written, and one line for each picture that was not.

  Raises:
    FileNotFoundError: no such folder, or no pictures in it.
    ValueError: unknown names or severities, or folders inside one another.
  """
  from robust_tfds.corruptions import spec

  for name in names:
    conditions.PICTURES.row(name)
  for severity in severities:
    spec.check_severity(severity)
  root, out = pathlib.Path(source).resolve(), pathlib.Path(target).resolve()
  cells = [(n, s) for n in names for s in severities]
  jobs = [
    _Job(path, _missing(out, root, path, cells, file_format))
    for path in _pictures(root, out)
  ]
  total = sum(len(job.cells) for job in jobs)
  written, failed, start = 0, [], time.perf_counter()
  with concurrent.futures.ThreadPoolExecutor(workers) as pool:
    images = pool.map(lambda job: _read_job(job, drop_alpha), jobs)
    saves = []
    for job, image in zip(jobs, images, strict=True):
      if isinstance(image, errors.UserError):
        failed.append(str(image))
        total -= len(job.cells)
      if not isinstance(image, np.ndarray):
        continue
      relative = job.path.relative_to(root).as_posix()
      for name, severity in job.cells:
        corrupted = _corrupt(image, name, severity, seed, relative)
        place = _place(out, root, job.path, name, severity, file_format)
        saves.append(pool.submit(_save, corrupted, place, file_format))
        written += 1
      if not quiet:
        _report(written, total, start)
    for save in saves:
      save.result()
  return written, failed


class _Job(NamedTuple):
  """A picture and the (corruption, severity) pairs that it lacks."""

  path: pathlib.Path
  cells: list[tuple[str, int]]


def _missing(
  out: pathlib.Path,
  root: pathlib.Path,
  path: pathlib.Path,
  cells: Sequence[tuple[str, int]],
  file_format: str,
) -> list[tuple[str, int]]:
  return [
    (name, severity)
    for name, severity in cells
    if not _place(out, root, path, name, severity, file_format).exists()
  ]


def _read_job(
  job: _Job, drop_alpha: bool
) -> np.ndarray | errors.UserError | None:
  """The picture; None where nothing is missing; the refusal of a broken one."""
  if not job.cells:
    return None
  try:
    return read(job.path, drop_alpha=drop_alpha)
  except errors.UserError as e:
    return e


def _pictures(root: pathlib.Path, out: pathlib.Path) -> list[pathlib.Path]:
  if not root.is_dir():
    raise FileNotFoundError(f"{root} is no folder.")
  if out == root or out.is_relative_to(root) or root.is_relative_to(out):
    raise errors.UserError(f"{out} and {root} must not lie inside one another.")
  pictures = sorted(
    p
    for p in root.rglob("*")
    if p.suffix.lower() in _EXTENSIONS and p.is_file()
  )
  if not pictures:
    raise FileNotFoundError(
      f"No pictures in {root}; looked for {', '.join(_EXTENSIONS)}."
    )
  stems: dict[pathlib.Path, pathlib.Path] = {}
  for path in pictures:
    other = stems.setdefault(path.with_suffix(""), path)
    if other != path:
      raise errors.UserError(
        f"{other.name} and {path.name} would be written to one file; rename"
        " one of them."
      )
  return pictures


def _place(
  out: pathlib.Path,
  root: pathlib.Path,
  path: pathlib.Path,
  name: str,
  severity: int,
  file_format: str,
) -> pathlib.Path:
  relative = path.relative_to(root).with_suffix(_SUFFIX[file_format])
  return out / name / str(severity) / relative


def _corrupt(
  image: np.ndarray, name: str, severity: int, seed: int, relative: str
) -> np.ndarray:
  from robust_tfds import corruptions

  key = corruptions.example_key(seed, "folder", name, severity, relative)
  return np.asarray(
    corruptions.corrupt(image, name, severity, edition="any", key=key)
  )


def _save(image: np.ndarray, place: pathlib.Path, file_format: str) -> None:
  from PIL import Image

  place.parent.mkdir(parents=True, exist_ok=True)
  unfinished = place.with_name(f".{place.name}.unfinished")
  picture = Image.fromarray(image)
  if file_format == "png":
    picture.save(unfinished, "PNG")
  else:
    picture.save(unfinished, "JPEG", quality=85, optimize=True)
  # A link, not a rename: it refuses to overwrite.
  try:
    os.link(unfinished, place)
  except FileExistsError:
    pass
  finally:
    unfinished.unlink()


def _report(written: int, total: int, start: float) -> None:
  elapsed = time.perf_counter() - start
  left = elapsed / written * (total - written)
  print(
    f"\r{written:,}/{total:,} files  {written / elapsed:,.0f}/s  ETA"
    f" {left:,.0f} s ",
    end="" if written < total else "\n",
    flush=True,
  )


def severities(values: Sequence[str]) -> Iterator[int]:
  """Numbers of a `--severity` list.

  Raises:
    ValueError: not a number.
  """
  for value in values:
    if not value.strip().isdigit():
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
  flags.DEFINE_integer("workers", 4, "Threads that read and write.")
  flags.DEFINE_string("frost_dir", "", "Folder of the frost pictures.")


def main(argv: Sequence[str]) -> None:
  """Corrupts, and names the pictures that were left out."""
  if len(argv) != 3:
    raise app.UsageError("Name two folders: IN OUT.")
  written, failed = _run_command(argv[1], argv[2], flags.FLAGS)
  print(f"{written:,} files written to {argv[2]}")
  if failed:
    sys.exit("\n".join([f"{len(failed)} pictures left out:", *failed]))


def _run_command(
  source: str, target: str, options: flags.FlagValues
) -> tuple[int, list[str]]:
  from robust_tfds.corruptions import frost_pictures

  if options.frost_dir:
    frost_pictures.use_folder(options.frost_dir)
  names = conditions.PICTURES.resolve(options.corruption)
  if "frost" in names:
    frost_pictures.folder()
  return run(
    source,
    target,
    names=names,
    severities=list(severities(options.severity)),
    seed=options.seed,
    file_format=options.format,
    drop_alpha=options.drop_alpha,
    workers=options.workers,
  )


if __name__ == "__main__":
  command.run(main, define_flags)
