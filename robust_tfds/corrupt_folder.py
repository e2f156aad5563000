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

import numpy as np
from absl import app
from absl import flags

from robust_tfds import conditions

_CORRUPTION = flags.DEFINE_string(
  "corruption", "common", "common, extra, all, or names with commas."
)
_SEVERITY = flags.DEFINE_list("severity", ["1", "2", "3", "4", "5"], "1-5.")
# Overridable: other commands define flags of these names, and tests import all.
_SEED = flags.DEFINE_integer(
  "seed", 0, "Seed of the corruptions.", allow_override=True
)
_FORMAT = flags.DEFINE_enum("format", "png", ["png", "jpeg"], "Of the results.")
_DROP_ALPHA = flags.DEFINE_bool("drop_alpha", False, "Ignore transparency.")
_WORKERS = flags.DEFINE_integer(
  "workers", 4, "Threads that read and write.", allow_override=True
)
_FROST = flags.DEFINE_string("frost_dir", "", "Folder of the frost pictures.")

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
    raise ValueError(f"{path}: {e}") from e


def _to_rgb(picture: Any, drop_alpha: bool) -> np.ndarray:
  transparent = "A" in picture.getbands() or "transparency" in picture.info
  if transparent and not drop_alpha:
    alpha = np.asarray(picture.convert("RGBA"))[..., 3]
    if alpha.min() < 255:
      raise ValueError("has transparency; use --drop_alpha to ignore it")
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
    spec.module(name)
  for severity in severities:
    spec.check_severity(severity)
  root, out = pathlib.Path(source).resolve(), pathlib.Path(target).resolve()
  files = _pictures(root, out)
  cells = [(n, s) for n in names for s in severities]
  jobs = [
    (
      path,
      [
        c
        for c in cells
        if not _place(out, root, path, *c, file_format).exists()
      ],
    )
    for path in files
  ]
  total = sum(len(wanted) for _, wanted in jobs)
  written, failed, start = 0, [], time.perf_counter()
  with concurrent.futures.ThreadPoolExecutor(workers) as pool:

    def load(job):
      path, wanted = job
      try:
        return (
          path,
          wanted,
          read(path, drop_alpha=drop_alpha) if wanted else None,
        )
      except ValueError as e:
        return path, wanted, e

    saves = []
    for path, wanted, image in pool.map(load, jobs):
      if isinstance(image, ValueError):
        failed.append(str(image))
        total -= len(wanted)
        continue
      relative = path.relative_to(root).as_posix()
      for name, severity in wanted:
        done = _corrupt(image, name, severity, seed, relative)
        place = _place(out, root, path, name, severity, file_format)
        saves.append(pool.submit(_save, done, place, file_format))
        written += 1
      if not quiet and wanted:
        _report(written, total, start)
    for save in saves:
      save.result()
  return written, failed


def _pictures(root: pathlib.Path, out: pathlib.Path) -> list[pathlib.Path]:
  if not root.is_dir():
    raise FileNotFoundError(f"{root} is no folder.")
  if out == root or out.is_relative_to(root) or root.is_relative_to(out):
    raise ValueError(f"{out} and {root} must not lie inside one another.")
  found = sorted(
    p
    for p in root.rglob("*")
    if p.suffix.lower() in _EXTENSIONS and p.is_file()
  )
  if not found:
    raise FileNotFoundError(
      f"No pictures in {root}; looked for {', '.join(_EXTENSIONS)}."
    )
  stems: dict[pathlib.Path, pathlib.Path] = {}
  for path in found:
    other = stems.setdefault(path.with_suffix(""), path)
    if other != path:
      raise ValueError(
        f"{other.name} and {path.name} would be written to one file; rename"
        " one of them."
      )
  return found


def _place(out, root, path, name, severity, file_format) -> pathlib.Path:
  relative = path.relative_to(root).with_suffix(_SUFFIX[file_format])
  return out / name / str(severity) / relative


def _corrupt(image, name, severity, seed, relative) -> np.ndarray:
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
      raise ValueError(f"--severity takes numbers 1-5, got {value!r}.")
    yield int(value)


def main(argv: Sequence[str]) -> None:
  """Runs, and says errors in words without a traceback."""
  if len(argv) != 3:
    raise app.UsageError("Name two folders: IN OUT.")
  from robust_tfds.corruptions import frost_pictures

  try:
    if _FROST.value:
      frost_pictures.use_folder(_FROST.value)
    names = conditions.PICTURES.resolve(_CORRUPTION.value)
    if "frost" in names:
      frost_pictures.folder()
    written, failed = run(
      argv[1],
      argv[2],
      names=names,
      severities=list(severities(_SEVERITY.value)),
      seed=_SEED.value,
      file_format=_FORMAT.value,
      drop_alpha=_DROP_ALPHA.value,
      workers=_WORKERS.value,
    )
  except (ValueError, OSError) as e:
    sys.exit(f"Error: {e}")
  print(f"{written:,} files written to {argv[2]}")
  if failed:
    sys.exit("\n".join([f"{len(failed)} pictures left out:", *failed]))


if __name__ == "__main__":
  app.run(main)
