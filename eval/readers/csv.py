"""Classifications of any program, one row per example and condition.

CSV with a header, NPZ with one array per column, or Parquet:

  model       optional; default: the file's name
  corruption  name; empty or `clean` for clean
  severity    1-5, 0 for clean
  example_id  the same ids in every condition of every model
  label       int, the true class, the same in every condition
  top1        int, the predicted class
  top2..top5  int, optional, best first: they give the top-5 error

A condition has a prediction of every example or is left out as a whole, its rows
or their `top1`: what needs it is empty in the table then. Other columns are not
read, and named; but `codec`, `edition`, `geometry` and `draws` of a table of
`corrupt_folder --manifest`, which `--facts` holds against the run's. Columns of
other names are said by `--columns=top1=prediction`; a CSV's values (`.csv`, `.tsv`)
stand between `,` `;` tab or `|`. Classes may be names
(`eval/tasks/parts/class_names.py`).
"""

import dataclasses
import re
import unicodedata
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
# Of the data, which tables of `corrupt_folder --manifest` say.
_FACTS = ("codec", "edition", "geometry", "draws")
_LISTED = 10  # names of a list that a note shows
_LEAST = 10  # predictions, before a shift of their classes is said

Columns = base.Columns
_Rows = dict[tuple[str, Condition], np.ndarray]  # (model, condition) -> rows


class CsvReader(base.Reader):
  """Files of the schema above."""

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
    """Tables, unless something is said of them that only frames have."""
    return path.suffix in column_files.suffixes() and not options.of_frames

  def read(
    self, paths: Sequence[epath.Path], options: base.Options
  ) -> base.Run:
    """The cells of all files; see `columns` and `cells` for refusals."""
    options.check(self.options, self.kind)
    dataset = options.dataset or base.UNNAMED
    example_checks.check_kind(dataset, tasks.get("classification").set_kind)
    of_cells: dict[Cell, dict[str, np.ndarray]] = {}
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
      by_cell, unasked = _asked(file)
      of_file = cells(file, by_cell, dataset, options.seed or 0)
      if of_cells:
        _check_same(paths[0], of_cells, path, of_file)
      of_cells |= of_file
      for name in _FACTS:
        if name in file.columns:
          stated[name] = [*stated.get(name, ()), *file.texts(name).values]
      seen = classes.names if options.classes is None else ()
      notes += [*_seen(file, seen), *_counted_otherwise(file)]
      notes += [*unasked, *unread(file)]
    baseline = options.baseline
    if baseline is None:
      baseline = baselines.default(dataset)
    listed = list(of_cells)
    return base.Run(
      config=base.config("classification", listed, baseline=baseline),
      cells=listed,
      columns=of_cells.__getitem__,
      class_names=classes.names,
      notes=notes,
      stated=stated,
    )


def _is_of_folders(file: ColumnFile) -> bool:
  """Whether every label is the first folder of its example's id."""
  ids, labels = file.texts("example_id"), file.texts("label")
  first = np.array([i.rpartition("/")[0].partition("/")[0] for i in ids.values])
  label = np.array([value.strip() for value in labels.values])
  return bool((first[ids.codes] == label[labels.codes]).all() and label.all())


def _numbered(file: ColumnFile, classes: class_names.Classes) -> ColumnFile:
  """The same with numbers for classes; UserError where a rank is left out."""
  ranks = [r for r in RANKS if r in file.columns]
  if ranks != list(RANKS[: len(ranks)]):
    raise errors.UserError(
      f"{file.path} has the columns {', '.join(ranks)}: give all ranks from top1"
      f" to {ranks[-1]}, or top1 alone."
    )
  numbers = {n: classes.column(file, n, n in ranks) for n in ("label", *ranks)}
  return dataclasses.replace(file, columns={**file.columns, **numbers})


def _seen(file: ColumnFile, names: Sequence[str]) -> list[str]:
  """What was seen of a file that nobody said, for the foot of reports."""
  seen = []
  if file.separator not in ("", ","):
    seen.append(f"values of {file.path.name} are separated by {file.separator}")
  if names:
    seen.append(
      f"classes of {file.path.name}: {len(names)} names, numbered from 0:"
      f" {_listed(names)}"
    )
  return seen


def _counted_otherwise(file: ColumnFile) -> list[str]:
  """Return a note where most predictions are right if one is added or taken away."""
  given = file.numbers("top1") != class_names.EMPTY
  top1, label = (file.numbers(name)[given] for name in ("top1", "label"))
  right = int((top1 == label).sum())
  for by, words in ((1, "less 1"), (-1, "plus 1")):
    count = int((top1 - label == by).sum())
    # All classes are others then, so that some are of no label.
    others = count and (top1.max() - label.max()) * by > 0
    if others and 2 * count >= len(top1) and count >= max(_LEAST, 4 * right):
      return [
        f"predictions of {file.path.name} that are right: {right:,} of"
        f" {len(top1):,}, and {count:,} if top1 is taken {words}. Are its classes"
        " counted from another number than the labels'?"
      ]
  return []


def _listed(names: Sequence[str]) -> str:
  return ", ".join(names[:_LISTED]) + ", ..." * (len(names) > _LISTED)


def _asked(file: ColumnFile) -> tuple[_Rows, list[str]]:
  """The rows of the conditions that have predictions, and a note on the others.

  Raises:
    UserError: a rank is empty in a condition that has others, or all are.
  """
  by_cell = _rows_of_cells(file)
  empty = _ranks(file) == class_names.EMPTY
  unasked = [k for k, rows in by_cell.items() if empty[0, rows].all()]
  lacking = empty.any(axis=0)
  if len(unasked) < len(by_cell):
    for key in unasked:
      lacking[by_cell.pop(key)] = False
  if lacking.any():
    row = int(np.argmax(lacking))
    raise errors.UserError(
      f"{file.path}: {lacking.sum():,} of {len(file):,} predictions are empty,"
      f" the first in column {RANKS[int(np.argmax(empty[:, row]))]!r}, row"
      f" {row + 1} ({file.texts('example_id').text(row)!r}, {_place(file, row)})."
      " Fill them in; whole conditions alone may be left empty."
    )
  if not unasked:
    return by_cell, []
  listed = _listed([f"{model} {at.config}" for model, at in unasked])
  note = f"{len(unasked)} conditions of {file.path.name} have no predictions"
  return by_cell, [f"{note}: {listed}"]


def open_file(
  path: epath.Path,
  options: base.Options,
  required: Sequence[str],
  others: Sequence[str] = (),
) -> ColumnFile:
  """A file of predictions; without a column `model` its name is the model's.

  Args:
    options: what else is said of the file.
    required: columns that it must have.
    others: columns that it may have, beside `model`.

  Raises:
    UserError: see `column_files.column_file`; an example or a model that is
      empty; a column whose name is nearly one of the schema.
  """
  known = {_letters(name): name for name in (*required, "model", *others)}
  said = _said(options.columns or "", [*known.values()])
  file = column_files.column_file(
    path,
    required=required,
    optional=[*known.values(), *_FACTS],
    separator=options.separator or "",
    renamed=said,
  )
  for name, needs in (
    ("example_id", "every example needs an id"),
    ("model", "every row needs its model, or leave the column out"),
  ):
    column = file.columns.get(name)
    row = file.texts(name).first(lambda v: not v.strip()) if column else None
    if row is not None:
      raise errors.UserError(
        f"{file.path}: column {name!r}, row {row + 1} is empty; {needs}."
      )
  for name in set(file.header) - set(said.values()):
    near = known.get(_letters(name), name)
    if near not in (name, *said):
      raise errors.UserError(
        f"{path}: unknown column {name!r}. Did you mean {near!r}?"
      )
  if "model" in file.columns:
    return file
  model = column_files.Texts(np.zeros(len(file), np.int32), [path.stem])
  return dataclasses.replace(file, columns={**file.columns, "model": model})


def _said(columns: str, known: Sequence[str]) -> dict[str, str]:
  """Column -> its name in the file, of `--columns`.

  Raises:
    UserError: not OURS=THEIRS, a name of ours that is none, or one that stands
      twice.
  """
  pairs = [pair.partition("=") for pair in columns.split(",") if columns]
  said = {ours.strip(): theirs.strip() for ours, _, theirs in pairs}
  if len(said) < len(pairs) or not all((*said, *said.values())):
    raise errors.UserError(
      f"--columns={columns}: expected a column's name here and its name in the"
      " file, each once, e.g. top1=prediction,label=truth."
    )
  names = {name: name for name in known} | said
  for ours, theirs in said.items():
    if ours not in known:
      raise errors.unknown_error("column of --columns", ours, known)
    if [*names.values()].count(theirs) > 1:
      raise errors.UserError(
        f"--columns: the column {theirs!r} would be {ours!r} and another column,"
        " too. Say what each is."
      )
  return said


def _letters(name: str) -> str:
  return re.sub("[^0-9a-z]", "", name.lower())


def unread(file: ColumnFile) -> list[str]:
  """Names the columns that were not read, for the foot of reports."""
  read = file.names.values()
  names = [name for name in file.header if name and name not in read]
  if not names:
    return []
  return [f"columns of {file.path.name} not read: {', '.join(names)}"]


def models(file: ColumnFile) -> list[str]:
  """Labels of a file's models, in the order of their first rows."""
  column = file.texts("model")
  codes, first = np.unique(column.codes, return_index=True)
  return [column.values[c] for c in codes[np.argsort(first)]]


def cells(
  file: ColumnFile, by_cell: _Rows, dataset: str, seed: int
) -> dict[Cell, dict[str, np.ndarray]]:
  """A file's cells with the columns that a classification's cells have.

  Args:
    file: of predictions, whose classes are numbers.
    by_cell: its rows.

  Raises:
    UserError: a class that is ranked twice, an example twice in a cell, without a
      prediction in one, or with several labels.
  """
  _check_ranks(file)
  _check_examples(file, by_cell)
  _check_labels(file)
  ids = file.texts("example_id")
  place = np.argsort(np.argsort(np.array(ids.values, np.str_)))
  out: dict[Cell, dict[str, np.ndarray]] = {}
  for (model, condition), rows in by_cell.items():
    of_cell = _cell_columns(file, rows[np.argsort(place[ids.codes[rows]])])
    mark = provenance.fingerprint(
      {
        name: of_cell[name].tolist()
        for name in ("example_id", "frame", "label", "top5")
      }
    )
    out[Cell(model, dataset, condition, seed, mark)] = of_cell
  return out


def _ranks(file: ColumnFile) -> np.ndarray:
  """Predictions of a row, best first: int64 `[K, N]`."""
  return np.stack([file.numbers(r) for r in RANKS if r in file.columns])


def _check_ranks(file: ColumnFile) -> None:
  """Refuses a class that is ranked twice; names the row."""
  ranks = _ranks(file)
  for i in range(1, len(ranks)):
    same = (ranks[:i] == ranks[i]) & (ranks[i] != class_names.EMPTY)
    if same.any():
      row = int(np.argmax(same.any(axis=0)))
      other = RANKS[int(np.argmax(same[:, row]))]
      raise errors.UserError(
        f"{_at(file, row)}: the class {ranks[i, row]} is both {other} and"
        f" {RANKS[i]}; each rank needs another class."
      )


def _check_labels(file: ColumnFile) -> None:
  """Refuses an example with several labels; names both rows."""
  codes, label = file.texts("example_id").codes, file.numbers("label")
  _, first = np.unique(codes, return_index=True)
  differ = label != label[first[codes]]
  if differ.any():
    row = int(np.argmax(differ))
    other = int(first[codes[row]])
    raise errors.UserError(
      f"{_at(file, row)}: label {label[row]}, but {label[other]} in row"
      f" {other + 1}. An example has one true class in every condition and model."
    )


def _rows_of_cells(file: ColumnFile) -> _Rows:
  """(model, condition) -> its rows; models by first row, conditions in order.

  Raises:
    UserError: an unknown corruption, or a severity that is none; names the row.
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
  listed, known = models(file), conditions.PICTURES.conditions()
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
      f"{_at(file, row)}, corruption {name!r} with severity {number}: {e}"
    ) from e


def _at(file: ColumnFile, row: int) -> str:
  """Where a refusal is, in words."""
  example = file.texts("example_id").text(row)
  return f"{file.path}: row {row + 1} ({example!r})"


def _check_examples(file: ColumnFile, by_cell: _Rows) -> None:
  """Every cell has every example of the file exactly once."""
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
    lacks = used & (count == 0)
    if lacks.any():
      code = int(np.argmax(lacks))
      row = int(np.argmax(ids.codes == code))
      raise errors.UserError(
        f"{where}: {lacks.sum()} of {used.sum()} examples have no prediction, e.g."
        f" {ids.values[code]!r}, which is in row {row + 1} for"
        f" {_place(file, row)}.{_form(ids.values, code)} Every condition needs"
        " the same examples; leave out a condition that is not complete."
      )


def _place(file: ColumnFile, row: int) -> str:
  return f"{file.texts('model').text(row)}, {_condition(file, row).config}"


def _form(values: Sequence[str], code: int) -> str:
  """A hint where another id differs in its Unicode form alone."""
  form = unicodedata.normalize("NFC", values[code])
  others = (v for i, v in enumerate(values) if i != code)
  if any(unicodedata.normalize("NFC", v) == form for v in others):
    return " Another id differs in its Unicode form alone: write all in NFC."
  return ""


def _check_same(
  path: epath.Path,
  of_cells: Mapping[Cell, Columns],
  other: epath.Path,
  of_other: Mapping[Cell, Columns],
) -> None:
  """Two files' models are compared over the same examples and labels."""
  one, two = (next(iter(c.values())) for c in (of_cells, of_other))
  ids, theirs = one["example_id"], two["example_id"]
  if not np.array_equal(ids, theirs):
    alone = sorted(set(ids.tolist()) ^ set(theirs.tolist()))
    home = path if alone[0] in ids else other
    raise errors.UserError(
      f"{path} and {other} are of different examples: {len(alone)} are in one"
      f" alone, e.g. {alone[0]!r} in {home}. Score them apart, or over the same"
      " examples."
    )
  differ = one["label"] != two["label"]
  if differ.any():
    row = int(np.argmax(differ))
    raise errors.UserError(
      f"{path} and {other}: example {str(ids[row])!r} has the label"
      f" {one['label'][row]} in the first and {two['label'][row]} in the second."
    )


def _cell_columns(file: ColumnFile, rows: np.ndarray) -> dict[str, np.ndarray]:
  """Of rows in the order of their ids."""
  ranks = _ranks(file)[:, rows].T
  ids = file.texts("example_id").array(rows)
  lacking = [(0, 0), (0, len(RANKS) - ranks.shape[1])]
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(len(rows), np.int32),
    "label": file.numbers("label")[rows],
    "top5": np.pad(ranks, lacking, constant_values=-1),
  }
