"""Corrupt a picture, or every picture of a folder.

  robust-tfds corrupt IN OUT --corruption=all --severity=1,3,5
  robust-tfds corrupt photo.jpg OUT
  robust-tfds corrupt IN OUT --corruption=fog,snow --format=jpeg
  robust-tfds corrupt IN OUT --manifest=todo.csv
  robust-tfds corrupt --get_frost=frost   # after README's pip install -t frost

The results are OUT/<corruption>/<severity>/<the picture's path in IN>. OUT/overview.png
shows a few pictures under a few conditions. Pictures keep their size (edition `any`,
as in the detection paper). A corruption is compiled at most 12 times, whatever the
sizes (`corruptions/canvas.py`). Other modes become RGB (`reading/pictures.py`), and an
animation gives its first frame. Photographs are turned upright as their EXIF data
ask, and the results have no EXIF data; `--ignore_orientation` leaves pixels as they
are stored. Transparency is refused unless `--drop_alpha` is set.

Results are PNG, which is lossless, or JPEG of quality 85 (`--format=jpeg`).
`--keep_names` keeps names such as `a.jpg`, so that lists of files still fit. The
content has the format that `--format` says; Pillow and TensorFlow go by the content.

`--manifest=FILE` also stores the clean pictures, in OUT/clean/0/. It writes a table of
all results to fill in (`folder_manifest.py`), which `robust-tfds score` reads. With
`--manifest` or `--name`, draws depend on the set's name and equal those of a run over
the folder with `geometry="none"`. Else they depend on the word `folder`.

`--get_frost` copies the frost pictures from an archive or folder of the package
imagecorruptions into the cache. It corrupts nothing.

The same command continues; no existing file but overview.png is overwritten. Compiled
programs are kept for the next launch (`kept_programs.py`). A picture that cannot be
read or corrupted is named and left out, and at the end the command fails; with
`--skip_errors` it succeeds. All cores work, and memory holds one picture for each.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from absl import app, flags
from etils import epath

from robust_tfds import (
  command,
  conditions,
  durations,
  errors,
  folder_manifest,
  folder_overview,
  folder_work,
  kept_programs,
  reading,
  stopping,
)
from robust_tfds.reading import picture_folders
from robust_tfds.storage import paths, whole_files

_LISTED = 10  # names that a note shows
_RECORD = ".corrupt_folder.json"  # in OUT: the settings that pixels depend on

_Cell = tuple[str, int]  # (corruption, severity)


def run(
  source: str | os.PathLike,
  target: str | os.PathLike,
  *,
  names: Sequence[str],
  severities: Sequence[int],
  seed: int = 0,
  file_format: str = "png",
  keep_names: bool = False,
  manifest: str | os.PathLike | None = None,
  name: str = "",
  drop_alpha: bool = False,
  ignore_orientation: bool = False,
  workers: int | None = None,
  quiet: bool = False,
) -> tuple[int, list[str]]:
  """Corrupt a folder, or one picture.

  Args:
    source: a picture, or a folder of pictures, which is searched recursively.
    target: folder of the results; it must not lie inside `source`.
    names: names of the corruptions.
    severities: 1-5 each.
    seed: seed of the corruptions.
    file_format: `png` or `jpeg`.
    keep_names: whether results keep the pictures' names with their suffixes. They
      always do if two names differ in the suffix alone.
    manifest: path of a table of the results, to fill in; None: no table.
    name: name of the set, as in `evaluate`; default with a manifest: the folder's.
    drop_alpha: whether to ignore transparency.
    ignore_orientation: whether to leave photographs as they are stored.
    workers: number of threads that read, corrupt and write; None: one for each core.
    quiet: whether to print no progress, notes and counts.

  Returns:
    The number of files written, and a line for each picture that failed.

  Raises:
    FileNotFoundError: no such folder, or no pictures in it.
    UserError: unknown names or severities, folders inside one another, results
      of other settings in `target`, a manifest that is there, a single
      picture that cannot be read, or a result that cannot be written.
    MissingError: frost is asked for and its pictures are not here.
  """
  cells = _cells(names, severities)
  dataset = name or (manifest and picture_folders.name_of(os.fspath(source)))
  dataset = dataset or "folder"
  conditions.raw_keys(seed, dataset, *cells[0], ["a"])  # refuses odd seeds
  if file_format not in folder_work.SUFFIXES:
    raise errors.unknown_error("format", file_format, folder_work.SUFFIXES)
  conditions.check_seed(seed)
  if workers is not None and workers < 1:
    raise errors.UserError(f"workers: got {workers}, expected at least 1.")
  walk, out = _places(source, target)
  root = walk.root
  total = sum(1 for _ in walk.files())
  clash = "" if keep_names else walk.same_stem
  keep_names = keep_names or bool(clash)
  table = paths.parse(manifest, "--manifest") if manifest else None
  if table and walk.only:
    raise errors.UserError(
      f"--manifest: got the picture {walk.only}, expected a folder of pictures."
    )
  if table:
    folder_manifest.check(table)
    classes = folder_manifest.class_folders(root, walk.files())
    walk.inside = bool(classes)
    total = sum(1 for _ in walk.files())
    cells = [(conditions.CLEAN, 0), *cells]
  if not total and not walk.faults:
    raise FileNotFoundError(
      f"No pictures in {root}; looked for"
      f" {', '.join(sorted(picture_folders.EXTENSIONS))}."
    )
  if walk.only:  # refused as a whole
    folder_work.read(
      walk.only, drop_alpha=drop_alpha, ignore_orientation=ignore_orientation
    )
  if "frost" in names:
    from robust_tfds.corruptions import frost_pictures

    frost_pictures.folder()
  settings: dict[str, Any] = {
    "seed": seed,
    "ignore_orientation": ignore_orientation,
  }
  if keep_names:  # elsewhere the suffixes tell
    settings["keep_names"] = file_format
  if dataset != "folder":
    settings["name"] = dataset
  if (where := kept_programs.keep()) and not quiet:
    print(where)
  with whole_files.writer(out) as writer:
    _hold_settings(out / _RECORD, settings, writer)
    batch = folder_work.Batch(
      root=root,
      out=out,
      cells=cells,
      seed=seed,
      file_format=file_format,
      drop_alpha=drop_alpha,
      ignore_orientation=ignore_orientation,
      writer=writer,
      workers=workers,
      keep_names=keep_names,
      dataset=dataset,
    )
    start = time.perf_counter()
    sheet = _work(batch, walk, total, quiet)
  notes = [*batch.notes.lines(), *_passed_by(walk)]
  if keep_names:
    notes.append(
      f"{f'{clash} would be one file: ' * bool(clash)}names are kept: every file"
      f" holds {file_format.upper()}, also where its name ends otherwise."
    )
  if table:
    rows = folder_manifest.write(
      table, batch, walk.files(), os.fspath(target), bool(classes)
    )
    notes.append(f"{rows:,} rows in {table}: {_labelled(classes)}.")
  if not quiet:
    for note in notes:
      print(f"Note: {note}")
    _print_counts(batch, walk, total, time.perf_counter() - start, sheet)
  return batch.written, [*walk.faults, *batch.failed]


def _work(
  batch: folder_work.Batch, walk: picture_folders.Walk, total: int, quiet: bool
) -> epath.Path | None:
  """Write all results, then their overview; if stopped, say what is kept."""

  def so_far() -> str:
    made, files = batch.written + batch.there, total * len(batch.cells)
    return f"{made:,} of {files:,} files of {_count(total, 'picture')} kept"

  start = time.perf_counter()
  with stopping.telling(so_far):
    batch.choose_canvases(walk.files())
    for done in batch.run(walk.files()):
      if not quiet:
        _report(done, total, time.perf_counter() - start)
    return folder_overview.write(batch, walk.files())


def _labelled(classes: Sequence[str]) -> str:
  """Describe the column `label` of a manifest."""
  if classes:
    few = ", ".join(classes[:_LISTED]) + ", ..." * (len(classes) > _LISTED)
    return (
      f"labels are the {len(classes)} class folders {few}; top1 is to be filled in"
      " with such names"
    )
  return "no class folders, so label and top1 are to be filled in"


def _cells(names: Sequence[str], severities: Sequence[int]) -> list[_Cell]:
  from robust_tfds.corruptions import spec, trial

  for name in names:
    conditions.PICTURES.row(name)
    trial.check(name, "any", "corrupt_folder")
  for severity in severities:
    spec.check_severity(severity)
  cells = dict.fromkeys((n, int(s)) for n in names for s in severities)
  if not cells:
    raise errors.UserError(
      f"Nothing to do: severity {list(severities)} and corruption {list(names)},"
      " expected at least one of each."
    )
  return list(cells)


def _places(
  source: str | os.PathLike, target: str | os.PathLike
) -> tuple[picture_folders.Walk, epath.Path]:
  """Return the pictures and the folder of the results."""
  root, out = paths.resolved(source), paths.resolved(target)
  one = paths.is_file(root)
  if not one and not root.is_dir():
    raise FileNotFoundError(f"{root}: no such folder or picture.")
  if not one and (out.is_relative_to(root) or root.is_relative_to(out)):
    raise errors.UserError(f"{out} and {root} must not lie inside one another.")
  if out.exists() and not out.is_dir():
    raise errors.UserError(f"{out}: a file, expected a folder for the results.")
  if one:  # by the given name, even if it is a link
    place = paths.parse(source)
    root = paths.resolved(place.parent)
    return picture_folders.Walk(root, only=root / place.name), out
  return picture_folders.Walk(root), out


def _hold_settings(
  record: epath.Path, settings: dict[str, Any], writer: whole_files.Writer
) -> None:
  """Write down what pixels depend on; refuse a folder of other settings."""
  text = json.dumps(settings, indent=1, sort_keys=True)
  writer.write(record, text.encode())
  held = reading.json_file(record)
  if held != settings:
    raise errors.UserError(
      f"{record.parent}: it holds results of {held}, and this run has {settings}."
      " Name another folder, or use the settings of its results."
    )


def _passed_by(walk: picture_folders.Walk) -> list[str]:
  """Return notes on what lay beside the pictures."""
  notes = []
  if walk.hidden:
    notes.append(f"{walk.hidden:,} hidden files or folders were passed by.")
  if walk.beside:
    notes.append(f"{walk.beside:,} pictures beside the class folders left out.")
  if walk.loops:
    notes.append(
      f"{len(walk.loops):,} links back to a folder that they lie in were passed"
      f" by, e.g. {picture_folders.printable(walk.loops[0])}."
    )
  if walk.other_types:
    kinds = ", ".join(
      f"{count:,} {kind or 'without extension'}"
      for kind, count in walk.other_types.most_common(8)
    )
    notes.append(f"files of other types were passed by: {kinds}.")
  return notes


def _report(done: int, total: int, elapsed: float) -> None:
  """Print the progress: one line on a terminal, at most ten lines in a log."""
  live, end = sys.stdout.isatty(), done == total
  if not (live or end or done * 10 // total > (done - 1) * 10 // total):
    return
  left = elapsed / done * (total - done)
  print(
    f"{chr(13) * live}{done:,}/{total:,} pictures "
    f" {done / max(elapsed, 1e-9):,.1f}/s  ETA {left:,.0f} s ",
    end="" if live and not end else "\n",
    flush=True,
  )


def _print_counts(
  batch: folder_work.Batch,
  walk: picture_folders.Walk,
  total: int,
  elapsed: float,
  sheet: epath.Path | None,
) -> None:
  """Print what was done, what was not and why, and where to look."""
  shown = picture_folders.printable
  print(
    f"{_count(total, 'picture')} x {_count(len(batch.cells), 'condition')}:"
    f" {_count(batch.written, 'file')} written to {shown(batch.out)}"
    f" in {durations.text(elapsed)}"
  )
  left_out = len(walk.faults) + len(batch.failed)
  reasons = {
    "files that were there already": batch.there,
    "pictures or folders left out, named below": left_out,
    "hidden files or folders": walk.hidden,
    "files of other types": walk.other_types.total(),
    "pictures beside the class folders": walk.beside,
  }
  skipped = [f"{n:,} {words}" for words, n in reasons.items() if n]
  if skipped:
    print(f"skipped: {'; '.join(skipped)}")
  if sheet:
    print(f"look at {shown(sheet)}")


def _count(number: int, noun: str) -> str:
  return f"{number:,} {noun}{'s' * (number != 1)}"


def severities(values: Sequence[str]) -> Iterator[int]:
  """Parse the numbers of a `--severity` list.

  Raises:
    UserError: not a number.
  """
  for value in values:
    if value.strip() not in map(str, range(10)):
      raise errors.UserError(f"--severity takes numbers 1-5, got {value!r}.")
    yield int(value)


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_string(
    "corruption", "common", "common, extra, all, or names separated by commas."
  )
  flags.DEFINE_list(
    "severity",
    ["1", "2", "3", "4", "5"],
    "Severities from 1 (mild) to 5, separated by commas; default: all five.",
  )
  flags.DEFINE_integer("seed", 0, "Seed of the corruptions; default: 0.")
  flags.DEFINE_enum("format", "png", ["png", "jpeg"], "Format of the results.")
  flags.DEFINE_bool(
    "keep_names",
    False,
    "Keep the pictures' names with their suffixes. Default: only if two names differ"
    " in the suffix alone.",
  )
  flags.DEFINE_string(
    "manifest",
    None,
    "CSV to write, with a row to fill in for each result and clean picture; default:"
    " none.",
  )
  flags.DEFINE_string(
    "name",
    "",
    "Name of the set in runs, on which the draws depend; default: with --manifest the"
    " folder's name, else the word folder.",
  )
  flags.DEFINE_bool("drop_alpha", False, "Ignore transparency.")
  flags.DEFINE_bool(
    "ignore_orientation", False, "Do not turn photographs upright (EXIF)."
  )
  flags.DEFINE_bool(
    "skip_errors", False, "Succeed even if pictures had to be left out."
  )
  flags.DEFINE_integer(
    "workers", None, "Number of threads; default: one for each core."
  )
  flags.DEFINE_string(
    "frost_dir", "", "Folder of the frost pictures; default: searched for."
  )
  flags.DEFINE_string(
    "get_frost",
    "",
    "Archive or folder of imagecorruptions, whose frost pictures are copied into the"
    " cache for all commands; nothing is corrupted.",
  )


def main(argv: Sequence[str]) -> None:
  """Corrupt, and name the pictures that were left out."""
  options = flags.FLAGS
  if options.get_frost:
    if len(argv) > 1:
      raise app.UsageError(
        "--get_frost corrupts nothing: leave out IN and OUT."
      )
    from robust_tfds.corruptions import frost_pictures

    print(f"frost pictures: {frost_pictures.take(options.get_frost)}")
    return
  if len(argv) != 3:
    raise app.UsageError("Name a folder or a picture, and a folder: IN OUT.")
  _, failed = _run_command(argv[1], argv[2], options)
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
    keep_names=options.keep_names,
    manifest=options.manifest,
    name=options.name,
    drop_alpha=options.drop_alpha,
    ignore_orientation=options.ignore_orientation,
    workers=options.workers,
  )


if __name__ == "__main__":
  command.run(main, define_flags)
