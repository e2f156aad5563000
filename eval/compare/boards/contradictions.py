"""Entries that one model cannot both have: the same data, and other numbers.

Equal weights with equal preprocessing and the same examples answer alike, but for
what devices round otherwise, and under another seed for what is drawn otherwise.
Where two entries differ by more, one of them is false, and nothing here tells which:
both are marked, and neither is ranked. Where they say that they prepare pixels
otherwise, run other code or answer at random, both may be right: they are ranked,
and say so.
"""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions
from robust_tfds.eval.cells import cell_facts
from robust_tfds.eval.cells.number import Number
from robust_tfds.eval.compare.boards import board as board_lib
from robust_tfds.eval.compare.boards.board import Entry
from robust_tfds.eval.compare.scores import Scored
from robust_tfds.eval.tasks.parts import baselines

# Facts that change no number, or that are statements: of a model, of its spec.
_OF_SPEC = ("source", "weights", "label_space", "parameters", "gflops")
_FREE = (
  *("name", "code", "trained_on", "corruptions_seen", "severities_seen"),
  "adapter",
  *(f"preprocessing.{name}" for name in _OF_SPEC),
)
# How far rates of one model may lie apart, beside one example: in a cell, and in
# the mean over cells, where roundings cancel.
_IN_CELL, _IN_MEAN, _EXAMPLES = 0.01, 0.002, 1.5
# Of two seeds an answer, 0 or 1, has a difference of variance 2 p (1 - p) <= 1/2 in
# each example: so many standard deviations of their mean.
_OF_SEEDS = 5 * 0.5**0.5
# Average precision and recall of a size: one object may be all that a class has, and
# n counts pictures.
_OF_FEW = frozenset(f"{of}{size}" for of in ("AP", "AR") for size in "sml")


def mark(entry: Entry) -> str:
  """Equal texts of entries that ought to have equal numbers; empty: nobody knows."""
  about = _about(entry)
  return "" if about.get("random") else _same(entry, entry.seed, about)


def _same(entry: Entry, *facts: Any) -> str:
  """Equal texts of equal weights, data and further facts; empty: nobody knows."""
  known = [entry.weights, entry.comparable, *facts]
  return json.dumps(known, sort_keys=True) if entry.weights else ""


def _about(entry: Entry) -> dict[str, Any]:
  """The facts of a model, and of its spec, on which its answers depend."""
  facts = cell_facts.with_spec(entry.model_facts)
  return {k: v for k, v in facts.items() if k not in _FREE}


def marked(scored: Sequence[Scored]) -> list[Scored]:
  """The same models; those that another one contradicts say so.

  What a contradicted model of the run normalises is not to be believed either.
  """
  out = _compared(scored)
  false = {_place(s) for s in out if s.entry.state == board_lib.CONTRADICTED}
  for i, one in enumerate(out):
    label = baselines.model_label(one.side.task.setting.baseline)
    if label and _place(one, label) in false and _place(one) not in false:
      remark = f"normalised by {label}, which another entry contradicts"
      out[i] = _with(one, remark, board_lib.CONTRADICTED)
  return out


def _compared(scored: Sequence[Scored]) -> list[Scored]:
  """Each model beside the first of its weights that has other numbers."""
  same: dict[str, list[int]] = {}
  for i, one in enumerate(scored):
    same.setdefault(_same(one.entry), []).append(i)
  same.pop("", None)
  out = list(scored)
  for places in same.values():
    for i in places:
      out[i] = _beside(scored[i], [scored[j] for j in places if j != i])
  return out


def _beside(one: Scored, others: Sequence[Scored]) -> Scored:
  """With what its weights gave in other entries, of equal facts first."""
  about = _about(one.entry)
  apart = [
    (cell_facts.differences(about, _about(other.entry)), words, other)
    for other in others
    if (words := _difference(one, other))
  ]
  if not apart:
    return one
  names, words, other = min(apart, key=lambda a: len(a[0]))
  same = one.entry.seed == other.entry.seed
  seeds = (
    ", seed and examples" if same else " and examples, under another seed,"
  )
  said = f"the same weights{seeds} gave other numbers in {other.entry.run}: {words}. "
  if names or about.get("random"):
    why = f"The models' facts differ in {', '.join(names)}"
    said += why if names else "Both say that they answer at random"
    return _with(one, said, one.entry.state)
  return _with(one, f"{said}One of the two is false", board_lib.CONTRADICTED)


def _place(one: Scored, label: str = "") -> tuple[str, str, str]:
  return one.entry.run, one.side.dataset, label or one.entry.model


def _with(one: Scored, remark: str, state: str) -> Scored:
  remark = "; ".join(filter(None, (one.entry.remark, remark)))
  entry = dataclasses.replace(one.entry, state=state, remark=remark)
  return dataclasses.replace(one, entry=entry)


def _difference(one: Scored, other: Scored) -> str:
  """Where two entries lie too far apart, in words; empty where they do not."""
  drawn = _OF_SEEDS if one.entry.seed != other.entry.seed else 0.0
  by_metric: dict[str, list[tuple]] = {}
  for metric, *values in _shared(one, other):
    by_metric.setdefault(metric, []).append(tuple(values))
  for metric, listed in by_metric.items():
    heading = one.facts.metric(metric).heading
    cells, ours, theirs, n = map(np.array, zip(*listed))
    of_seeds = drawn * (cells != "clean") / np.sqrt(n)
    excess = abs(ours - theirs) - _IN_CELL - _EXAMPLES / n - of_seeds
    worst = int(excess.argmax())
    if excess[worst] > 0:
      where = f"of {cells[worst]}"
      return _words(heading, where, ours[worst], theirs[worst])
    apart = abs(float((ours - theirs).mean()))
    if apart > _IN_MEAN + _EXAMPLES / n.sum() + drawn / np.sqrt(n.sum()):
      where = f"over {len(n)} cells"
      return _words(heading, where, ours.mean(), theirs.mean())
  return ""


def _words(heading: str, where: str, ours: float, theirs: float) -> str:
  return f"{heading} {where} {100 * theirs:.2f} %, here {100 * ours:.2f} %"


def _shared(
  one: Scored, other: Scored
) -> Iterator[tuple[str, str, float, float, int]]:
  """(metric, cell, value, the other's, n) of the rates that both have."""
  own = conditions.PICTURES.names("own")  # of which two files may share a name
  for condition, numbers in one.entry.cells.items():
    if condition.name in own:
      continue
    theirs = other.entry.cells.get(condition, {})
    for metric, number in numbers.items():
      a, b = number.or_nan, theirs.get(metric, Number(None)).or_nan
      of_few = metric.rpartition("/")[2] in _OF_FEW
      is_rate = one.facts.metric(metric).percent and not of_few
      if number.n and is_rate and np.isfinite([a, b]).all():
        yield metric, condition.config, a, b, number.n
