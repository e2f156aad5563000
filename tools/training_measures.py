"""The columns of docs/TRAINING.md: what a training's numbers come to, in percent."""

from __future__ import annotations

import abc
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

import numpy as np

from eval.metrics import action
from robust_tfds import conditions
from tools.training_runs import Line

# Kind -> how many examples its test has.
EXAMPLES = {"pictures": 359, "videos": 240, "detectors": 60}
# Columns whose chance over examples does not follow from what was stored.
_RATIOS = ("mCE", "mFR", "gamma_r", "gamma_r held out", "P", "mPC", "rPC")


class Measures(abc.ABC):
  """The columns of a network's tables.

  Attributes:
    names: of the columns.
    near: row -> conditions that its operations are near to, although none of them
      is one [U].
  """

  names: tuple[str, ...]
  near: ClassVar[Mapping[str, tuple[str, ...]]] = {}

  def not_held_out(self, line: Line) -> tuple[str, ...]:
    """Conditions that a training showed, and those that it showed the like of."""
    return (*line.seen, *self.near.get(line.row, ()))

  @abc.abstractmethod
  def of(self, line: Line, seen: Collection[str]) -> dict[str, float]:
    """Name -> value, in percent.

    Args:
      line: a training.
      seen: conditions that columns of what is held out leave out.
    """


def of(kind: str, standard: Sequence[Line]) -> Measures:
  """The columns of a kind of trainings.

  Args:
    kind: of `training_runs.KINDS`.
    standard: the trainings that others are relative to.
  """
  if kind == "pictures":
    return Pictures(standard)
  return Detectors() if kind == "detectors" else Videos(standard)


def told(kind: str) -> tuple[str, ...]:
  """The columns, as the page's first sentences name them: clean, then the mean."""
  if kind == "pictures":
    groups = ("noise", "blur", "weather", "digital")
    rest = ("mCE", "mFP", "mFP held out", "mFR")
    return ("clean", "mean", "held out", *groups, "extra", *rest)
  return Detectors.names if kind == "detectors" else Videos.names


def is_rate(name: str) -> bool:
  """Return whether a column is a share of the examples, or a difference of two."""
  return name not in _RATIOS


def sense(kind: str) -> int:
  """1 where larger is better, else -1."""
  return -1 if kind == "pictures" else 1


class Pictures(Measures):
  """Errors, mCE, mFR: the smaller the better."""

  near = dict.fromkeys(("augmix", "pixmix"), ("translate", "rotate", "tilt"))

  def __init__(self, standard: Sequence[Line]):
    """`standard`: the trainings that are 100 in mCE and mFR."""
    family = conditions.PICTURES
    there = {name.partition(":")[0] for name in standard[0].numbers}
    self._common = [n for n in family.names("common") if n in there]
    self._extra = [n for n in family.names("extra") if n in there]
    self._groups = {
      group: [n for n in family.members(group, "common") if n in there]
      for group in dict.fromkeys(family.row(n).group for n in self._common)
    }
    self._flips = [
      name for name in standard[0].numbers if name.endswith(":flip_probability")
    ]
    self._standard = standard
    self.names = (
      *("clean", "mCE", "mean", *self._groups, "extra", "held out"),
      *("mFP", "mFP held out", "mFR"),
    )

  def of(self, line: Line, seen: Collection[str]) -> dict[str, float]:
    """See the base."""
    held = [n for n in self._common if n not in seen]
    flips = [n for n in self._flips if n.partition(":")[0] not in seen]
    groups = {g: _errors(line, names) for g, names in self._groups.items()}
    return {
      "clean": 100 * line.numbers["clean_error"],
      "mCE": self._relative(line, [f"{n}:mean_error" for n in self._common]),
      "mean": _errors(line, self._common),
      **groups,
      "extra": _errors(line, self._extra),
      "held out": _errors(line, held),
      "mFP": _mean(line, self._flips),
      "mFP held out": _mean(line, flips),
      "mFR": self._relative(line, self._flips),
    }

  def _relative(self, line: Line, names: Sequence[str]) -> float:
    """Mean ratio to what `standard` has on average over its seeds."""
    ratios = [
      line.numbers[n] / np.mean([x.numbers[n] for x in self._standard])
      for n in names
    ]
    return 100 * float(np.mean(ratios))


class Detectors(Measures):
  """P, mPC and rPC of COCO's AP: the larger the better."""

  names = ("P", "mPC", "rPC")

  def of(self, line: Line, seen: Collection[str]) -> dict[str, float]:
    """See the base; no recipe of detectors trains on conditions."""
    return {name: 100 * line.numbers[name.lower()] for name in self.names}


class Videos(Measures):
  """Accuracy, gamma of levels 4 and 5: the larger the better."""

  names = (
    *("clean", "mean", "held out", "gamma_a", "gamma_r"),
    *("gamma_a held out", "gamma_r held out"),
  )
  near = {"pixmix": ("static_rotation", "random_rotation", "translation")}

  def __init__(self, standard: Sequence[Line]):
    """`standard`: any trainings; what they were shown, the others were too."""
    end = ":part_mean_accuracy"
    self._shown = [
      n.removesuffix(end) for n in standard[0].numbers if n.endswith(end)
    ]

  def of(self, line: Line, seen: Collection[str]) -> dict[str, float]:
    """See the base."""
    held = [n for n in self._shown if n not in seen]
    clean = 100 * line.numbers["clean_accuracy"]
    of_groups = (
      100
      * action.averages(
        {(n, 5): line.numbers[f"{n}:part_mean_accuracy"] for n in held}
      )["mean"]
    )
    return {
      "clean": clean,
      "mean": _accuracies(line, self._shown),
      "held out": _accuracies(line, held),
      "gamma_a": 100 * line.numbers["part_gamma_a"],
      "gamma_r": 100 * line.numbers["part_gamma_r"],
      # Means of 1 - (clean - a) and of 1 - (clean - a) / clean, as of the whole.
      "gamma_a held out": 100 - clean + of_groups,
      "gamma_r held out": 100 * of_groups / clean,
    }


def _mean(line: Line, names: Sequence[str]) -> float:
  return 100 * float(np.mean([line.numbers[n] for n in names]))


def _errors(line: Line, names: Sequence[str]) -> float:
  return _mean(line, [f"{n}:mean_error" for n in names])


def _accuracies(line: Line, names: Sequence[str]) -> float:
  return _mean(line, [f"{n}:part_mean_accuracy" for n in names])
