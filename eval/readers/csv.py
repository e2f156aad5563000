"""Classifications of any program, one row per example and condition.

CSV with a header, NPZ with one array per column, or Parquet (extra `parquet`):

  model       optional; default: the file's name
  corruption  name; empty or `clean` for clean
  severity    1-5, 0 for clean
  example_id  the same ids in every condition of a model
  label       int, the true class
  top1        int, the predicted class
  top2..top5  int, optional, best first: they give the top-5 error
"""

from __future__ import annotations

import collections
import csv
import pathlib
import zipfile
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions
from robust_tfds import errors
from robust_tfds.eval.readers import base
from robust_tfds.eval.results import predictions
from robust_tfds.eval.results import provenance
from robust_tfds.eval.results.cell import Cell
from robust_tfds.eval.tasks.parts import baselines

REQUIRED = ("corruption", "severity", "example_id", "label", "top1")
RANKS = ("top1", "top2", "top3", "top4", "top5")
_INTEGERS = ("severity", "label", *RANKS)

Columns = base.Columns


class CsvReader(base.Reader):
  """Files of the schema above."""

  kind = "a file of classifications"
  options = ("dataset", "baseline", "seed")

  def fits(self, path: pathlib.Path, options: base.Options) -> bool:
    """Tables, unless something is said of them that only frames have."""
    return path.suffix in suffixes() and not options.of_frames

  def read(
    self, paths: Sequence[pathlib.Path], options: base.Options
  ) -> base.Predictions:
    """The cells of all files; see `columns` and `cells` for refusals."""
    options.check(self.options, self.kind)
    dataset = options.dataset or "imagenet_c"
    of_cells: dict[Cell, dict[str, np.ndarray]] = {}
    labels = {}
    for path in paths:
      rows = columns(path, REQUIRED, _INTEGERS)
      labels[path] = list(dict.fromkeys(rows["model"].tolist()))
      base.check_labels(labels)
      try:
        of_cells |= cells(rows, dataset, options.seed or 0)
      except errors.UserError as e:
        raise errors.UserError(f"{path}: {e}") from e
    baseline = options.baseline
    if baseline is None:
      baseline = baselines.default(dataset)
    listed = list(of_cells)
    return base.Predictions(
      config=base.config("classification", listed, baseline=baseline),
      cells=listed,
      columns=of_cells.__getitem__,
      notes=[f"scored from {', '.join(p.name for p in paths)}"],
    )


def suffixes() -> tuple[str, ...]:
  """Endings of the files that `columns` reads."""
  return tuple(_FORMATS)


def columns(
  path: pathlib.Path, required: Sequence[str], integers: Sequence[str]
) -> dict[str, np.ndarray]:
  """A file's columns, checked.

  Args:
    path: of a CSV, NPZ or Parquet file.
    required: columns that it must have.
    integers: columns of whole numbers, required or not.

  Returns:
    The required columns, the integer ones that there are, and `model`, each of
    N values: int64, text the others.

  Raises:
    UserError: an unknown kind of file, a missing column, a value that is not a
      number, no rows; names the file and the place.
  """
  if path.suffix not in _FORMATS:
    raise errors.unknown("kind of predictions file", path.suffix, _FORMATS)
  try:
    content = _FORMATS[path.suffix](path)
  except (csv.Error, zipfile.BadZipFile, ValueError) as e:
    if isinstance(e, errors.UserError):
      raise
    raise errors.UserError(f"{path} cannot be read: {e}") from e
  absent = [c for c in required if c not in content]
  if absent:
    raise errors.UserError(
      f"{path} lacks the columns {', '.join(absent)}; it has"
      f" {', '.join(content) or 'none'}. The schema is in eval/readers/csv.py."
    )
  n = len(content[required[0]])
  if not n:
    raise errors.UserError(f"{path} holds no rows.")
  content.setdefault("model", np.full(n, path.stem))
  out = {}
  for name, values in content.items():
    if name in integers:
      out[name] = _whole_numbers(path, name, values)
    elif name in (*required, "model"):
      out[name] = np.asarray(values, np.str_)
  return out


def cells(
  rows: Columns, dataset: str, seed: int
) -> dict[Cell, dict[str, np.ndarray]]:
  """A file's cells with the columns that a classification's cells have.

  Raises:
    UserError: an unknown corruption, a severity that is none, an example twice
      in a cell, or conditions of other examples.
  """
  places = collections.defaultdict(list)
  names = [
    n if n != conditions.CLEAN else "" for n in rows["corruption"].tolist()
  ]
  for i, key in enumerate(
    zip(rows["model"].tolist(), names, rows["severity"].tolist())
  ):
    places[key].append(i)
  by_condition = {
    (model, _condition(name, level, index[0])): np.array(index)
    for (model, name, level), index in places.items()
  }
  models = list(dict.fromkeys(rows["model"].tolist()))
  order = conditions.PICTURES.conditions()
  out: dict[Cell, dict[str, np.ndarray]] = {}
  first_ids: dict[str, np.ndarray] = {}
  for model, condition in sorted(
    by_condition, key=lambda k: (models.index(k[0]), order.index(k[1]))
  ):
    of_cell = _cell_columns(rows, by_condition[model, condition])
    ids = first_ids.setdefault(model, of_cell["example_id"])
    if not np.array_equal(ids, of_cell["example_id"]):
      alone = set(ids.tolist()) ^ set(of_cell["example_id"].tolist())
      raise errors.UserError(
        f"{model}, {condition.config}: its examples are not those of the other"
        f" conditions, e.g. {min(alone)!r}. Every condition needs a prediction"
        " of the same examples."
      )
    mark = provenance.fingerprint(
      {
        name: of_cell[name].tolist()
        for name in ("example_id", "frame", "label", "top5")
      }
    )
    out[Cell(model, dataset, condition, seed, mark)] = of_cell
  return out


def _condition(name: str, level: int, row: int) -> conditions.Condition:
  try:
    if name:
      conditions.PICTURES.row(name)  # refuses unknown names
    return conditions.PICTURES.condition(name, level)
  except errors.UserError as e:
    raise errors.UserError(
      f"row {row + 1}, corruption {name!r} with severity {level}: {e}"
    ) from e


def _cell_columns(rows: Columns, index: np.ndarray) -> dict[str, np.ndarray]:
  top = np.full((len(index), len(RANKS)), -1, np.int64)
  for i, rank in enumerate(RANKS):
    if rank in rows:
      top[:, i] = rows[rank][index]
  ids = rows["example_id"][index]
  return predictions.sort(
    {
      "example_id": ids,
      "group_id": ids,
      "frame": np.zeros(len(index), np.int32),
      "label": rows["label"][index],
      "top5": top,
    }
  )


def _whole_numbers(path: pathlib.Path, name: str, values: Any) -> np.ndarray:
  try:
    numbers = np.asarray(values, np.float64)
    whole = numbers.astype(np.int64)
  except (ValueError, TypeError) as e:
    raise errors.UserError(
      f"{path}, column {name!r}: not a number: {e}."
    ) from e
  if not np.isfinite(numbers).all() or (whole != numbers).any():
    i = int(np.argmax(~np.isfinite(numbers) | (whole != numbers)))
    raise errors.UserError(
      f"{path}, column {name!r}, row {i + 1}: expected a whole number, got"
      f" {numbers[i]}."
    )
  return whole


def _csv(path: pathlib.Path) -> dict[str, Any]:
  with path.open(newline="", encoding="utf-8") as f:
    reader = csv.DictReader(f, strict=True)
    content: dict[str, list] = {c: [] for c in reader.fieldnames or ()}
    for line, row in enumerate(reader, 2):
      if None in row or None in row.values():
        raise errors.UserError(
          f"{path}, line {line}: expected {len(content)} values as in the"
          " header."
        )
      for name, value in row.items():
        content[name].append(value)
  return dict(content)


def _npz(path: pathlib.Path) -> dict[str, Any]:
  with np.load(path, allow_pickle=False) as data:
    return {k: data[k] for k in data.files}


def _parquet(path: pathlib.Path) -> dict[str, Any]:
  try:
    import pyarrow.parquet as parquet
  except ImportError as e:
    raise errors.missing_package("pyarrow", "parquet", "Parquet") from e
  return parquet.read_table(path).to_pydict()


_FORMATS: Mapping[str, Callable[[pathlib.Path], dict[str, Any]]] = {
  ".csv": _csv,
  ".npz": _npz,
  ".parquet": _parquet,
}
