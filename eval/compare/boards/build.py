"""Building boards from scored models: which models can be compared.

Models are on one board, and ranked, only if all facts of their data agree, and
for a normalised task also the baseline. Seeds may differ: models are then
paired by example, and the board says so. Otherwise a data set has several
boards, whose titles say what differs. A model that is missing a condition of
the ranked number or was trained on a test condition is shown with the reason
and not ranked. Printed rows are ranked only if their protocol is the board's.
Nothing is ranked by a number without a known direction.
"""

import collections
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.cells import cell_facts, workdir
from eval.cells.facts import TaskFacts
from eval.cells.number import Key
from eval.compare import sides, slugs
from eval.compare.boards import board as board_lib
from eval.compare.boards import effective, printed, ranks
from eval.compare.boards.board import Board, Entry
from eval.compare.scores import Scored
from eval.metrics.definitions import Metric
from eval.metrics.replicates import Replicates
from eval.tasks.headlines import adapted
from robust_tfds.conditions import Condition

_HASHES = ("ids", "labels", "groups")  # facts that name no board


def boards(scored: Sequence[Scored], reference: str = "") -> list[Board]:
  """Return the boards of some runs' models.

  Args:
    scored: the results of `scores.score_run`, in the order of the runs.
    reference: reference of effective robustness, see `effective.REFERENCES`; empty:
      the first of them with a line.

  Returns:
    The boards by task, then by data set, in the order of first occurrence.
  """
  groups: dict[str, list[Scored]] = {}
  for one in scored:
    groups.setdefault(_comparable(one), []).append(one)
  names = slugs.Slugs()
  listed = sorted(groups.values(), key=lambda g: _position(scored, g[0]))
  out = []
  for group in listed:
    others = [one for g in listed if g is not group for one in g]
    out.append(_board(group, _differs(group[0], others), names, reference))
  return out


def _comparable(model: Scored) -> str:
  """Return a text that is equal for models that can be on one board."""
  adapted = _protocol(model)
  facts = [model.facts.task, model.entry.comparable, model.baseline, adapted]
  return json.dumps(facts, sort_keys=True)


def _protocol(model: Scored) -> dict[str, Any]:
  """Return how batches came to a model that adapts; {} of others."""
  facts = model.entry.model_facts.get("adaptation")
  return cell_facts.adaptation_protocol(facts)


def _position(scored: Sequence[Scored], model: Scored) -> tuple[int, ...]:
  tasks = list(dict.fromkeys(s.facts.task for s in scored))
  datasets = list(dict.fromkeys(s.side.dataset for s in scored))
  return tasks.index(model.facts.task), datasets.index(model.side.dataset)


def _differs(model: Scored, other_boards: Sequence[Scored]) -> dict[str, Any]:
  """Return the facts that other boards of the data set do not share."""
  same = [
    _facts(s)
    for s in other_boards
    if s.facts.task == model.facts.task and s.side.dataset == model.side.dataset
  ]
  mine = _facts(model)
  names = dict.fromkeys(name for facts in [mine, *same] for name in facts)
  # Settings that a task does not have are none, not unknown.
  return {
    name: mine.get(name, "")
    for name in names
    if any(other.get(name, "") != mine.get(name, "") for other in same)
  }


def _facts(model: Scored) -> dict[str, Any]:
  normalised = {"baseline": model.baseline} if model.facts.normalised else {}
  data = {
    k: v
    for k, v in model.entry.data.items()
    if k not in ("decoders", cell_facts.OWN)
  }
  return {**data, **normalised, **_protocol(model)}


def _board(
  group: Sequence[Scored],
  differs: Mapping[str, Any],
  names: slugs.Slugs,
  reference: str,
) -> Board:
  first = group[0]
  dataset = first.side.dataset
  key = names.unique(" ".join([dataset, *_short(differs)]))
  metric = _ranked_by(group)
  ranking = first.facts.metric(metric)
  labels = _labels(group)
  entries = [
    _entry(one.entry, label, metric, names) for one, label in zip(group, labels)
  ]
  draws = {e.key: one.draws for e, one in zip(entries, group)}
  printed_entries = printed.entries(first.entry.data, first.baseline, names)
  if first.side.task.whole_outputs or _protocol(first):
    printed_entries = []  # papers' boards have no custom metric, and do not adapt
  entries = _ranked(
    [*entries, *printed_entries],
    draws,
    ranking,
  )
  board = Board(
    key=key,
    title=_title(dataset, differs),
    facts=first.facts,
    family=first.side.task.family,
    dataset=dataset,
    data=first.entry.data,
    differs=differs,
    baseline=first.side.task.baseline if first.facts.normalised else "",
    ranked_by=metric if ranking.sign else "",
    conditions=_conditions(group),
    entries=entries,
    notes=_notes(group, entries, ranking),
  )
  return effective.add(board, draws, reference)


def _short(differs: Mapping[str, Any]) -> list[str]:
  """Return what distinguishes a board from the others, for its address."""
  return [str(v)[:16] for k, v in differs.items() if k not in _HASHES]


def _title(dataset: str, differs: Mapping[str, Any]) -> str:
  words = ", ".join(
    f"{name.replace('_', ' ')} {board_lib.words_of(value)}"
    for name, value in differs.items()
  )
  return f"{dataset}: {words}" if words else dataset


def _ranked_by(group: Sequence[Scored]) -> str:
  """Return the first of the task's ranked metrics that some model has completely.

  For models that adapt, the error at severity 5 is one of these metrics too.
  """
  further = (adapted.ERROR,) if _protocol(group[0]) else ()
  for name in (*group[0].facts.ranked, *further):
    if any(_value(one.entry, name) is not None for one in group):
      return name
  return ""


def _value(entry: Entry, metric: str) -> float | None:
  if metric == adapted.ERROR and not adapted.is_whole(entry.cells):
    return None
  number = entry.number(metric)
  return number.value if number else None


def _labels(group: Sequence[Scored]) -> list[str]:
  """Return the labels on a board, with the run's name if two runs share a label."""
  entries = [one.entry for one in group]
  count = collections.Counter(entry.model for entry in entries)
  return [
    e.model if count[e.model] == 1 else f"{e.model} ({e.run})" for e in entries
  ]


def _entry(entry: Entry, label: str, metric: str, names: slugs.Slugs) -> Entry:
  state, remark = _state(entry, metric)
  key = names.unique(f"{entry.data['dataset']} {label}")
  return dataclasses.replace(
    entry, key=key, label=label, state=state, remark=remark
  )


def _state(entry: Entry, metric: str) -> tuple[str, str]:
  seen = sides.seen_words(entry.model_facts, entry.cells)
  if seen:
    return board_lib.SEEN, f"trained on {seen}"
  if _value(entry, metric) is None:
    number = entry.number(metric)
    why = number.note if number else ""
    have = f"{len(entry.cells)} condition{'s' * (len(entry.cells) != 1)}"
    why = why or f"{have}, no {metric or 'mean'}"
    return board_lib.PARTIAL, why
  return board_lib.WHOLE, ""


def _ranked(
  entries: Sequence[Entry],
  draws: Mapping[str, Mapping[Key, Replicates]],
  metric: Metric,
) -> list[Entry]:
  """Return the ranked entries, best first, then the others in their order.

  Args:
    draws: key of an entry -> its numbers' draws.
    metric: the ranking metric; its direction is unknown if there is none.
  """
  fit = [e for e in entries if metric.sign and _is_fit(e, metric.name)]
  values = [_value(e, metric.name) or 0.0 for e in fit]
  ranges = _ranges(fit, values, draws, metric)
  out = [
    dataclasses.replace(entry, rank=rank, rank_range=open_ranks)
    for entry, rank, open_ranks in zip(
      fit, ranks.ranks(values, metric.sign), ranges
    )
  ]
  others = [e for e in entries if e not in fit]
  return sorted(out, key=lambda e: e.rank or 0) + others


def _is_fit(entry: Entry, metric: str) -> bool:
  """Return whether an entry can be ranked: a whole run, or a comparable printed row."""
  if entry.printed:
    return not entry.remark and _value(entry, metric) is not None
  return entry.state == board_lib.WHOLE


def _ranges(
  entries: Sequence[Entry],
  values: Sequence[float],
  draws: Mapping[str, Mapping[Key, Replicates]],
  metric: Metric,
) -> Sequence[tuple[int, int] | None]:
  """Return the rank ranges of all entries; none if some run's numbers have no draws.

  A printed number is a constant.
  """
  known = [
    board_lib.number_at(draws[e.key], metric.name)
    for e in entries
    if not e.printed
  ]
  whole = [d for d in known if d is not None]
  if not whole or len(whole) < len(known):
    return [None] * len(entries)
  runs = iter(whole)
  numbers = [
    whole[0].like(np.full_like(whole[0].joined, value))
    if entry.printed
    else next(runs)
    for entry, value in zip(entries, values)
  ]
  return ranks.ranges(numbers, metric.sign)


def _conditions(group: Sequence[Scored]) -> list[Condition]:
  listed = {c for one in group for c in one.entry.cells}
  return sorted(listed, key=workdir.sort_key)


def _notes(
  group: Sequence[Scored], entries: Sequence[Entry], metric: Metric
) -> list[str]:
  """Return the notes about the table, in sentences."""
  first, notes = group[0], []
  if metric.sign:
    notes.append(
      f"Ranked by {metric.heading}. A rank range holds the ranks that the paired"
      " differences leave open at 95 % over all pairs (Holm)."
    )
  elif metric.name:
    notes.append(
      f"Nothing is ranked by {metric.heading}: {metric.sense_words}."
    )
  if any(e.printed and e.rank for e in entries):
    notes.append("A printed number is taken as exact: papers print no draws.")
  notes += printed.doubts(entries)
  if len({e.seed for e in entries if not e.printed}) > 1:
    notes.append(
      "Seeds differ: the corruptions were drawn anew, and models are paired by"
      " example, not by draw."
    )
  notes += cell_facts.decoder_notes(
    (e.label, e.data.get("decoders")) for e in entries if not e.printed
  )
  notes += cell_facts.elsewhere_notes((e.label, e.model_facts) for e in entries)
  if len({str(f) for e in entries if (f := e.data.get(cell_facts.OWN))}) > 1:
    notes.append(
      "Some of the runs have different files of users' own corruptions, which"
      " enter no mean."
    )
  if first.facts.intervals:
    notes.append(first.facts.intervals)
  notes += _without_interval(entries, first.facts)
  missing = dict.fromkeys(
    n for e in entries if not e.printed for n in e.missing
  )
  if missing:
    notes.append(
      f"Not recorded by some of the runs, and unknown here: {', '.join(missing)}."
    )
  if first.facts.normalised and first.side.task.setting.baseline:
    drawn = first.side.task.setting.baseline.startswith("model:")
    how = (
      "was drawn together with the models"
      if drawn
      else "is a constant: its own error is not in the intervals"
    )
    notes.append(f"Normalised by {first.side.task.baseline}, which {how}.")
  return notes


def _without_interval(entries: Sequence[Entry], facts: TaskFacts) -> list[str]:
  """Return headlines that have a value and no interval, with the reason."""
  labels: dict[tuple[str, str], list[str]] = {}
  for entry in entries:
    for metric in facts.headlines:
      number = entry.number(metric.name)
      reasons = number.note.split("; ") if number else []
      for reason in reasons:
        if reason.startswith("no interval"):
          labels.setdefault((metric.heading, reason), []).append(entry.label)
  return [
    f"{heading} of {', '.join(models)}: {reason}."
    for (heading, reason), models in labels.items()
  ]
