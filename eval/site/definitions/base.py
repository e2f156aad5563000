"""`Definition` and `Topic`: what a number of the site is, and those of a task."""

from __future__ import annotations

import dataclasses
from typing import Literal

Sense = Literal["lower", "higher", ""]

# Sources that several topics cite.
HENDRYCKS = "Hendrycks & Dietterich 2019 (arXiv 1903.12261)"
TAORI = "Taori et al. 2020 (arXiv 2007.00644), section 2"


@dataclasses.dataclass(frozen=True)
class Definition:
  """One metric, or one family of metrics.

  Attributes:
    metric: its name in tables; of a family without what follows the slash.
    heading: over a column.
    words: what is measured.
    formula: as plain text.
    sense: which direction is better; empty where neither is.
    percent: a fraction, shown in percent.
    source: paper and section.
    unit: of what is no fraction.
  """

  metric: str
  heading: str
  words: str
  formula: str = ""
  sense: Sense = "lower"
  percent: bool = True
  source: str = ""
  unit: str = ""

  @property
  def unit_words(self) -> str:
    """The unit, for the page of definitions."""
    return "%, stored as a fraction" if self.percent else self.unit or "none"

  @property
  def sense_words(self) -> str:
    """The direction, for the page of definitions."""
    return f"{self.sense} is better" if self.sense else "neither is better"


@dataclasses.dataclass(frozen=True)
class Topic:
  """Definitions that belong together.

  Attributes:
    title: over them.
    task: whose numbers they are; empty for every task's.
    words: what is common to them.
    definitions: in order.
  """

  title: str
  task: str
  words: str
  definitions: tuple[Definition, ...]
