"""Numbers of models that adapt: beside the model itself, over seeds, over a stream.

`error_at_5` is the mean error over the common corruptions at severity 5, as
papers on adaptation print; `change_at_5` that of the adapting model less that of
the model itself, over the same pictures; `seeds_error_at_5` the mean over seeds.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from eval.cells import cell_facts, table
from eval.cells.cell import Cell, Summary
from eval.cells.number import Key
from eval.metrics import definitions, intervals, replicates
from eval.papers import adapted as papers
from eval.pipeline import streams
from eval.tasks.headlines import headlines, spread
from robust_tfds import conditions
from robust_tfds.conditions import Condition

ERROR, CHANGE, SEEDS = "error_at_5", "change_at_5", "seeds_error_at_5"
_LEVEL = 5
_BINS, _LEAST = 20, 25  # parts of a curve, pictures of a part
_TASK = "classification"
# By label.
Models = Mapping[str, headlines.ModelCells]
Facts = Mapping[str, cell_facts.ModelFacts]


@dataclasses.dataclass(frozen=True)
class Answers:
  """The data of a cell's curve, with rows in the order of their ids.

  Attributes:
    wrong: bool `[N]`.
    position: int `[N]`, places in the stream; None: the model does not adapt.
  """

  wrong: np.ndarray
  position: np.ndarray | None = None

  @classmethod
  def from_cell(
    cls, cell: Cell, columns: Mapping[str, np.ndarray]
  ) -> Answers | None:
    """Return the answers of a cell at severity 5; None of others."""
    needed = {"top5", "label"}
    if not cell.name or cell.level != _LEVEL or not needed <= columns.keys():
      return None
    wrong = columns["top5"][:, 0] != columns["label"]
    return cls(wrong, columns.get("position"))


@dataclasses.dataclass(frozen=True)
class Curve:
  """An error over a stream.

  Attributes:
    label: of the model.
    x: pictures that were seen before, at the middle of each part.
    errors: of each part.
    names: (x, name) of the conditions, where one follows the other.
  """

  label: str
  x: Sequence[float]
  errors: Sequence[float]
  names: Sequence[tuple[float, str]] = ()


def rows(cells: Sequence[Cell], models: Models) -> list[table.Row]:
  """Return the rows over cells of models that adapt, and of those beside them."""
  facts = _facts(cells)
  sources = _sources(facts)
  labels = [k for k in models if k in {*sources, *sources.values()}]
  errors = {label: _error(models[label]) for label in labels}
  known = {k: n for k, n in errors.items() if n is not None}
  out = [
    _row(models[k], ERROR, n, _printed(models[k], facts[k]))
    for k, n in known.items()
  ]
  for label, source in sources.items():
    if label in known and source in known:
      change = replicates.combine(np.subtract, known[label], known[source])
      note = f"less {source}, the same pictures"
      out.append(_row(models[label], CHANGE, change, note))
  return [*out, *_over_seeds(facts, models, known)]


def drawn(model: headlines.ModelCells) -> dict[Key, replicates.Replicates]:
  """Return the error at severity 5 with its draws, if every corruption is there."""
  number = _error(model) if is_whole(model.numbers) else None
  return {} if number is None else {(ERROR, "", None): number}


def _printed(model: headlines.ModelCells, facts: cell_facts.ModelFacts) -> str:
  """Return a text with the printed numbers of the same network and protocol."""
  adaptation = facts.adaptation
  if not adaptation or _part(model):
    return ""
  first = model.every_row[0]
  printed = papers.fitting(first.dataset, facts.name or "", adaptation, first.n)
  return "; ".join(
    f"printed {100 * p.mean:.1f} % of {p.network}: {p.source}" for p in printed
  )


def _facts(cells: Sequence[Cell]) -> Facts:
  """Return label of a model -> its facts, of those that have some."""
  return {c.model: c.model_facts for c in cells if c.model_facts}


def _sources(facts: Facts) -> dict[str, str]:
  """Return label of a model that adapts -> of the same that does not, or ''."""
  plain = {
    (f.weights, json.dumps(f.preprocessing)): k
    for k, f in facts.items()
    if not f.adaptation
  }
  return {
    k: plain.get((f.weights, json.dumps(f.preprocessing)), "")
    for k, f in facts.items()
    if f.adaptation
  }


def is_whole(listed: Iterable[Condition]) -> bool:
  """Return whether all corruptions of `error_at_5` are among some conditions."""
  return len(_hardest(listed)) == len(conditions.PICTURES.names("common"))


def _hardest(listed: Iterable[Condition]) -> list[Condition]:
  names = conditions.PICTURES.names("common")
  return [c for c in listed if c.name in names and c.level == _LEVEL]


def _error(model: headlines.ModelCells) -> replicates.Replicates | None:
  numbers = [model.numbers[c]["error"] for c in _hardest(model.numbers)]
  if not numbers:
    return None
  return replicates.combine(lambda *each: np.mean(each, axis=0), *numbers)


def _row(
  model: headlines.ModelCells,
  metric: str,
  number: replicates.Replicates,
  note: str = "",
) -> table.Row:
  summary = Summary.from_rows(model.every_row, model.baseline)
  bounds = definitions.metric(_TASK, metric).bounds
  found = spread.number(number, bounds)
  words = "; ".join(filter(None, (_part(model), note, found.note)))
  value = float(number.value)
  n = min(r.n or 0 for c in _hardest(model.numbers) for r in model.rows[c][:1])
  ends = (found.lo, found.hi)
  return summary.row("", metric, value, ends, n, note=words)


def _part(model: headlines.ModelCells) -> str:
  if is_whole(model.numbers):
    return ""
  whole = len(conditions.PICTURES.names("common"))
  return f"mean over {len(_hardest(model.numbers))} of {whole} corruptions"


def _over_seeds(
  facts: Facts,
  models: Models,
  errors: Mapping[str, replicates.Replicates],
) -> Iterator[table.Row]:
  """Yield the mean over seeds with its t interval, in the rows of the first."""
  groups: dict[str, list[str]] = {}
  for label, f in facts.items():
    if f.adaptation and label in errors:
      alike = {k: v for k, v in f.adaptation.items() if k != "seed"}
      key = json.dumps([f.weights, alike], sort_keys=True)
      groups.setdefault(key, []).append(label)
  for labels in groups.values():
    count = len(labels)
    if count < 2:
      continue
    values = [float(errors[label].value) for label in labels]
    lo, hi = intervals.over_runs(values)
    value, model = float(np.mean(values)), models[labels[0]]
    summary = Summary.from_rows(model.every_row, model.baseline)
    ends = max(lo, 0.0), min(hi, 1.0)
    note = f"mean over {count} seeds, t interval over seeds"
    words = "; ".join(filter(None, (_part(model), note)))
    yield summary.row("", SEEDS, value, ends, note=words)


def curves(
  cells: Sequence[Cell], answers: Mapping[Cell, Answers]
) -> list[Curve]:
  """Return the error over the stream at severity 5, of models that adapt first."""
  by_label: dict[str, dict[Condition, Answers]] = {}
  for cell in cells:
    if cell in answers:
      by_label.setdefault(cell.model, {})[cell.condition] = answers[cell]
  facts = _facts(cells)
  out: list[Curve] = []
  for label, source in _sources(facts).items():
    given, stream = by_label.get(label, {}), facts[label].adaptation or {}
    one_stream = stream["setting"] in streams.SEQUENTIAL
    order = stream.get("order")
    listed = streams.Stream(
      "continual", order if isinstance(order, int) else None
    ).domains(list(given))
    pairs = [(c, given[c].position) for c in listed]
    for name in (source, label):
      model_answers = by_label.get(name, {})
      whole = [
        (c, p, model_answers[c].wrong) for c, p in pairs if c in model_answers
      ]
      if whole and name not in [c.label for c in out]:
        out.append(_curve(name, whole, one_stream))
  return out


def _curve(
  label: str,
  parts: Sequence[tuple[Condition, np.ndarray | None, np.ndarray]],
  one_stream: bool,
) -> Curve:
  """Return one after the other, or their mean, in parts of the stream."""
  errors: list[list[float]] = []
  x: list[list[float]] = []
  names, before = [], 0
  for condition, position, wrong in parts:
    along = wrong[np.argsort(position)] if position is not None else wrong
    count = min(_BINS, max(len(along) // _LEAST, 1))
    cuts = np.array_split(along, 1 if one_stream else count)
    ends = np.cumsum([len(cut) for cut in cuts])
    errors.append([float(cut.mean()) for cut in cuts])
    x.append([before + e - len(c) / 2 for e, c in zip(ends, cuts)])
    names.append((x[-1][0], condition.name))
    before += len(along) * one_stream
  if one_stream:
    return Curve(label, sum(x, []), sum(errors, []), names)
  return Curve(label, x[0], np.mean(errors, axis=0).tolist())
