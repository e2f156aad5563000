"""P, mPC and rPC of the detection paper from its raw results files.

  python -m eval.readers.raw_results raw/*.json --out=/tmp/tables

A file is what the authors published for a data set and a model, as JSON:
`dataset`, `model`, `corruptions` (names of the first axis), `severities` (of the
second; 0 is clean) and `results[task][metric]`, an array `[corruptions,
severities]` of fractions; for VOC `AP50_per_class`, `[corruptions, severities,
classes]`. Corruptions and severities are found by name, in any order; a cell that
the benchmark needs and the file lacks is an error that names it.

Writes table.csv (tidy rows) and tables.md: ours, the paper's printed numbers where
the file is in its tables, and their difference.
"""

from __future__ import annotations

import json
import math
import pathlib
import sys
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np
from absl import app
from absl import flags

from eval import papers as published
from eval.metrics import detection
from eval.metrics.detection import benchmark
from eval.reports.parts.markdown import escape
from eval.results import provenance
from eval.results import table

_OUT = flags.DEFINE_string(
  "out", None, "Folder for table.csv and tables.md.", allow_override=True
)
# Half of the last printed digit, in percent; and the rounding of decimals.
_HALF_DIGIT = 0.05 + 1e-9
_KEYS = ("dataset", "model", "corruptions", "severities", "results")
_SCOPES = ("benchmark", "all", "validation")


def read(path: pathlib.Path) -> dict[str, Any]:
  """A raw results file, its layout checked.

  Raises:
    ValueError: no such layout; names the file and what is wrong.
  """
  try:
    data = json.loads(path.read_text("utf-8"))
  except (UnicodeDecodeError, json.JSONDecodeError) as e:
    raise ValueError(f"{path} is no JSON text ({e}).") from e
  missing = [k for k in _KEYS if not isinstance(data, dict) or k not in data]
  if missing:
    raise ValueError(
      f"{path} lacks {', '.join(missing)}; the layout is in {__name__}."
    )
  for axis in ("corruptions", "severities"):
    names = data[axis]
    if len(set(names)) != len(names):
      raise ValueError(f"{path}: {axis} names one twice: {names}.")
  return data


def cells(
  data: Mapping[str, Any], task: str, metric: str
) -> tuple[float, dict[str, list[float]]]:
  """Clean performance, and corruption -> performance at severities 1-5.

  Raises:
    ValueError: an array of another shape, a missing severity, or clean results
      that differ between corruptions.
  """
  values = np.array(data["results"][task][metric], np.float64)
  names, severities = list(data["corruptions"]), list(data["severities"])
  if values.ndim == 3:  # the mean over classes
    values = values.mean(axis=2)
  if values.shape != (len(names), len(severities)):
    raise ValueError(
      f"{task}/{metric}: {len(names)} corruptions x {len(severities)}"
      f" severities expected, got an array of shape {list(values.shape)}."
    )
  absent = [s for s in range(6) if s not in severities]
  if absent:
    raise ValueError(f"{task}/{metric} has no severity {absent[0]}.")
  clean = values[:, severities.index(0)]
  if not np.allclose(clean, clean[0], rtol=0, atol=1e-9, equal_nan=True):
    raise ValueError(
      f"{task}/{metric}: the clean results differ between corruptions; there is"
      " one clean run."
    )
  columns = [severities.index(s) for s in range(1, 6)]
  rows = {n: values[i, columns].tolist() for i, n in enumerate(names)}
  return float(clean[0]), rows


def rows(data: Mapping[str, Any]) -> Iterator[table.Row]:
  """Tidy rows of a file: its cells, then P, mPC and rPC of every scope.

  Metrics that are not defined somewhere (-1) give no summary.
  """
  mark = provenance.fingerprint({"results": data["results"]})
  common: dict[str, Any] = {
    "model": data["model"],
    "dataset": data["dataset"],
    "fingerprint": mark,
  }
  for task, metrics in data["results"].items():
    for metric in metrics:
      name = f"{task}/{metric.removesuffix('_per_class')}"
      clean, found = cells(data, task, metric)
      yield table.Row(
        **common,
        config="clean",
        corruption="",
        severity=0,
        metric=name,
        value=clean,
      )
      for corruption, values in found.items():
        for severity, value in enumerate(values, 1):
          yield table.Row(
            **common,
            config=f"{corruption}_{severity}",
            corruption=corruption,
            severity=severity,
            metric=name,
            value=value,
          )
      yield from _summaries(common, name, clean, found)


def _summaries(common, name, clean, found) -> Iterator[table.Row]:
  if min([clean, *sum(found.values(), [])]) < 0:
    return
  for scope in _SCOPES:
    if scope != "benchmark" and any(
      n not in found for n in benchmark.SCOPES[scope]
    ):
      continue  # the benchmark itself must be whole
    summary = detection.summarize(found, clean, scope)
    for key in ("p", "mpc", "rpc"):
      yield table.Row(
        **common,
        config="",
        corruption="" if scope == "benchmark" else scope,
        severity=None,
        metric=f"{name}/{key}",
        value=summary[key],
      )


def compare(found: Sequence[table.Row]) -> list[dict[str, Any]]:
  """Printed rows of the files at hand beside ours, in percent.

  Returns:
    Dicts of `where`, `dataset`, `model`, `metric`, `note`, and for each of `p`,
    `mpc`, `rpc` (ours, printed, whether they agree within half a digit).
  """
  ours = {
    (r.dataset, r.model, r.metric): 100 * r.value
    for r in found
    if not r.corruption
  }
  out = []
  for printed in published.load("michaelis2019")["rows"]:
    metric = f"{printed['task']}/{printed['metric']}"
    key = (printed["dataset"], printed["model"], f"{metric}/p")
    if key not in ours:
      continue
    line = {k: printed[k] for k in ("where", "dataset", "model", "note")}
    line["metric"] = metric
    for part in ("p", "mpc", "rpc"):
      value = ours[key[0], key[1], f"{metric}/{part}"]
      theirs = printed[part]
      agrees = theirs is None or abs(value - theirs) <= _HALF_DIGIT
      line[part] = (value, theirs, agrees)
    out.append(line)
  return out


def markdown(found: Sequence[table.Row]) -> str:
  """tables.md: what every file gives, then the printed numbers beside it."""
  lines = [
    "# Robust Detection Benchmark: P, mPC and rPC from raw results\n",
    "In percent; mPC over the 15 benchmark corruptions.\n",
    "| data set | model | metric | P | mPC | rPC |\n|---|---|---|---:|---:|---:|",
  ]
  heads = ("bbox/AP", "segm/AP", "bbox/AP50")
  for row in found:
    name, _, part = row.metric.rpartition("/")
    if part != "p" or row.corruption or name not in heads:
      continue
    if name == "bbox/AP50" and row.dataset != "pascal_voc":
      continue
    own = {
      r.metric: r.value
      for r in found
      if (r.dataset, r.model, r.corruption, r.config)
      == (row.dataset, row.model, "", "")
    }
    numbers = [f"{100 * own[f'{name}/{k}']:.2f}" for k in ("p", "mpc", "rpc")]
    lines.append(
      "| "
      + " | ".join([escape(row.dataset), escape(row.model), name, *numbers])
      + " |"
    )
  compared = compare(found)
  if compared:
    lines += ["\n## Beside the printed numbers\n", _compared(compared)]
    lines.append(f"\nSource: {published.load('michaelis2019')['source']}.\n")
  return "\n".join(lines) + "\n"


def _compared(compared: Sequence[Mapping[str, Any]]) -> str:
  heads = "| where | data set | model | metric | P: ours, printed, difference |"
  heads += " mPC | rPC | |\n|---|---|---|---|---|---|---|---|"
  lines = [heads]
  apart = 0
  for row in compared:
    parts = []
    for key in ("p", "mpc", "rpc"):
      value, theirs, agrees = row[key]
      apart += not agrees
      shown = "-" if theirs is None else f"{theirs:.1f}, {value - theirs:+.2f}"
      parts.append(f"{value:.2f}, {shown}" + ("" if agrees else " (!)"))
    names = [row["where"], row["dataset"], row["model"], row["metric"]]
    words = [*map(escape, names), *parts, escape(row["note"])]
    lines.append("| " + " | ".join(words) + " |")
  total = sum(
    r[k][1] is not None for r in compared for k in ("p", "mpc", "rpc")
  )
  lines.append(
    f"\n{total - apart} of {total} printed numbers agree within half of their"
    " last digit; the others are marked (!) and explained in the last column."
  )
  return "\n".join(lines)


def main(argv: Sequence[str]) -> None:
  """Reads, writes, prints; says errors in words without a traceback."""
  paths = [pathlib.Path(a) for a in argv[1:]]
  if not paths or not _OUT.value:
    raise app.UsageError("Name raw results files, and --out=FOLDER.")
  found: list[table.Row] = []
  try:
    for path in paths:
      try:
        found += rows(read(path))
      except ValueError as e:
        raise ValueError(f"{path}: {e}") from e
    out = pathlib.Path(_OUT.value)
    out.mkdir(parents=True, exist_ok=True)
    table.write(
      [r for r in found if not math.isnan(r.value)], out / "table.csv"
    )
    (out / "tables.md").write_text(markdown(found), "utf-8")
  except (ValueError, OSError) as e:
    sys.exit(f"Error: {e}")
  print(markdown(found))


if __name__ == "__main__":
  app.run(main)
