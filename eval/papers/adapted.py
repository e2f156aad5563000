"""Printed numbers of models that adapt at test time, with their sources.

`adapted.tsv` has a line a model and method: rates in percent as printed, errors at
severity 5 (mean, then by corruption), accuracies, or mCE.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Mapping

from robust_tfds import reading

_FILE = pathlib.Path(__file__).with_suffix(".tsv")
_FACTS = (
  "dataset",
  "model",
  "network",
  "method",
  "setting",
  "metric",
  "source",
)


@dataclasses.dataclass(frozen=True)
class AdaptedRow:
  """A printed line.

  Attributes:
    dataset: name of the data set.
    model: our name of the network; empty if we have no such weights.
    network: as printed, with its training.
    method: our name of the method; `source`: none.
    setting: our name of the setting, or words where we have none.
    batch: pictures of a batch; 0: not said.
    examples: pictures of a condition.
    metric: `error` or `accuracy` at severity 5, or `mce`.
    mean: the printed mean, a fraction; of EATA's rows the mean of the line.
    by_name: corruption -> number, a fraction; may be empty.
    source: where it was read.
  """

  dataset: str
  model: str
  network: str
  method: str
  setting: str
  batch: int
  examples: int
  metric: str
  mean: float
  by_name: Mapping[str, float]
  source: str


@functools.cache
def rows(dataset: str = "") -> tuple[AdaptedRow, ...]:
  """Return the printed lines of a data set, or all of them.

  >>> [row.mean for row in rows("cifar10_c")[:3]]
  [0.435, 0.204, 0.186]
  """
  head, *lines = (line.split("\t") for line in reading.line_list(_FILE))
  every = (_row(dict(zip(head, line, strict=True))) for line in lines)
  return tuple(row for row in every if dataset in ("", row.dataset))


def _row(line: dict[str, str]) -> AdaptedRow:
  texts = {name: line.pop(name) for name in _FACTS}
  counts = {name: int(line.pop(name)) for name in ("batch", "examples")}
  mean = float(line.pop("mean")) / 100
  by_name = {name: float(text) / 100 for name, text in line.items() if text}
  return AdaptedRow(**texts, **counts, mean=round(mean, 6), by_name=by_name)  # type: ignore[arg-type]


def fitting(
  dataset: str, model: str, facts: Mapping[str, object], examples: int | None
) -> list[AdaptedRow]:
  """Return the printed errors that a run may be compared with.

  Args:
    dataset: of the run.
    model: our name of its network.
    facts: how it adapts, as a cell's facts say.
    examples: of a condition.
  """
  return [
    row
    for row in rows(dataset)
    if row.metric == "error"
    and row.model == model
    and row.method == facts.get("method")
    and row.setting == facts.get("setting")
    and row.batch == facts.get("batch")
    and row.examples == examples
  ]
