"""`Answers` and `AnswerMetric`: the inputs and the definitions of metrics of answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from eval.metrics.definitions.base import Metric


def _empty_field() -> Any:
  return dataclasses.field(default_factory=lambda: np.zeros(0, np.float32))


@dataclasses.dataclass(frozen=True)
class Answers:
  """The answers of a model to the examples of a cell, one per example.

  Attributes:
    label: int `[N]`, the true classes.
    predicted: int `[N]`, the classes of the answers.
    correct: bool `[N]`: whether the answer is right; if an example has several
      labels, whether it is one of them.
    groups: `[N]` texts: the group of each example.
    frame: int32 `[N]`, offset of a frame from its anchor.
    score: float32 `[N]`, the softmax probability of the answer, see `knows`.
    nll: float32 `[N]`, negative log-likelihood of the true class, see `knows`.
    brier: float32 `[N]`, Brier score of the softmax, see `knows`.
  """

  label: np.ndarray
  predicted: np.ndarray
  correct: np.ndarray
  groups: np.ndarray
  frame: np.ndarray
  score: np.ndarray = _empty_field()
  nll: np.ndarray = _empty_field()
  brier: np.ndarray = _empty_field()

  def knows(self, *names: str) -> bool:
    """Return whether all of these attributes are known, not left empty."""
    return all(len(getattr(self, n)) == len(self.correct) for n in names)

  def only(self, rows: np.ndarray) -> Answers:
    """Return some of the examples: bool `[N]`."""
    known = (f.name for f in dataclasses.fields(self) if self.knows(f.name))
    return dataclasses.replace(
      self, **{n: getattr(self, n)[rows] for n in known}
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnswerMetric(Metric):
  """A metric of answers: its definition, see `Metric`, and how it is computed.

  Exactly one of `values` and `number` is given.

  Attributes:
    values: returns a number for each example, `[N]`. The metric is their mean,
      and its interval comes from draws of groups.
    number: returns the metric of all examples. It has no interval, and
      `population` says why: "No interval: …".
    needs: the attributes of `Answers` that must be known, of `score`, `nll`
      and `brier`. Cells without them do not have the metric.
    tasks: the tasks whose cells have it; empty for all with such answers.
  """

  values: Callable[[Answers], np.ndarray] | None = None
  number: Callable[[Answers], float] | None = None
  needs: tuple[str, ...] = ()
  tasks: tuple[str, ...] = ()

  def compute(self, answers: Answers) -> float | np.ndarray:
    """Return the metric of the answers, or `[N]` values whose mean it is."""
    if self.values:
      return self.values(answers)
    if self.number:
      return self.number(answers)
    raise TypeError(f"{self.name}: got no function, expected values or number.")
