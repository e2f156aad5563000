"""Classifications of any program, one row per example and condition.

CSV with a header, NPZ with one array per column, or Parquet:

  model       optional; default: the file's name
  corruption  name; empty or `clean` for clean
  severity    1-5, 0 for clean
  example_id  the same ids in every condition of every model
  label       int, the true class, the same in every condition
  top1        int, the predicted class
  top2..top5  int, optional, best first: they give the top-5 error

A condition has a prediction for every example, or none: its rows, or their `top1`,
are left out, and numbers that need it are empty. `codec`, `edition`, `geometry` and
`draws`, which `corrupt_folder --manifest` writes, are compared with the run of
`--facts`; other columns are named and not read. `--columns=top1=prediction` renames
columns. Values of a CSV (`.csv`, `.tsv`) are separated by `,` `;` tab or `|`.
Classes may be names (`eval/tasks/parts/class_names.py`).
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from eval import tasks
from eval.cells import provenance
from eval.cells.cell import Cell
from eval.readers import base
from eval.tasks.headlines import baselines
from eval.tasks.parts import class_names, example_checks
from robust_tfds import conditions, errors
from robust_tfds.conditions import Condition
from robust_tfds.reading import column_files
from robust_tfds.reading.column_files import ColumnFile

REQUIRED = ("corruption", "severity", "example_id", "label", "top1")
RANKS = ("top1", "top2", "top3", "top4", "top5")
# Columns of `corrupt_folder --manifest` that are facts of the data.
_FACTS = ("codec", "edition", "geometry", "draws")
_LISTED = 10  # a note shows this many names of a list
_MIN_PREDICTIONS = (
  10  # a note on a shift of classes needs this many predictions
)

Columns = base.Columns
_Rows = dict[tuple[str, Condition], np.ndarray]  # (model, condition) -> rows


class CsvReader(base.Reader):
  """Reader of files of classifications."""

  kind = "a file of classifications"
  options = (
    "dataset",
    "baseline",
    "seed",
    "subset",
    "columns",
    "separator",
    "classes",
    "facts",
  )
  example = base.Example(
    {
      "mine.csv": "corruption,severity,example_id,label,top1\n"
      ",0,a,0,0\n,0,b,1,0\nfog,3,a,0,1\nfog,3,b,1,0\n"
    },
    "mine.csv",
  )

  def fits(self, path: epath.Path, options: base.Options) -> bool:
    """Return whether it is a table, and no option is of sets of frames."""
    return path.suffix in column_files.suffixes() and not options.has_frames

  def read(
    self, paths: Sequence[epath.Path], options: base.Options
  ) -> base.Run:
    """Return the cells of all files; see `open_file` and `cells` for refusals."""
    options.check(self.options, self.kind)
    dataset = options.dataset or base.UNNAMED
    example_checks.check_kind(dataset, tasks.get("classification").set_kind)
    columns_by_cell: dict[Cell, dict[str, np.ndarray]] = {}
    labels = {}
    stated: dict[str, list[str]] = {}
    notes = [f"scored from {', '.join(p.name for p in paths)}"]
    for path in paths:
      file = open_file(path, options, REQUIRED, RANKS)
      labels[path] = models(file)
      base.check_labels(labels)
      written = [value.strip() for value in file.texts("label").values]
      classes = class_names.Classes.from_labels(
        dataset, options.classes, written, _is_of_folders(file)
      )
      file = _numbered(file, classes)
      by_cell, left_out = _rows_by_cell(file)
      file_columns = cells(file, by_cell, dataset, options.seed or 0)
      if columns_by_cell:
        _check_same_examples(paths[0], columns_by_cell, path, file_columns)
      columns_by_cell |= file_columns
      for name in _FACTS:
        if name in file.columns:
          stated[name] = [*stated.get(name, ()), *file.texts(name).values]
      found = classes.names if options.classes is None else ()
      notes += [*_guesses(file, found), *_shift_notes(file)]
      notes += [*left_out, *unread(file)]
    baseline = options.baseline
    if baseline is None:
      baseline = baselines.default(dataset)
    listed = list(columns_by_cell)
    return base.Run(
      config=base.config("classification", listed, baseline=baseline),
      cells=listed,
      columns=columns_by_cell.__getitem__,
      class_names=classes.names,
      notes=notes,
      stated=stated,
    )


def _is_of_folders(file: ColumnFile) -> bool:
  """Return whether every label is the first folder of its example's id."""
  ids, labels = file.texts("example_id"), file.texts("label")
  first = np.array([i.rpartition("/")[0].partition("/")[0] for i in ids.values])
  label = np.array([value.strip() for value in labels.values])
  return bool((first[ids.codes] == label[labels.codes]).all() and label.all())


def _numbered(file: ColumnFile, classes: class_names.Classes) -> ColumnFile:
  """Return the file with numbers for classes; UserError if a rank is missing."""
  ranks = [r for r in RANKS if r in file.columns]
  if ranks != list(RANKS[: len(ranks)]):
    raise errors.UserError(
      f"{file.path}: got the columns {', '.join(ranks)}, expected all ranks from"
      f" top1 to {ranks[-1]}, or only top1."
    )
  numbers = {n: classes.column(file, n, n in ranks) for n in ("label", *ranks)}
  return dataclasses.replace(file, columns={**file.columns, **numbers})


def _guesses(file: ColumnFile, names: Sequence[str]) -> list[str]:
  """Return notes on what was guessed of a file: its separator, its classes."""
  notes = []
  if file.separator not in ("", ","):
    notes.append(
      f"values of {file.path.name} are separated by {file.separator}"
    )
  if names:
    notes.append(
      f"classes of {file.path.name}: {len(names)} names, numbered from 0:"
      f" {_shortened(names)}"
    )
  return notes


def _shift_notes(file: ColumnFile) -> list[str]:
  """Return a note if most predictions are right once 1 is added or subtracted."""
  given = file.numbers("top1") != class_names.EMPTY
  top1, label = (file.numbers(name)[given] for name in ("top1", "label"))
  right = int((top1 == label).sum())
  for shift, words in ((1, "minus 1"), (-1, "plus 1")):
    count = int((top1 - label == shift).sum())
    # All classes are shifted, so the largest differ too.
    shifted = count and (top1.max() - label.max()) * shift > 0
    if (
      shifted
      and 2 * count >= len(top1)
      and count >= max(_MIN_PREDICTIONS, 4 * right)
    ):
      return [
        f"{right:,} of {len(top1):,} predictions of {file.path.name} are right, and"
        f" {count:,} would be with top1 {words}. Does top1 count its classes from"
        " another number than label?"
      ]
  return []


def _shortened(names: Sequence[str]) -> str:
  return ", ".join(names[:_LISTED]) + ", ..." * (len(names) > _LISTED)


def _rows_by_cell(file: ColumnFile) -> tuple[_Rows, list[str]]:
  """Return the rows of conditions with predictions, and a note on the others.

  Raises:
    UserError: a rank is empty in a condition that has predictions, or all ranks
      are.
  """
  by_cell = _all_rows_by_cell(file)
  empty = _ranks(file) == class_names.EMPTY
  left_out = [k for k, rows in by_cell.items() if empty[0, rows].all()]
  missing = empty.any(axis=0)
  if len(left_out) < len(by_cell):
    for key in left_out:
      missing[by_cell.pop(key)] = False
  if missing.any():
    row = int(np.argmax(missing))
    raise errors.UserError(
      f"{file.path}: {missing.sum():,} of {len(file):,} predictions are empty,"
      f" the first in column {RANKS[int(np.argmax(empty[:, row]))]!r}, row"
      f" {row + 1} ({file.texts('example_id').text(row)!r}, {_place(file, row)})."
      " Fill them in; only whole conditions may be left empty."
    )
  if not left_out:
    return by_cell, []
  listed = _shortened([f"{model} {at.config}" for model, at in left_out])
  note = f"{len(left_out)} conditions of {file.path.name} have no predictions"
  return by_cell, [f"{note}: {listed}"]


def open_file(
  path: epath.Path,
  options: base.Options,
  required: Sequence[str],
  optional: Sequence[str] = (),
) -> ColumnFile:
  """Open a file of predictions.

  Without a column `model` the model is named after the file.

  Args:
    options: the user's options for the file.
    required: columns that it must have.
    optional: columns that it may have, besides `model`.

  Raises:
    UserError: see `column_files.column_file`; an empty example id or model; a
      column whose name is nearly one of the schema.
  """
  known = {_letters(name): name for name in (*required, "model", *optional)}
  renamed = _renamed_columns(options.columns or "", [*known.values()])
  file = column_files.column_file(
    path,
    required=required,
    optional=[*known.values(), *_FACTS],
    separator=options.separator or "",
    renamed=renamed,
  )
  for name, needs in (
    ("example_id", "every example needs an id"),
    ("model", "every row needs its model, or leave the column out"),
  ):
    column = file.columns.get(name)
    row = file.texts(name).first(lambda v: not v.strip()) if column else None
    if row is not None:
      raise errors.UserError(
        f"{file.path}: column {name!r}, row {row + 1}: empty; {needs}."
      )
  for name in set(file.header) - set(renamed.values()):
    near = known.get(_letters(name), name)
    if near not in (name, *renamed):
      raise errors.UserError(
        f"{path}: unknown column {name!r}. Did you mean {near!r}?"
      )
  if "model" in file.columns:
    return file
  model = column_files.Texts(np.zeros(len(file), np.int32), [path.stem])
  return dataclasses.replace(file, columns={**file.columns, "model": model})


def _renamed_columns(columns: str, schema: Sequence[str]) -> dict[str, str]:
  """Return column -> its name in the file, from `--columns`.

  Raises:
    UserError: not OURS=THEIRS, an unknown column, or a repeated name.
  """
  pairs = [pair.partition("=") for pair in columns.split(",") if columns]
  renamed = {ours.strip(): theirs.strip() for ours, _, theirs in pairs}
  if len(renamed) < len(pairs) or not all((*renamed, *renamed.values())):
    raise errors.UserError(
      f"--columns={columns}: expected a column's name here and its name in the"
      " file, each once, e.g. top1=prediction,label=truth."
    )
  names = {name: name for name in schema} | renamed
  for ours, theirs in renamed.items():
    if ours not in schema:
      raise errors.unknown_error("column of --columns", ours, schema)
    if [*names.values()].count(theirs) > 1:
      raise errors.UserError(
        f"--columns: the file's column {theirs!r} is named for {ours!r} and for"
        " another column. Name a different one for each."
      )
  return renamed


def _letters(name: str) -> str:
  return re.sub("[^0-9a-z]", "", name.lower())


def unread(file: ColumnFile) -> list[str]:
  """Return a note that names the columns that were not read."""
  read = file.names.values()
  names = [name for name in file.header if name and name not in read]
  if not names:
    return []
  return [f"columns of {file.path.name} not read: {', '.join(names)}"]


def models(file: ColumnFile) -> list[str]:
  """Return the labels of a file's models, in the order of their first rows."""
  column = file.texts("model")
  codes, first = np.unique(column.codes, return_index=True)
  return [column.values[c] for c in codes[np.argsort(first)]]


def cells(
  file: ColumnFile, by_cell: _Rows, dataset: str, seed: int
) -> dict[Cell, dict[str, np.ndarray]]:
  """Return a file's cells with the columns of a classification.

  Args:
    file: a file of predictions, with numbers for classes.
    by_cell: its rows.

  Raises:
    UserError: a class has two ranks, or an example has two predictions in a cell,
      none in one, or several labels.
  """
  _check_ranks(file)
  _check_examples(file, by_cell)
  _check_labels(file)
  ids = file.texts("example_id")
  place = np.argsort(np.argsort(np.array(ids.values, np.str_)))
  out: dict[Cell, dict[str, np.ndarray]] = {}
  for (model, condition), rows in by_cell.items():
    columns = _cell_columns(file, rows[np.argsort(place[ids.codes[rows]])])
    mark = provenance.fingerprint(
      {
        name: columns[name].tolist()
        for name in ("example_id", "frame", "label", "top5")
      }
    )
    out[Cell(model, dataset, condition, seed, mark)] = columns
  return out


def _ranks(file: ColumnFile) -> np.ndarray:
  """Return the predictions of each row, best first: int64 `[K, N]`."""
  return np.stack([file.numbers(r) for r in RANKS if r in file.columns])


def _check_ranks(file: ColumnFile) -> None:
  """Refuse a class with two ranks; the message names the row."""
  ranks = _ranks(file)
  for i in range(1, len(ranks)):
    same = (ranks[:i] == ranks[i]) & (ranks[i] != class_names.EMPTY)
    if same.any():
      row = int(np.argmax(same.any(axis=0)))
      first = RANKS[int(np.argmax(same[:, row]))]
      raise errors.UserError(
        f"{_row_text(file, row)}: the class {ranks[i, row]} is both {first} and"
        f" {RANKS[i]}; expected a different class for each rank."
      )


def _check_labels(file: ColumnFile) -> None:
  """Refuse an example with several labels; the message names both rows."""
  codes, label = file.texts("example_id").codes, file.numbers("label")
  _, first = np.unique(codes, return_index=True)
  differ = label != label[first[codes]]
  if differ.any():
    row = int(np.argmax(differ))
    before = int(first[codes[row]])
    raise errors.UserError(
      f"{_row_text(file, row)}: label {label[row]}, but {label[before]} in row"
      f" {before + 1}. Expected one true class for an example, in every condition"
      " and for every model."
    )


def _all_rows_by_cell(file: ColumnFile) -> _Rows:
  """Return (model, condition) -> rows; models by first row, conditions in order.

  Raises:
    UserError: an unknown corruption or severity; the message names the row.
  """
  columns = [file.texts(n) for n in ("model", "corruption", "severity")]
  key = np.ravel_multi_index(
    [c.codes for c in columns], [len(c.values) for c in columns]
  )
  order = np.argsort(key, kind="stable")
  starts = np.flatnonzero(np.diff(key[order], prepend=-1))
  out: dict[tuple[str, Condition], np.ndarray] = {}
  for rows in sorted(np.split(order, starts[1:]), key=lambda rows: rows[0]):
    row = int(rows[0])
    place = columns[0].text(row), _condition(file, row)
    # `clean` and the empty name are one condition.
    out[place] = np.sort(np.concatenate([out.get(place, rows[:0]), rows]))
  listed, known = models(file), conditions.PICTURES.known_conditions
  return {
    k: out[k]
    for k in sorted(out, key=lambda k: (listed.index(k[0]), known.index(k[1])))
  }


def _condition(file: ColumnFile, row: int) -> Condition:
  name, level = (file.texts(n).text(row).strip() for n in REQUIRED[:2])
  number = column_files.whole_number(level)
  if number is None:
    raise errors.UserError(
      f"{file.path}: column 'severity', row {row + 1}: {level[:40]!r} is not a"
      " whole number."
    )
  try:
    if name in ("", conditions.CLEAN):
      return conditions.PICTURES.condition("", number)
    conditions.PICTURES.row(name)  # refuses unknown names
    return conditions.PICTURES.condition(name, number)
  except errors.UserError as e:
    raise errors.UserError(
      f"{_row_text(file, row)}, corruption {name!r} with severity {number}: {e}"
    ) from e


def _row_text(file: ColumnFile, row: int) -> str:
  """Return the file, row and example in words, to begin an error message."""
  example = file.texts("example_id").text(row)
  return f"{file.path}: row {row + 1} ({example!r})"


def _check_examples(file: ColumnFile, by_cell: _Rows) -> None:
  """Refuse a cell without every example of the file, each exactly once."""
  ids = file.texts("example_id")
  used = np.bincount(ids.codes, minlength=len(ids.values)) > 0
  for (model, condition), rows in by_cell.items():
    count = np.bincount(ids.codes[rows], minlength=len(ids.values))
    where = f"{file.path}: {model}, {condition.config}"
    if (count > 1).any():
      code = int(np.argmax(count > 1))
      one, two = rows[ids.codes[rows] == code][:2] + 1
      raise errors.UserError(
        f"{where}: example {ids.values[code]!r} has more than one prediction, in"
        f" rows {one} and {two}. Each example occurs once in a"
        " condition."
      )
    missing = used & (count == 0)
    if missing.any():
      code = int(np.argmax(missing))
      row = int(np.argmax(ids.codes == code))
      raise errors.UserError(
        f"{where}: {missing.sum()} of {used.sum()} examples have no prediction, e.g."
        f" {ids.values[code]!r}, which is in row {row + 1} for"
        f" {_place(file, row)}. Every condition needs the same examples, in the same"
        " Unicode form; leave out an incomplete condition."
      )


def _place(file: ColumnFile, row: int) -> str:
  return f"{file.texts('model').text(row)}, {_condition(file, row).config}"


def _check_same_examples(
  first_path: epath.Path,
  first_cells: Mapping[Cell, Columns],
  second_path: epath.Path,
  second_cells: Mapping[Cell, Columns],
) -> None:
  """Refuse two files of different examples or labels."""
  first, second = (next(iter(c.values())) for c in (first_cells, second_cells))
  ids = first["example_id"]
  if not np.array_equal(ids, second["example_id"]):
    differ = sorted(set(ids.tolist()) ^ set(second["example_id"].tolist()))
    home = first_path if differ[0] in ids else second_path
    raise errors.UserError(
      f"{first_path} and {second_path} have different examples: {len(differ)} are"
      f" in only one of them, e.g. {differ[0]!r} in {home}. Score them separately,"
      " or over the same examples."
    )
  wrong = first["label"] != second["label"]
  if wrong.any():
    row = int(np.argmax(wrong))
    raise errors.UserError(
      f"{first_path} and {second_path}: example {str(ids[row])!r} has the label"
      f" {first['label'][row]} in the first and {second['label'][row]} in the"
      " second."
    )


def _cell_columns(file: ColumnFile, rows: np.ndarray) -> dict[str, np.ndarray]:
  """Return the columns of a cell, whose rows are in the order of their ids."""
  ranks = _ranks(file)[:, rows].T
  ids = file.texts("example_id").array(rows)
  padding = [(0, 0), (0, len(RANKS) - ranks.shape[1])]
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(len(rows), np.int32),
    "label": file.numbers("label")[rows],
    "top5": np.pad(ranks, padding, constant_values=-1),
  }
