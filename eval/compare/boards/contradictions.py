"""Entries that one model cannot both have: the same data, and other numbers.

Equal weights with equal preprocessing, one seed and the same examples answer alike,
but for what devices round otherwise. Where two entries differ by more, one of them
is false, and nothing here tells which: both are marked, and neither is ranked.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator, Sequence

import numpy as np

from robust_tfds.eval.cells.number import Number
from robust_tfds.eval.compare.boards import board as board_lib
from robust_tfds.eval.compare.boards.board import Entry
from robust_tfds.eval.compare.scores import Scored
from robust_tfds.eval.tasks.parts import baselines

# Facts that change no number, or that are statements.
_FREE = ("name", "code", "trained_on", "corruptions_seen")
# How far rates of one model may lie apart, beside one example: in a cell, and in
# the mean over cells, where roundings cancel.
_IN_CELL, _IN_MEAN, _EXAMPLES = 0.01, 0.002, 1.5
# Average precision and recall of a size: one object may be all that a class has, and
# n counts pictures.
_OF_FEW = frozenset(f"{of}{size}" for of in ("AP", "AR") for size in "sml")


def mark(entry: Entry) -> str:
  """Equal texts of entries that ought to have equal numbers; empty: nobody knows."""
  facts = entry.model_facts
  if not facts.get("weights") or facts.get("random"):
    return ""
  about = {k: v for k, v in facts.items() if k not in _FREE}
  return json.dumps([about, entry.seed, entry.comparable], sort_keys=True)


def marked(scored: Sequence[Scored]) -> list[Scored]:
  """The same models; those that another one contradicts say so.

  What a contradicted model of the run normalises is not to be believed either.
  """
  remarks = _remarks(scored)
  false = {_place(scored[i], scored[i].entry.model) for i in remarks}
  for i, one in enumerate(scored):
    label = baselines.model_label(one.side.task.setting.baseline)
    if label and i not in remarks and _place(one, label) in false:
      remarks[i] = f"normalised by {label}, which another entry contradicts"
  return [_with(one, remarks.get(i, "")) for i, one in enumerate(scored)]


def _remarks(scored: Sequence[Scored]) -> dict[int, str]:
  """Place of a contradicted model -> by which numbers of which other."""
  same: dict[str, list[int]] = {}
  for i, one in enumerate(scored):
    same.setdefault(mark(one.entry), []).append(i)
  same.pop("", None)
  out: dict[int, str] = {}
  for places in same.values():
    for i, j in itertools.permutations(places, 2):
      words = "" if i in out else _difference(scored[i], scored[j])
      if words:
        out[i] = (
          "the same weights, seed and examples gave other numbers in"
          f" {scored[j].entry.run}: {words}. One of the two is false"
        )
  return out


def _place(one: Scored, label: str) -> tuple[str, str, str]:
  return one.entry.run, one.side.dataset, label


def _with(one: Scored, remark: str) -> Scored:
  if not remark:
    return one
  state = board_lib.CONTRADICTED
  entry = dataclasses.replace(one.entry, state=state, remark=remark)
  return dataclasses.replace(one, entry=entry)


def _difference(one: Scored, other: Scored) -> str:
  """Where two entries lie too far apart, in words; empty where they do not."""
  by_metric: dict[str, list[tuple]] = {}
  for metric, *values in _shared(one, other):
    by_metric.setdefault(metric, []).append(tuple(values))
  for metric, listed in by_metric.items():
    heading = one.facts.metric(metric).heading
    cells, ours, theirs, n = map(np.array, zip(*listed))
    excess = abs(ours - theirs) - _IN_CELL - _EXAMPLES / n
    worst = int(excess.argmax())
    if excess[worst] > 0:
      where = f"of {cells[worst]}"
      return _words(heading, where, ours[worst], theirs[worst])
    apart = abs(float((ours - theirs).mean()))
    if apart > _IN_MEAN + _EXAMPLES / n.sum():
      where = f"over {len(n)} cells"
      return _words(heading, where, ours.mean(), theirs.mean())
  return ""


def _words(heading: str, where: str, ours: float, theirs: float) -> str:
  return f"{heading} {where} {100 * theirs:.2f} %, here {100 * ours:.2f} %"


def _shared(
  one: Scored, other: Scored
) -> Iterator[tuple[str, str, float, float, int]]:
  """(metric, cell, value, the other's, n) of the rates that both have."""
  for condition, numbers in one.entry.cells.items():
    theirs = other.entry.cells.get(condition, {})
    for metric, number in numbers.items():
      a, b = number.or_nan, theirs.get(metric, Number(None)).or_nan
      of_few = metric.rpartition("/")[2] in _OF_FEW
      is_rate = one.facts.metric(metric).percent and not of_few
      if number.n and is_rate and np.isfinite([a, b]).all():
        yield metric, condition.config, a, b, number.n
