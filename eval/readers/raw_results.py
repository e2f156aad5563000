"""Raw results of the detection paper: numbers of every cell, no detections.

A file is what the authors published for a data set and a model, as JSON:
`dataset`, `model`, `corruptions` (names of the first axis), `severities` (of the
second; 0 is clean) and `results[task][metric]`, an array `[corruptions,
severities]` of fractions (-1: not defined); for VOC `AP50_per_class`,
`[corruptions, severities, classes]`. Corruptions and severities are found by
name, in any order; a severity that the benchmark needs and the file lacks is
refused.
"""

from __future__ import annotations

import collections
import json
import pathlib
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions
from robust_tfds import errors
from robust_tfds.eval.readers import base
from robust_tfds.eval.results import provenance
from robust_tfds.eval.results.cell import Cell
from robust_tfds.eval.tasks.parts import stored_numbers

_KEYS = ("dataset", "model", "corruptions", "severities", "results")

Numbers = dict[conditions.Condition, dict[str, float]]


class RawResultsReader(base.Reader):
  """Files of the layout above, of any data sets."""

  kind = "a file of raw results"
  options = ("seed",)
  has_paper_tables = True

  def fits(self, path: pathlib.Path, options: base.Options) -> bool:
    """JSON files."""
    return path.is_file() and path.suffix == ".json"

  def read(
    self, paths: Sequence[pathlib.Path], options: base.Options
  ) -> base.Predictions:
    """The cells of all files; see `read` and `numbers` for refusals."""
    options.check(self.options, self.kind)
    of_cells: dict[Cell, dict[str, np.ndarray]] = {}
    labels: dict[str, dict] = collections.defaultdict(dict)
    for path in paths:
      data = read(path)
      labels[data["dataset"]][path] = [data["model"]]
      base.check_labels(labels[data["dataset"]])
      try:
        of_cells |= cells(data, options.seed or 0)
      except errors.UserError as e:
        raise errors.UserError(f"{path}: {e}") from e
    datasets = list(dict.fromkeys(c.dataset for c in of_cells))
    listed = sorted(of_cells, key=lambda c: datasets.index(c.dataset))
    return base.Predictions(
      config=base.config("detection", listed),
      cells=listed,
      columns=of_cells.__getitem__,
      notes=[f"scored from {len(paths)} files of raw results"],
    )


def read(path: pathlib.Path) -> dict[str, Any]:
  """A raw results file, its layout checked.

  Raises:
    UserError: no such layout; names the file and what is wrong.
  """
  try:
    data = json.loads(path.read_text("utf-8"))
  except ValueError as e:  # of the text or of the JSON
    raise errors.UserError(f"{path} is no JSON text: {e}.") from e
  if isinstance(data, list):
    raise errors.UserError(
      f"{path} is a list. A COCO results list is one cell: name the folder that"
      " holds clean.json, fog_3.json, ..."
    )
  missing = [k for k in _KEYS if not isinstance(data, dict) or k not in data]
  if missing:
    raise errors.UserError(
      f"{path} lacks {', '.join(missing)}; the layout is in"
      " eval/readers/raw_results.py."
    )
  for axis in ("corruptions", "severities"):
    names = data[axis]
    if len(set(names)) != len(names):
      raise errors.UserError(
        f"{path}: {axis} has the same entry twice: {names}."
      )
  return data


def cells(
  data: Mapping[str, Any], seed: int = 0
) -> dict[Cell, dict[str, np.ndarray]]:
  """A file's cells with their numbers, clean first, then in paper order."""
  mark = provenance.fingerprint({"results": data["results"]})
  of_conditions = numbers(data)
  order = conditions.PICTURES.conditions()
  return {
    Cell(
      data["model"], data["dataset"], condition, seed, mark
    ): stored_numbers.columns(of_conditions[condition])
    for condition in sorted(of_conditions, key=order.index)
  }


def numbers(data: Mapping[str, Any]) -> Numbers:
  """Condition -> metric -> number.

  Raises:
    UserError: an array of another shape, an unknown corruption, a missing
      severity, clean results that differ between corruptions, or numbers that
      are neither fractions nor -1.
  """
  out: Numbers = collections.defaultdict(dict)
  for task, metrics in data["results"].items():
    for metric in metrics:
      name = f"{task}/{metric.removesuffix('_per_class')}"
      for condition, value in _of_metric(data, task, metric).items():
        if not 0 <= value <= 1 and value != -1:
          raise errors.UserError(
            f"{task}/{metric}: the cell {condition.config} holds {value},"
            " expected a fraction in [0, 1], or -1 where it is not defined."
          )
        out[condition][name] = value
  return dict(out)


def _of_metric(
  data: Mapping[str, Any], task: str, metric: str
) -> dict[conditions.Condition, float]:
  values = np.array(data["results"][task][metric], np.float64)
  names, severities = list(data["corruptions"]), list(data["severities"])
  if values.ndim == 3:  # the mean over classes
    values = values.mean(axis=2)
  if values.shape != (len(names), len(severities)):
    raise errors.UserError(
      f"{task}/{metric}: {len(names)} corruptions x {len(severities)}"
      f" severities expected, got an array of shape {list(values.shape)}."
    )
  for severity in (0, *conditions.SEVERITIES):
    if severity not in severities:
      raise errors.UserError(f"{task}/{metric} has no severity {severity}.")
  clean = values[:, severities.index(0)]
  if not np.allclose(clean, clean[0], rtol=0, atol=1e-9, equal_nan=True):
    raise errors.UserError(
      f"{task}/{metric}: the clean results differ between corruptions; there is"
      " one clean run."
    )
  family = conditions.PICTURES
  out = {conditions.Condition(): float(clean[0])}
  for row, name in zip(values, names):
    for severity in conditions.SEVERITIES:
      value = float(row[severities.index(severity)])
      out[family.condition(name, severity)] = value
  return out
