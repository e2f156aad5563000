"""`Metric` and `Topic`: the definition of a number of the tables, and a file of
them.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
import typing
from collections.abc import Mapping
from typing import Any, Literal

from robust_tfds import errors, reading

PART = "part_"  # begins the name of a mean over a part of its conditions
HELD_OUT = "held_out_"  # the same over conditions that were not trained on
_COUNT = re.compile(r" \(\d+\)$")  # number of conditions, behind a heading
Sense = Literal["lower", "higher", "neither", "unknown"]


@dataclasses.dataclass(frozen=True)
class Metric:
  """One metric, or one family of metrics.

  Attributes:
    name: name in the tables' column `metric`; for a family without the slash
      and what follows it.
    heading: heading of a column.
    sense: which direction is better; unknown if it is not stated.
    words: what is measured.
    population: the population whose number the 95 % interval covers; or why
      there is no interval.
    bounds: the lowest and highest possible values, infinite if there is no
      limit: intervals end there.
    formula: formula as plain text.
    percent: whether it is a fraction that is shown in percent.
    unit: unit of a number that is no fraction.
    any_size: whether numbers may be of any size: texts show significant digits.
    source: paper and section.
    normalises: name of the plain number that a baseline normalises here.
    title: longer heading of its words; the heading if empty.
    axis: longer label of a figure's axis; the heading if empty.
  """

  name: str
  heading: str
  sense: Sense = "unknown"
  words: str = ""
  population: str = ""
  bounds: tuple[float, float] = (-math.inf, math.inf)
  formula: str = ""
  percent: bool = True
  unit: str = ""
  any_size: bool = False
  source: str = ""
  normalises: str = ""
  title: str = ""
  axis: str = ""

  @property
  def part_of(self) -> str:
    """The name of the whole mean, if this is a mean over a part of the conditions.

    The part is those that a run has, or that the model was not trained on. It
    is empty for all other numbers. A mean over a part is shown, but never
    ranked.

    >>> Metric("segm/part_mpc", "Mask mPC (part)").part_of
    'segm/mpc'
    """
    *overlap, last = self.name.split("/")
    whole = last.removeprefix(PART).removeprefix(HELD_OUT)
    return "/".join([*overlap, whole]) if whole != last else ""

  @property
  def held_out(self) -> Metric:
    """The same number over the conditions that the model was not trained on."""
    *overlap, last = self.name.split("/")
    return dataclasses.replace(
      self,
      name="/".join([*overlap, HELD_OUT + last]),
      heading=f"{_COUNT.sub('', self.heading)} (not trained on)",
      words="Of a model that was trained on conditions of the benchmark the same"
      " over those that it was not trained on, a baseline's over the same. Its note"
      f" names them; it is shown and never ranked. The whole: {self.words}",
      population="The same over the conditions that the note names. Of the whole:"
      f" {self.population}",
      normalises=self.normalises and HELD_OUT + self.normalises,
      title=f"{self.full_heading} over conditions not trained on",
      axis="",
    )

  @property
  def full_heading(self) -> str:
    """The heading over its words."""
    return self.title or self.heading

  @property
  def higher_is_better(self) -> bool:
    """Whether more is known to be better."""
    return self.sense == "higher"

  @property
  def sign(self) -> int:
    """1 if more is better, -1 if less is, 0 for neither and unknown."""
    return {"higher": 1, "lower": -1}.get(self.sense, 0)

  @property
  def has_interval(self) -> bool:
    """Whether it can have an interval."""
    return not self.population.startswith("No interval")

  @property
  def sense_words(self) -> str:
    """The direction in words: `lower is better`, or `unknown sense`."""
    if self.sense == "unknown":
      return "unknown sense"
    return f"{self.sense} is better"

  @property
  def unit_words(self) -> str:
    """The unit: in percent, its own, or none."""
    return "%, stored as a fraction" if self.percent else self.unit or "none"


@dataclasses.dataclass(frozen=True)
class Topic:
  """A file of this folder: metrics that belong together.

  Attributes:
    title: common title.
    words: what they have in common.
    metrics: the metrics in order.
    task: the task that they belong to; empty for all tasks.
    headings: shorter headings of members of families than the rule gives.
  """

  title: str
  words: str
  metrics: tuple[Metric, ...]
  task: str = ""
  headings: Mapping[str, str] = dataclasses.field(default_factory=dict)

  @classmethod
  def read(cls, path: pathlib.Path) -> Topic:
    """Read the topic of a JSON file: its fields; `metrics` are by name.

    Raises:
      UserError: a field or a sense is unknown.
    """
    fields = reading.json_file(path)
    _check_fields(f"{path.name}: field", fields, cls)
    for name, row in fields["metrics"].items():
      _check_fields(f"{path.name}: field of {name}", row, Metric)
      senses = typing.get_args(Sense)
      if row["sense"] not in senses:
        raise errors.unknown_error(f"sense of {name}", row["sense"], senses)
    metrics = tuple(_metric(*item) for item in fields["metrics"].items())
    return cls(**{**fields, "metrics": metrics})


def _metric(name: str, row: Mapping[str, Any]) -> Metric:
  """Return the metric of a file's row, in which a missing bound is null."""
  least, most = row["bounds"]
  bounds = (
    -math.inf if least is None else least,
    math.inf if most is None else most,
  )
  return Metric(name, **{**row, "bounds": bounds})


def _check_fields(what: str, fields: Mapping[str, Any], kind: type) -> None:
  known = [field.name for field in dataclasses.fields(kind)]
  for name in fields:
    if name not in known:
      raise errors.unknown_error(what, name, known)
