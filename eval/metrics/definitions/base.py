"""`Metric` and `Topic`: what a number of the tables is, and a file of them."""

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
HELD_OUT = "held_out_"  # the same over those that the model was not trained on
_COUNT = re.compile(r" \(\d+\)$")  # of conditions, behind a heading
Sense = Literal["lower", "higher", "neither", "unknown"]


@dataclasses.dataclass(frozen=True)
class Metric:
  """One metric, or one family of metrics.

  Attributes:
    name: in the tables' column `metric`; of a family without what follows the
      slash.
    heading: over a column.
    sense: which direction is better; unknown where nobody has said it.
    words: what is measured.
    population: what the interval holds at 95 %: the number of which population;
      or why there is none.
    bounds: the least and the most that it can be, infinite where nothing limits
      it: intervals end there.
    formula: as plain text.
    percent: a fraction, shown in percent.
    unit: of what is no fraction.
    source: paper and section.
    normalises: of a number that a baseline normalises, the plain one's name.
    title: over its words, more in full; the heading where empty.
    axis: beside the axis of a figure, more in full; the heading where empty.
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
  source: str = ""
  normalises: str = ""
  title: str = ""
  axis: str = ""

  @property
  def part_of(self) -> str:
    """Of a mean over a part of the conditions, the whole mean's name.

    Those that a run has, or that the model was not trained on. Empty of all other
    numbers. It is shown and never ranked, and has no best.

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
    """Over its words."""
    return self.title or self.heading

  @property
  def higher_is_better(self) -> bool:
    """Whether more is known to be better."""
    return self.sense == "higher"

  @property
  def sign(self) -> int:
    """1 where more is better, -1 where less is; 0 of neither and of unknown."""
    return {"higher": 1, "lower": -1}.get(self.sense, 0)

  @property
  def has_interval(self) -> bool:
    """Whether it can have one."""
    return not self.population.startswith("No interval")

  @property
  def sense_words(self) -> str:
    """The direction: `lower is better`, or `unknown sense`."""
    if self.sense == "unknown":
      return "unknown sense"
    return f"{self.sense} is better"

  @property
  def unit_words(self) -> str:
    """The unit: in percent, its own, or none."""
    return "%, stored as a fraction" if self.percent else self.unit or "none"


@dataclasses.dataclass(frozen=True)
class Topic:
  """Metrics that belong together: a file of this folder.

  Attributes:
    title: over them.
    words: what is common to them.
    metrics: in order.
    task: whose numbers they are; empty for every task's.
    headings: of members of families, where less than the rule's is enough.
  """

  title: str
  words: str
  metrics: tuple[Metric, ...]
  task: str = ""
  headings: Mapping[str, str] = dataclasses.field(default_factory=dict)

  @classmethod
  def read(cls, path: pathlib.Path) -> Topic:
    """The topic of a JSON file: its fields; `metrics` are by name.

    Raises:
      UserError: a field that a metric or a topic does not have, or a sense that
        is none.
    """
    fields = reading.json_file(path)
    _check_fields(f"{path.name}: field", fields, cls)
    for name, row in fields["metrics"].items():
      _check_fields(f"{path.name}: field of {name}", row, Metric)
      senses = typing.get_args(Sense)
      if row["sense"] not in senses:
        raise errors.unknown(f"sense of {name}", row["sense"], senses)
    metrics = tuple(_metric(*item) for item in fields["metrics"].items())
    return cls(**{**fields, "metrics": metrics})


def _metric(name: str, row: Mapping[str, Any]) -> Metric:
  """Of a file's row, whose bounds are null where there are none."""
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
      raise errors.unknown(what, name, known)
