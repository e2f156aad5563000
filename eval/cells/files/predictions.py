"""Predictions on disk: a model's outputs in the cell's folder, ids in a shared file.

A cell's folder holds `predictions.npz` (no pickles, see
`eval/cells/files/packed.py`) and its note (`eval/cells/files/note.py`). What
does not depend on the model lies in a file that all cells of the same examples
share (`eval/cells/files/examples.py`). Rows are sorted by (example_id, frame):
neither the batch size nor the number of hosts changes a byte. Each object is
written atomically, the examples first and the note last: a cell is finished
when its note exists.

Classification columns, one row per example:

  example_id  str         the example's stable id
  group_id    str         sequence, clip or anchor set; the id itself for images
  frame       int32       0 for images
  label       int32       the true class
  top5        int32 [5]   class ids, best first, ties by lower id; -1 pads models
                          of fewer than five classes
  score       float32 [5] their softmax probabilities; 0 pads
  nll         float32     -log of the true class's probability; infinite where the
                          model has no output for it
  brier       float32     sum over the classes of (probability - [true])^2

Predictions of other programs do not have the last two
(`eval/tasks/parts/proper_scores.py`). The first four are facts of the examples. For
other tasks see `eval/cells/files/columns.py`.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from etils import epath

from eval.cells import names
from eval.cells.files import columns as columns_lib
from eval.cells.files import examples as examples_lib
from eval.cells.files import note as note_lib
from eval.cells.files import packed
from eval.cells.files.columns import Columns
from robust_tfds import errors
from robust_tfds.storage import disk

FILE = "predictions.npz"


def folder(root: epath.Path, *parts: str) -> epath.Path:
  """Return a cell's folder; see `eval/cells/names.py`."""
  return epath.Path(root).joinpath(*map(names.folder_name, parts))


def split(
  columns: Columns,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
  """Split columns into facts of examples, and a model's outputs."""
  shared = columns_lib.OF_EXAMPLES
  return (
    {name: values for name, values in columns.items() if name in shared},
    {name: values for name, values in columns.items() if name not in shared},
  )


def finish(
  cell: epath.Path,
  examples: epath.Path,
  columns: Columns,
  facts: Mapping[str, object],
  split_of: str = "",
) -> dict[str, np.ndarray]:
  """Write a complete cell, which is then finished.

  Leftovers of an earlier process are replaced.

  Args:
    examples: folder of the facts of the run's examples.
    columns: columns of all its rows, in any order.
    facts: the result of `Cell.note`.
    split_of: name of what was read, see `note.Split`.

  Returns:
    The columns in the order of their ids, as `read` would return them.

  Raises:
    UserError: two rows with the same (example_id, frame).
    DiskError: the cell could not be written; it stays unfinished.
  """
  columns = sort(columns)
  example_columns, model_columns = split(columns)
  data = packed.dumps(model_columns)
  with disk.writing(cell):
    cell.mkdir(parents=True, exist_ok=True)
    disk.remove_temporary(cell)
    note = note_lib.make(
      facts,
      note_lib.split_of(
        split_of, columns["example_id"], examples_lib.labels(columns)
      ),
      {FILE: note_lib.File.from_bytes(data)},
      examples_lib.write(examples, example_columns),
    )
    disk.write_bytes(cell / FILE, data)
    disk.write_text(cell / note_lib.FILE, note.dumps())
  return columns


def sort(columns: Columns) -> dict[str, np.ndarray]:
  """Sort rows by (example_id, frame); duplicates are an error."""
  ids, frames = columns["example_id"], columns["frame"]
  order = np.lexsort((frames, ids))
  same = (ids[order][1:] == ids[order][:-1]) & (
    frames[order][1:] == frames[order][:-1]
  )
  if same.any():
    twice = str(ids[order][1:][same][0])
    raise errors.UserError(
      f"Example {twice!r} has more than one prediction in a cell; each"
      " (example_id, frame) must occur once."
    )
  return {k: v[order] for k, v in columns.items()}


def check(cell: epath.Path, note: note_lib.Note) -> None:
  """Refuse a finished cell whose files do not have the sizes in its note.

  Raises:
    UserError: names the file.
  """
  if FILE not in note.files:
    raise errors.UserError(f"{cell / note_lib.FILE}: files: {FILE} is missing.")
  for name, file in note.files.items():
    note_lib.check_size(cell / name, file)


def outputs(cell: epath.Path, note: note_lib.Note) -> dict[str, np.ndarray]:
  """Return the outputs in a finished cell with a known note.

  Raises:
    UserError: the file does not match the note; the message names it.
  """
  check(cell, note)
  data = note_lib.read_file(cell / FILE, note.files[FILE])
  return packed.loads(data, str(cell / FILE))


def read(
  cell: epath.Path, examples: epath.Path
) -> tuple[dict[str, np.ndarray], note_lib.Note]:
  """Return columns and note of a finished cell, checked against each other.

  Args:
    examples: folder of the facts of the run's examples.

  Raises:
    UserError: a damaged cell; the message names the file, and the field of the
      note.
  """
  note = note_lib.read(cell)
  example_columns = examples_lib.Reader().columns(examples, note.examples)
  return together(cell, example_columns, outputs(cell, note)), note


def together(
  cell: epath.Path, of_examples: Columns, of_model: Columns
) -> dict[str, np.ndarray]:
  """Return all columns of a cell, the inverse of `split`.

  Raises:
    UserError: their numbers of rows differ.
  """
  columns = {**of_examples, **of_model}
  rows = {len(values) for values in columns.values()}
  if len(rows) > 1 or "example_id" not in columns:
    raise errors.UserError(
      f"{cell / FILE}: columns of {sorted(rows)} rows, expected one row for every"
      " example in each."
    )
  return columns


def concatenate(parts: Iterable[Columns]) -> dict[str, np.ndarray]:
  """Concatenate the rows of several batches, which have the same columns."""
  listed: Sequence[Columns] = list(parts)
  return {k: np.concatenate([p[k] for p in listed]) for k in listed[0]}
