"""A comparison as plain data: lines, and notes on them."""

import dataclasses
import math
from collections.abc import Sequence

from eval.cells.facts import TaskFacts
from eval.cells.number import Number
from robust_tfds.conditions import Condition

LEVEL = 0.05  # significance level of all tests of a family together
BETTER = "better"
WORSE = "worse"
UNDECIDED = "undecided"
UNKNOWN_SENSE = "unknown sense"  # a metric without a stated direction


@dataclasses.dataclass(frozen=True)
class Test:
  """A test of whether a difference is significant.

  Attributes:
    kind: kind of test, in words.
    p: two-sided; nan if no test was possible.
    adjusted: p after Holm over the family.
    family: the test's family, in words.
    verdict: `BETTER`, `WORSE`, `UNDECIDED` or `UNKNOWN_SENSE` of the first model;
      empty without a test.
  """

  kind: str = ""
  p: float = math.nan
  adjusted: float = math.nan
  family: str = ""
  verdict: str = ""


@dataclasses.dataclass(frozen=True)
class Line:
  """One number of both models.

  Rates are fractions.

  Attributes:
    metric: its name.
    corruption: empty for clean cells and for the whole benchmark.
    level: severity or difficulty; None if the number has none.
    condition: condition of a cell; None for numbers over cells.
    first: the first model's value.
    second: the second model's value.
    difference: first - second.
    decrease: 1 - first / second, the relative decrease.
    n: number of examples; None over cells.
    test: the test of a cell.
    note: a note on the number.
  """

  metric: str
  corruption: str
  level: int | None
  condition: Condition | None
  first: float
  second: float
  difference: Number
  decrease: Number = Number(None)
  n: int | None = None
  test: Test = Test()
  note: str = ""

  @property
  def whole_benchmark(self) -> bool:
    """Whether it is a number of the whole benchmark."""
    return self.condition is None and not self.corruption


@dataclasses.dataclass(frozen=True)
class Comparison:
  """A comparison of two models over one data set.

  Attributes:
    dataset: its name.
    facts: facts of the task.
    first: name of the first model.
    second: name of the second model.
    benchmark: lines of the whole benchmark, in the task's order.
    corruptions: lines of one corruption over its levels.
    cells: lines of cells, with tests.
    sentences: how many cells each family decides.
    notes: notes, in sentences.
  """

  dataset: str
  facts: TaskFacts
  first: str
  second: str
  benchmark: Sequence[Line]
  corruptions: Sequence[Line]
  cells: Sequence[Line]
  sentences: Sequence[str] = ()
  notes: Sequence[str] = ()

  @property
  def clean_alone(self) -> bool:
    """Whether there is only the clean condition."""
    return not any(line.corruption for line in self.cells)

  @property
  def lines(self) -> list[Line]:
    """All lines: those of the benchmark first."""
    return [*self.benchmark, *self.corruptions, *self.cells]

  def words(self, line: Line) -> str:
    """Return the description of a line's number."""
    words = self.facts.metric(line.metric).heading
    if "/" in line.metric:  # headings of parts say the part alone
      words = line.metric
    level = "" if line.level is None else str(line.level)
    if line.condition is not None and not line.corruption:
      return words if self.clean_alone else f"{words}, clean"
    if line.corruption:
      return f"{words}, {line.corruption} {level}".strip().replace("_", " ")
    return f"{words}, difficulty {level}" if level else words
