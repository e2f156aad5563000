"""A table to fill in: a row for every picture of a folder under every condition.

  path        of the stored picture, as a program in the current folder opens it
  example_id  path of the picture below the folder that was corrupted
  label       its class: the first folder of that path, where there are several
  corruption  name; `clean` for the picture itself
  severity    1-5, 0 for clean
  codec       how pixels are stored: `png`, which loses nothing, or `jpeg85`
  edition     of the corruptions, `any`, and the crop before them, `none`: facts
  geometry    that `eval.score --facts=RUN` holds against those of the run; so
  draws       the set's name and the seed, which the corruptions' draws depend on
  top1        empty: the prediction, which whoever fills it in writes

`eval.score --predictions=FILE` reads it, classes by name or by number.
"""

import csv
import os
from collections.abc import Iterable

from etils import epath

from robust_tfds import conditions, errors
from robust_tfds.folder_work import CODECS, Batch
from robust_tfds.reading import column_files, picture_folders
from robust_tfds.storage import paths

HEADER = (
  "path example_id label corruption severity codec edition geometry draws top1"
).split()
_PIXELS = ("any", "none")  # edition and geometry: pictures keep their size


def check(path: epath.Path) -> None:
  """Refuse to write over a file, which may hold predictions.

  Raises:
    UserError: names it, or the folder that is not there.
  """
  if paths.is_local(path) and not path.parent.is_dir():
    raise errors.UserError(
      f"--manifest={path}: there is no folder {path.parent}. Make it first."
    )
  if paths.exist([path])[0]:
    raise errors.UserError(
      f"--manifest={path}: something is there, and may hold predictions. Name a"
      " new file."
    )


def class_folders(root: epath.Path, files: Iterable[epath.Path]) -> list[str]:
  """Name the classes: the folders right below the root that hold pictures.

  Returns:
    None of a single folder; a picture beside several is of no class.

  Raises:
    UserError: a picture whose name no table can hold.
  """
  names: set[str] = set()
  for file in files:
    example = picture_folders.example_id(file, root)
    column_files.check_text(picture_folders.printable(file), example)
    names.update(example.split("/")[:-1][:1])
  return sorted(names) if len(names) > 1 else []


def write(
  path: epath.Path,
  batch: Batch,
  files: Iterable[epath.Path],
  typed: str,
  classes: bool,
) -> int:
  """Write the table of the pictures that are there under every condition.

  Args:
    path: where; nothing is there yet.
    batch: the batch that was run.
    files: the pictures that were corrupted.
    typed: the folder of the results, as the user named it.
    classes: whether the first folder is the class.

  Returns:
    How many rows.
  """
  rows = 0
  codec = CODECS[batch.file_format]
  draws = conditions.draws_in_words(batch.dataset, batch.seed)
  with paths.written_locally(path) as local:
    unfinished = f"{local}.unfinished"
    with open(unfinished, "w", encoding="utf-8", newline="") as out:
      table = csv.writer(out, lineterminator="\n")
      table.writerow(HEADER)
      for file in files:
        places = {cell: batch.place(file, *cell) for cell in batch.cells}
        if len(paths.states(map(os.fspath, places.values()))) < len(places):
          continue
        example = picture_folders.example_id(file, batch.root)
        label = example.partition("/")[0] if classes else ""
        for cell, place in places.items():
          result = os.path.join(typed, *place.relative_to(batch.out).parts)
          row = (result, example, label, *cell, codec, *_PIXELS, draws, "")
          table.writerow(row)
          rows += 1
    os.replace(unfinished, local)
  return rows
