"""Raw results of the detection paper: the numbers of every cell, no detections.

A file is what the authors published for a data set and a model, as JSON:
`dataset`, `model`, `corruptions` (names of the first axis), `severities` (of the
second; 0 is clean) and `results[task][metric]`, an array `[corruptions,
severities]` of fractions (-1: not defined); for VOC `AP50_per_class`,
`[corruptions, severities, classes]`. Corruptions and severities are found by
name, in any order; a severity that the benchmark needs and the file lacks is
refused.
"""

import collections
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pydantic
from etils import epath

from eval import tasks
from eval.cells import provenance
from eval.cells.cell import Cell
from eval.readers import base
from eval.tasks.headlines import stored_numbers
from eval.tasks.parts import example_checks
from robust_tfds import conditions, errors, reading

Numbers = dict[conditions.Condition, dict[str, float]]


_NOT_EMPTY = pydantic.Field(min_length=1)


class _File(pydantic.BaseModel):
  """The fields that are used, see the module."""

  dataset: str = pydantic.Field(pattern=r"^\w[\w.+-]*$")  # of a TFDS data set
  model: str = pydantic.Field(min_length=1)
  corruptions: list[str] = pydantic.Field(min_length=1)
  severities: list[int]
  results: dict[str, Annotated[dict[str, list[Any]], _NOT_EMPTY]] = _NOT_EMPTY


class RawResultsReader(base.Reader):
  """Reader of files of raw results, of any data sets."""

  kind = "a file of raw results"
  options = ("seed",)
  has_paper_tables = True
  example = base.Example(
    {
      "mine.json": '{"dataset": "coco_c", "model": "m", "corruptions": ["fog"],'
      ' "severities": [0, 1, 2, 3, 4, 5], "results": {"bbox": {"AP":'
      " [[0.5, 0.4, 0.3, 0.2, 0.1, 0.0]]}}}"
    },
    "mine.json",
  )

  def fits(self, path: epath.Path, options: base.Options) -> bool:
    """Return whether it is a JSON file."""
    return path.is_file() and path.suffix == ".json"

  def read(
    self, paths: Sequence[epath.Path], options: base.Options
  ) -> base.Run:
    """Return the cells of all files; see `read` and `numbers` for refusals."""
    options.check(self.options, self.kind)
    columns_by_cell: dict[Cell, dict[str, np.ndarray]] = {}
    labels: dict[str, dict] = collections.defaultdict(dict)
    for path in paths:
      data = read(path)
      example_checks.check_kind(
        data["dataset"], tasks.get("detection").set_kind
      )
      labels[data["dataset"]][path] = [data["model"]]
      base.check_labels(labels[data["dataset"]])
      with errors.prefixed(path):
        columns_by_cell |= cells(data, options.seed or 0)
    datasets = list(dict.fromkeys(c.dataset for c in columns_by_cell))
    listed = sorted(columns_by_cell, key=lambda c: datasets.index(c.dataset))
    return base.Run(
      config=base.config("detection", listed),
      cells=listed,
      columns=columns_by_cell.__getitem__,
      notes=[f"scored from {len(paths)} files of raw results"],
    )


def read(path: epath.Path) -> dict[str, Any]:
  """Return the content of a raw results file, after checks of its layout.

  Raises:
    UserError: another layout; the message names the file and what is wrong.
  """
  data = reading.json_file(path)
  if isinstance(data, list):
    raise errors.UserError(
      f"{path} is a list. A COCO results list is one cell: name the folder of"
      " clean.json, fog_3.json, ..."
    )
  reading.records(data, _File, str(path))
  for axis in ("corruptions", "severities"):
    names = data[axis]
    if len(set(names)) != len(names):
      raise errors.UserError(
        f"{path}: {axis}: got {names}, expected each entry once."
      )
  return data


def cells(
  data: Mapping[str, Any], seed: int = 0
) -> dict[Cell, dict[str, np.ndarray]]:
  """Return a file's cells with their numbers, clean first, then in paper order."""
  mark = provenance.fingerprint({"results": data["results"]})
  numbers_by_condition = numbers(data)
  order = conditions.PICTURES.conditions()
  return {
    Cell(
      data["model"], data["dataset"], condition, seed, mark
    ): stored_numbers.columns(numbers_by_condition[condition])
    for condition in sorted(numbers_by_condition, key=order.index)
  }


def numbers(data: Mapping[str, Any]) -> Numbers:
  """Return condition -> metric -> number.

  Raises:
    UserError: an array of another shape, an unknown corruption, a missing
      severity, clean results that differ between corruptions, or numbers that
      are neither fractions nor -1.
  """
  out: Numbers = collections.defaultdict(dict)
  for task, metrics in data["results"].items():
    for metric in metrics:
      name = f"{task}/{metric.removesuffix('_per_class')}"
      for condition, value in _metric_numbers(data, task, metric).items():
        if not 0 <= value <= 1 and value != -1:
          raise errors.UserError(
            f"{task}/{metric}: got {value} for {condition.config}, expected a fraction"
            " in [0, 1], or -1 if it is not defined."
          )
        out[condition][name] = value
  return dict(out)


def _array(name: str, values: Any) -> np.ndarray:
  """Return numbers of any shape as float64; refuse texts, flags and None."""
  array = np.array(values, dtype=object)
  for value in array.ravel():
    if type(value) not in (int, float):
      raise errors.UserError(
        f"{name}: got {str(value)[:60]!r}, expected an array of numbers."
      )
  return array.astype(np.float64)


def _metric_numbers(
  data: Mapping[str, Any], task: str, metric: str
) -> dict[conditions.Condition, float]:
  values = _array(f"{task}/{metric}", data["results"][task][metric])
  names, severities = list(data["corruptions"]), list(data["severities"])
  if values.ndim == 3:  # the mean over classes
    values = values.mean(axis=2)
  if values.shape != (len(names), len(severities)):
    raise errors.UserError(
      f"{task}/{metric}: got an array of shape {list(values.shape)}, expected"
      f" {len(names)} corruptions x {len(severities)} severities."
    )
  for severity in (0, *conditions.SEVERITIES):
    if severity not in severities:
      raise errors.UserError(f"{task}/{metric}: severity {severity}: missing.")
  clean = values[:, severities.index(0)]
  if not np.allclose(clean, clean[0], rtol=0, atol=1e-9, equal_nan=True):
    raise errors.UserError(
      f"{task}/{metric}: the clean results differ between corruptions, expected"
      " those of one clean run."
    )
  family = conditions.PICTURES
  out = {conditions.Condition(): float(clean[0])}
  for row, name in zip(values, names):
    for severity in conditions.SEVERITIES:
      value = float(row[severities.index(severity)])
      out[family.condition(name, severity)] = value
  return out
