"""What is to be said of a task's numbers: their names, order, sense and units."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Metric:
  """A number of the table as reports show it.

  Attributes:
    name: in the table's column `metric`.
    heading: over a report's column.
    higher_is_better: whether more is better.
    percent: whether it is a fraction, which reports show in percent.
    normalises: of a number that a baseline normalises, the plain one's name.
    axis: beside the axis of a figure, more in full; the heading where empty.
  """

  name: str
  heading: str
  higher_is_better: bool = False
  percent: bool = True
  normalises: str = ""
  axis: str = ""


@dataclasses.dataclass(frozen=True)
class TaskFacts:
  """The task's half of every report.

  Attributes:
    task: its name.
    noun: what one condition's name is: `corruption` or `perturbation`.
    headlines: numbers of the whole benchmark, in order.
    details: numbers of each corruption, in order.
    others: further metrics of the table that reports rank or print.
    normalised: the normalised numbers in words; empty where there are none.
    mean: the benchmark's means over the common conditions, in words.
    explanation: what the numbers mean, where no baseline enters.
    ranked: what boards rank by: the first of these metrics that models have.
  """

  task: str
  noun: str
  headlines: tuple[Metric, ...]
  details: tuple[Metric, ...] = ()
  others: tuple[Metric, ...] = ()
  normalised: str = ""
  mean: str = ""
  explanation: str = ""
  ranked: tuple[str, ...] = ()

  @property
  def plain(self) -> set[str]:
    """Names of the numbers that a baseline normalises, before it does."""
    every = (*self.headlines, *self.details, *self.others)
    return {m.normalises for m in every if m.normalises}

  def metric(self, name: str) -> Metric:
    """The metric of a name; a plain error rate where the task says nothing."""
    for metric in (*self.headlines, *self.details, *self.others):
      if metric.name == name:
        return metric
    return Metric(name, name)
