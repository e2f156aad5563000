"""The numbers that a task's reports show, their order and wording."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from typing import Any

from eval.metrics import definitions
from eval.metrics.definitions import Metric
from robust_tfds import reading

_ROWS = pathlib.Path(__file__).with_name("facts.json")


@dataclasses.dataclass(frozen=True)
class TaskFacts:
  """The task's part of every report.

  Attributes:
    task: its name.
    noun: the word for a condition's name: `corruption` or `perturbation`.
    headlines: numbers of the whole benchmark, in order.
    details: numbers of each corruption, in order.
    others: further metrics of the table that reports rank or print.
    normalised: the normalised numbers in words; empty if there are none.
    mean: the benchmark's means over the common conditions, in words.
    explanation: what the numbers mean without a baseline.
    intervals: what the intervals refer to, if not what the value refers to.
    ranked: metrics to rank by: the first that models have.
    verdict: (metric, words) of the numbers that summarise a model; `{}` is the
      number, `{conditions}` its conditions, `{clean}` the word if there are
      others.
  """

  task: str
  noun: str
  headlines: tuple[Metric, ...]
  details: tuple[Metric, ...] = ()
  others: tuple[Metric, ...] = ()
  normalised: str = ""
  mean: str = ""
  explanation: str = ""
  intervals: str = ""
  ranked: tuple[str, ...] = ()
  verdict: tuple[tuple[str, str], ...] = ()

  @classmethod
  def for_task(cls, task: str) -> TaskFacts:
    """Create a task's facts from `facts.json`, where metrics are names.

    >>> TaskFacts.for_task("video").ranked
    ('gamma_r', 'natural_accuracy')
    """
    row = _rows()[task]
    metrics: dict[str, Any] = {
      key: definitions.metrics(task, *row[key])
      for key in ("headlines", "details", "others")
      if key in row
    }
    ranked, verdict = tuple(row["ranked"]), tuple(row["verdict"].items())
    return cls(task, **{**row, "ranked": ranked, "verdict": verdict, **metrics})

  @property
  def plain(self) -> set[str]:
    """The names of numbers that a baseline normalises, before normalisation."""
    every = (*self.headlines, *self.details, *self.others)
    return {m.normalises for m in every if m.normalises}

  def metric(self, name: str) -> Metric:
    """Return the metric of a name: as the task shows it, else its definition.

    >>> TaskFacts("detection", "corruption", ()).metric("bbox/AP50").heading
    'AP50'
    """
    for metric in (*self.headlines, *self.details, *self.others):
      if metric.name == name:
        return metric
    return definitions.metric(self.task, name)


@functools.cache
def _rows() -> dict[str, dict[str, Any]]:
  return reading.json_file(_ROWS)
