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
read, and named. Columns of other names are said by `--columns=top1=prediction`; a
CSV's values (`.csv`, `.tsv`) stand between `,` `;` tab or `|`. Classes may be names
(`eval/tasks/parts/class_names.py`).
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from robust_tfds import conditions, datasets, errors
from robust_tfds.conditions import Condition
from robust_tfds.eval import tasks
from robust_tfds.eval.cells import predictions, provenance
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.readers import base
from robust_tfds.eval.tasks.parts import baselines, class_names, known
from robust_tfds.reading import column_files
from robust_tfds.reading.column_files import ColumnFile

REQUIRED = ("corruption", "severity", "example_id", "label", "top1")
RANKS = ("top1", "top2", "top3", "top4", "top5")
_CLASSES = ("label", *RANKS)
_LISTED = 10  # names of a list that a note shows
_TEXTS = ("model", "corruption", "example_id")
_LARGEST = 2**31 - 1  # cells hold int32

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

  def fits(self, path: epath.Path, options: base.Options) -> bool:
    """Tables, unless something is said of them that only frames have."""
    return path.suffix in column_files.suffixes() and not options.of_frames

  def read(
    self, paths: Sequence[epath.Path], options: base.Options
  ) -> base.Run:
    """The cells of all files; see `columns` and `cells` for refusals."""
    options.check(self.options, self.kind)
    dataset = options.dataset or base.UNNAMED
    known.check_kind(dataset, tasks.get("classification").set_kind)
    of_cells: dict[Cell, dict[str, np.ndarray]] = {}
    labels = {}
    named = class_names.read(options.classes) if options.classes else ()
    of_set = [n[0] for n in datasets.known(dataset).class_names()]
    names: Sequence[str] = ()
    notes = [f"scored from {', '.join(p.name for p in paths)}"]
    for path in paths:
      file = open_file(path, options, REQUIRED, _TEXTS, ("severity",), _CLASSES)
      labels[path] = models(file)
      base.check_labels(labels)
      file, names = class_names.numbered(file, _ranks(file), named, of_set)
      by_cell, unasked = _asked(file)
      count = _count(dataset, options, names)
      of_file = cells(file, by_cell, dataset, options.seed or 0, count)
      if of_cells:
        _check_same(paths[0], of_cells, path, of_file)
      of_cells |= of_file
      notes += [*_seen(file, names if not named else ()), *unasked]
      notes += unread(file)
    baseline = options.baseline
    if baseline is None:
      baseline = baselines.default(dataset)
    listed = list(of_cells)
    return base.Run(
      config=base.config("classification", listed, baseline=baseline),
      cells=listed,
      columns=of_cells.__getitem__,
      class_names=names,
      notes=notes,
    )


def _count(dataset: str, options: base.Options, names: Sequence[str]) -> int:
  """How many classes there are; 0 where nobody knows.

  Raises:
    UserError: other names than the set has classes.
  """
  classes = datasets.classes(dataset)
  if options.classes and classes and len(names) != classes:
    raise errors.UserError(
      f"--classes={options.classes}: {len(names)} names, but {dataset} has"
      f" {classes} classes."
    )
  return classes or len(names)


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


def _listed(names: Sequence[str]) -> str:
  return ", ".join(names[:_LISTED]) + ", ..." * (len(names) > _LISTED)


def _asked(file: ColumnFile) -> tuple[_Rows, list[str]]:
  """The rows of the conditions that have predictions, and a note on the others.

  Raises:
    UserError: a rank is empty in a condition that has others, or all are.
  """
  by_cell, ranks = _rows_of_cells(file), _ranks(file)
  empty = np.stack([file.numbers(r) == class_names.EMPTY for r in ranks])
  unasked = [k for k, rows in by_cell.items() if empty[0, rows].all()]
  lacking = np.logical_or.reduce(empty)
  if len(unasked) < len(by_cell):
    for key in unasked:
      lacking[by_cell.pop(key)] = False
  if lacking.any():
    row = int(np.argmax(lacking))
    raise errors.UserError(
      f"{file.path}: {lacking.sum():,} of {len(file):,} predictions are empty,"
      f" the first in column {ranks[int(np.argmax(empty[:, row]))]!r}, row"
      f" {row + 1} ({_example(file, row)}, {_place(file, row)}). Fill them in;"
      " whole conditions alone may be left empty."
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
  texts: Sequence[str],
  integers: Sequence[str],
  classes: Sequence[str] = (),
) -> ColumnFile:
  """A file of predictions; without a column `model` its name is the model's.

  Args:
    path: of a table.
    options: what else is said of the file.
    required: see `column_files.column_file`.
    texts: the same, `model` among them.
    integers: the same.
    classes: the same.

  Raises:
    UserError: see `column_files.column_file`; a column whose name is nearly one
      of the schema.
  """
  known = {_letters(name): name for name in (*texts, *integers, *classes)}
  said = _said(options.columns or "", [*known.values()])
  file = column_files.column_file(
    path,
    required=required,
    texts=texts,
    integers=integers,
    classes=classes,
    separator=options.separator or "",
    said=said,
  )
  for name, needs in (
    ("example_id", "every example needs an id"),
    ("model", "every row needs its model, or leave the column out"),
  ):
    if name in file.columns:
      _check_filled(file, name, needs)
  for name in set(file.header) - set(said.values()):
    near = known.get(_letters(name), name)
    if near not in (name, *said):
      raise errors.UserError(
        f"{path}: unknown column {name!r}. Did you mean {near!r}?"
      )
  if "model" in file.columns:
    return file
  rows = np.zeros(len(file), np.int32)
  model = column_files.Texts(rows, [path.stem])
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
      raise errors.unknown("column of --columns", ours, known)
    if [*names.values()].count(theirs) > 1:
      raise errors.UserError(
        f"--columns: the column {theirs!r} would be {ours!r} and another column,"
        " too. Say what each is."
      )
  return said


def _check_filled(file: ColumnFile, name: str, needs: str) -> None:
  column = file.texts(name)
  empty = [i for i, value in enumerate(column.values) if not value.strip()]
  rows = np.flatnonzero(np.isin(column.codes, empty))
  if rows.size:
    raise errors.UserError(
      f"{file.path}: column {name!r}, row {rows[0] + 1} is empty; {needs}."
    )


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


def check_classes(
  file: ColumnFile, names: Sequence[str], dataset: str, classes: int
) -> None:
  """Refuses labels and predictions that are no class; names the first row.

  Args:
    file: whose columns.
    names: of them.
    dataset: whose classes.
    classes: how many there are; 0 where that is not known.
  """
  for name in names:
    values = file.numbers(name)
    wrong = (values < 0) | (values > (classes - 1 if classes else _LARGEST))
    wrong &= values != class_names.EMPTY
    if wrong.any():
      row = int(np.argmax(wrong))
      scope = "Classes are whole numbers from 0."
      if classes:
        scope = (
          f"{dataset} has the classes 0-{classes - 1}; name other data by"
          " --dataset, other classes by --classes."
        )
      raise errors.UserError(
        f"{file.path}: column {name!r}, row {row + 1} ({_example(file, row)}):"
        f" no class {values[row]}. {scope}"
      )


def cells(
  file: ColumnFile, by_cell: _Rows, dataset: str, seed: int, classes: int
) -> dict[Cell, dict[str, np.ndarray]]:
  """A file's cells with the columns that a classification's cells have.

  Args:
    file: of predictions, whose classes are numbers.
    by_cell: its rows.
    dataset: its name.
    seed: of the cells.
    classes: how many there are; 0 where that is not known.

  Raises:
    UserError: an unknown corruption, a severity that is none, a class that the
      data set does not have or that is ranked twice, an example twice in a cell,
      without a prediction in one, or with several labels.
  """
  ranks = _ranks(file)
  check_classes(file, ("label", *ranks), dataset, classes)
  _check_ranks(file, ranks)
  ids = file.texts("example_id")
  by_id = np.argsort(np.array(ids.values, np.str_), kind="stable")
  place = np.empty(len(by_id), np.int64)
  place[by_id] = np.arange(len(by_id))
  _check_examples(file, by_cell)
  _check_labels(file)
  out: dict[Cell, dict[str, np.ndarray]] = {}
  for (model, condition), rows in by_cell.items():
    rows = rows[np.argsort(place[ids.codes[rows]])]
    of_cell = _cell_columns(file, ranks, rows)
    mark = provenance.fingerprint(
      {
        name: of_cell[name].tolist()
        for name in ("example_id", "frame", "label", "top5")
      }
    )
    out[Cell(model, dataset, condition, seed, mark)] = of_cell
  return out


def _ranks(file: ColumnFile) -> list[str]:
  """The file's columns of ranks; UserError where one is left out."""
  there = [r for r in RANKS if r in file.columns]
  if there != list(RANKS[: len(there)]):
    raise errors.UserError(
      f"{file.path} has the columns {', '.join(there)}: give all ranks from top1"
      f" to {there[-1]}, or top1 alone."
    )
  return there


def _check_ranks(file: ColumnFile, ranks: Sequence[str]) -> None:
  """Refuses a class that is ranked twice; names the row."""
  for i, name in enumerate(ranks):
    for other in ranks[:i]:
      same = file.numbers(name) == file.numbers(other)
      same &= file.numbers(name) != class_names.EMPTY
      if same.any():
        row = int(np.argmax(same))
        raise errors.UserError(
          f"{file.path}: row {row + 1} ({_example(file, row)}): the class"
          f" {file.numbers(name)[row]} is both {other} and {name}; each rank needs"
          " another class."
        )


def _check_labels(file: ColumnFile) -> None:
  """Refuses an example with several labels; names both rows."""
  codes, label = file.texts("example_id").codes, file.numbers("label")
  first = _first_rows(codes, len(file.texts("example_id").values))
  differ = label != label[first[codes]]
  if differ.any():
    row = int(np.argmax(differ))
    other = int(first[codes[row]])
    raise errors.UserError(
      f"{file.path}: row {row + 1} ({_example(file, row)}): label {label[row]},"
      f" but {label[other]} in row {other + 1}. An example has one true class in"
      " every condition and model."
    )


def _first_rows(codes: np.ndarray, count: int) -> np.ndarray:
  """The first row of every code: int `[count]`."""
  first = np.zeros(count, np.int64)
  first[codes[::-1]] = np.arange(len(codes))[::-1]
  return first


def _rows_of_cells(file: ColumnFile) -> _Rows:
  """(model, condition) -> its rows; models by first row, conditions in order."""
  names, severity = file.texts("corruption"), file.numbers("severity")
  _check_severities(file, severity)
  model = file.texts("model")
  levels = int(severity.max()) + 1
  key = model.codes.astype(np.int64) * len(names.values) + names.codes
  key = key * levels + severity
  order = np.argsort(key, kind="stable")
  starts = np.flatnonzero(np.diff(key[order], prepend=-1))
  out: _Rows = {}
  for rows in np.split(order, starts[1:]):
    row = int(rows[0])
    name = names.values[names.codes[row]]
    condition = _condition(file, name, int(severity[row]), row)
    # `clean` and the empty name are one condition.
    place = model.values[model.codes[row]], condition
    out[place] = (
      np.sort(np.concatenate([out[place], rows])) if place in out else rows
    )
  listed, known = models(file), conditions.PICTURES.conditions()
  return {
    k: out[k]
    for k in sorted(out, key=lambda k: (listed.index(k[0]), known.index(k[1])))
  }


def _check_severities(file: ColumnFile, severity: np.ndarray) -> None:
  wrong = (severity < 0) | (severity > max(conditions.SEVERITIES))
  if wrong.any():
    row = int(np.argmax(wrong))
    names = file.texts("corruption")
    _condition(file, names.values[names.codes[row]], int(severity[row]), row)


def _condition(file: ColumnFile, name: str, level: int, row: int) -> Condition:
  name = name.strip()
  try:
    if name in ("", conditions.CLEAN):
      return conditions.PICTURES.condition("", level)
    conditions.PICTURES.row(name)  # refuses unknown names
    return conditions.PICTURES.condition(name, level)
  except errors.UserError as e:
    raise errors.UserError(
      f"{file.path}: row {row + 1} ({_example(file, row)}), corruption {name!r}"
      f" with severity {level}: {e}"
    ) from e


def _example(file: ColumnFile, row: int) -> str:
  return repr(file.texts("example_id").at(row))


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
  model, name = file.texts("model"), file.texts("corruption")
  level = int(file.numbers("severity")[row])
  condition = _condition(file, name.values[name.codes[row]], level, row)
  return f"{model.values[model.codes[row]]}, {condition.config}"


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


def _cell_columns(
  file: ColumnFile, ranks: Sequence[str], rows: np.ndarray
) -> dict[str, np.ndarray]:
  """Of rows in the order of their ids."""
  top = np.full((len(rows), len(RANKS)), -1, np.int64)
  for i, rank in enumerate(ranks):
    top[:, i] = file.numbers(rank)[rows]
  ids = file.texts("example_id").array(rows)
  return predictions.sort(
    {
      "example_id": ids,
      "group_id": ids,
      "frame": np.zeros(len(rows), np.int32),
      "label": file.numbers("label")[rows],
      "top5": top,
    }
  )
