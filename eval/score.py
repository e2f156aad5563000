"""Scores predictions that any framework made; needs no accelerator, no model.

  python -m eval.score --predictions=predictions.csv --out=/tmp/scored

The schema, one row per example and condition, as CSV with a header, as NPZ with
one array per column, or as Parquet (extra `parquet`):

  model       optional; default: the file's name
  corruption  name, empty for clean
  severity    1-5, 0 for clean
  example_id  the same id in every condition
  label       int, the true class
  top1        int, the predicted class
  top2..top5  int, optional, best first: they give the top-5 error

A workdir of `eval.main`, of any task, is accepted as well: its cells are scored
again. Writes table.csv and the same reports as `eval.main`.
"""

from __future__ import annotations

import collections
import csv
import pathlib
import sys
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np
from absl import app
from absl import flags

from eval import reports
from eval import tasks
from eval.metrics import corruption_error
from eval.readers import workdir as rescore
from eval.results import predictions
from eval.results import provenance
from eval.results import table
from robust_tfds import errors

_REQUIRED = ("corruption", "severity", "example_id", "label", "top1")
_RANKS = ("top1", "top2", "top3", "top4", "top5")
_INTEGERS = ("severity", "label", *_RANKS)

_PREDICTIONS = flags.DEFINE_string(
  "predictions", None, "A CSV, NPZ or Parquet file, or a workdir."
)
_OUT = flags.DEFINE_string("out", None, "Folder for table.csv and reports/.")
_DATASET = flags.DEFINE_string("dataset", "imagenet_c", "Name in the table.")
_BASELINE = flags.DEFINE_string(
  "baseline",
  None,
  "A file of eval/papers/baselines/, model:LABEL, or empty; default: alexnet, or the"
  " workdir's own.",
)
_SEED = flags.DEFINE_integer("seed", 0, "Seed column of the table.")

Columns = Mapping[str, np.ndarray]


def read(path: pathlib.Path) -> dict[str, np.ndarray]:
  """The file's columns, checked against the schema.

  Returns:
    Column name -> array of N values; integers are int64, text is str.

  Raises:
    ValueError: an unknown kind of file, a missing column, a cell that is not a
      number, no rows; names the file and the place.
    FileNotFoundError: no such file.
  """
  if not path.exists():
    raise FileNotFoundError(f"{path} does not exist.")
  readers: dict[str, Callable[[pathlib.Path], dict[str, Any]]] = {
    ".csv": _csv,
    ".npz": _npz,
    ".parquet": _parquet,
  }
  if path.suffix not in readers:
    raise errors.unknown("kind of predictions file", path.suffix, readers)
  columns = readers[path.suffix](path)
  absent = [c for c in _REQUIRED if c not in columns]
  if absent:
    raise ValueError(
      f"{path} lacks the columns {', '.join(absent)}; it has"
      f" {', '.join(columns)}. The schema is in eval/score.py."
    )
  if not len(columns["top1"]):
    raise ValueError(f"{path} holds no rows.")
  columns.setdefault("model", np.full(len(columns["top1"]), path.stem))
  return {
    k: _integers(path, k, v) if k in _INTEGERS else np.asarray(v, np.str_)
    for k, v in columns.items()
    if k in (*_REQUIRED, *_RANKS, "model")
  }


def rows(
  columns: Columns, *, dataset: str, baseline: str, seed: int = 0
) -> list[table.Row]:
  """The table of a file's predictions: cells, then summaries.

  Raises:
    ValueError: an unknown corruption, a severity outside 0-5, an example twice
      in a cell, or conditions that hold different examples.
  """
  _check_conditions(columns)
  task = tasks.get("classification")
  cells = collections.defaultdict(list)
  for i, key in enumerate(
    zip(columns["model"], columns["corruption"], columns["severity"])
  ):
    cells[key].append(i)
  order = [n for n in corruption_error.ALL if n in set(columns["corruption"])]
  position = {n: i for i, n in enumerate(["", *order])}
  models = list(dict.fromkeys(columns["model"]))
  out: list[table.Row] = []
  for model, corruption, severity in sorted(
    cells, key=lambda k: (models.index(k[0]), position[k[1]], k[2])
  ):
    index = np.array(cells[model, corruption, severity])
    predicted = _predicted(columns, index)
    mark = provenance.fingerprint({k: v.tolist() for k, v in predicted.items()})
    cell = tasks.Cell(
      model=str(model),
      dataset=dataset,
      config=f"{corruption}_{severity}" if corruption else "clean",
      corruption=str(corruption),
      severity=int(severity),
      seed=seed,
      fingerprint=mark,
    )
    out += task.cell_rows(cell, predicted)
  return out + task.summary_rows(out, baseline, order)


def _check_conditions(columns: Columns) -> None:
  for name in sorted(set(columns["corruption"]) - {"", "clean"}):
    if name not in corruption_error.ALL:
      raise errors.unknown("corruption", str(name), corruption_error.ALL)
  severity = columns["severity"]
  clean = columns["corruption"] == ""
  wrong = np.where(clean, severity != 0, (severity < 1) | (severity > 5))
  if wrong.any():
    i = int(np.argmax(wrong))
    raise ValueError(
      f"Row {i + 1}: severity {severity[i]} with corruption"
      f" {str(columns['corruption'][i])!r}; clean has severity 0 and an empty"
      " corruption, corruptions have 1-5."
    )


def _predicted(columns: Columns, index: np.ndarray) -> dict[str, np.ndarray]:
  top = np.full((len(index), 5), -1, np.int64)
  for i, rank in enumerate(_RANKS):
    if rank in columns:
      top[:, i] = columns[rank][index]
  return predictions.sort(
    {
      "example_id": columns["example_id"][index],
      "frame": np.zeros(len(index), np.int32),
      "label": columns["label"][index],
      "top5": top,
    }
  )


def _integers(path: pathlib.Path, name: str, values) -> np.ndarray:
  try:
    numbers = np.asarray(values, np.float64)
    whole = numbers.astype(np.int64)
  except (ValueError, TypeError) as e:
    raise ValueError(f"{path}, column {name!r}: not a number: {e}.") from e
  if not np.isfinite(numbers).all() or (whole != numbers).any():
    i = int(np.argmax(~np.isfinite(numbers) | (whole != numbers)))
    raise ValueError(
      f"{path}, column {name!r}, row {i + 1}: expected a whole number, got"
      f" {numbers[i]}."
    )
  return whole


def _csv(path: pathlib.Path) -> dict[str, Any]:
  with path.open(newline="", encoding="utf-8") as f:
    reader = csv.DictReader(f, strict=True)
    columns: dict[str, list] = {c: [] for c in reader.fieldnames or ()}
    for line, row in enumerate(reader, 2):
      if None in row or None in row.values():
        raise ValueError(
          f"{path}, line {line}: expected {len(columns)} cells as in the"
          " header."
        )
      for name, value in row.items():
        columns[name].append(value)
  return columns


def _npz(path: pathlib.Path) -> dict[str, np.ndarray]:
  with np.load(path, allow_pickle=False) as data:
    return {k: data[k] for k in data.files}


def _parquet(path: pathlib.Path) -> dict[str, Any]:
  try:
    import pyarrow.parquet as parquet
  except ImportError as e:
    raise ValueError(
      "Parquet needs pyarrow: pip install 'robust_tfds[parquet]', or write CSV"
      " or NPZ."
    ) from e
  return parquet.read_table(path).to_pydict()


def main(argv: Sequence[str]) -> None:
  """Scores, writes, prints; says errors in words without a traceback."""
  if len(argv) > 1:
    raise app.UsageError(f"Unexpected arguments: {argv[1:]}")
  try:
    path = pathlib.Path(str(_PREDICTIONS.value))
    scored, told = _scored(path)
    out = pathlib.Path(str(_OUT.value))
    out.mkdir(parents=True, exist_ok=True)
    table.write(scored, out / "table.csv")
    reports.write_all(told, out / "reports")
  except (ValueError, OSError) as e:
    sys.exit(f"Error: {e}")


def _scored(path: pathlib.Path) -> tuple[list[table.Row], reports.Context]:
  """The table and what the reports need, of a file or a workdir."""
  if path.is_dir():
    return rescore.workdir(path, _BASELINE.value)
  baseline = "alexnet" if _BASELINE.value is None else _BASELINE.value
  scored = rows(
    read(path), dataset=_DATASET.value, baseline=baseline, seed=_SEED.value
  )
  return scored, context(scored, _DATASET.value, baseline)


def context(
  scored: Sequence[table.Row], dataset: str, baseline: str
) -> reports.Context:
  """What the reports need to know of a scored file."""
  names = [
    n for n in corruption_error.ALL if n in {r.corruption for r in scored}
  ]
  return reports.Context(
    task="classification",
    dataset=dataset,
    rows=scored,
    corruptions=names,
    groups={n: corruption_error.GROUPS[n] for n in names},
    common=corruption_error.COMMON,
    baseline=corruption_error.describe(baseline),
    provenance=(
      f"robust_tfds {provenance.code_version()}, scored from a file",
    ),
  )


if __name__ == "__main__":
  flags.mark_flags_as_required(["predictions", "out"])
  app.run(main)
