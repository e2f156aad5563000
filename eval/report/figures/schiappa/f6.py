"""Figure 6: from scratch against pretrained, by kind of perturbation."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from eval.cells.number import Key, Number
from eval.charts import bars
from eval.metrics import definitions, replicates
from eval.metrics.replicates import Replicates
from eval.papers import derived, doubt
from eval.report.figures import base
from eval.report.figures.parts import gammas, own, printed, sheet
from eval.tasks.headlines import spread
from robust_tfds import conditions, errors
from robust_tfds.charts import style
from robust_tfds.charts.frame import ABOVE, Frame

_MEASURE = "gamma_r"
_SCRATCH, _PRETRAINED = "scratch", "kinetics400"
_TRAININGS = ((_SCRATCH, "from scratch"), (_PRETRAINED, "pretrained"))
_SETS = ("ucf101_p", "hmdb51_p")
_COLUMNS = (
  *("dataset", "network", "training", "kind", "measure"),
  *(sheet.Column("mean"), sheet.Column("lo"), sheet.Column("hi"), "source"),
)
_WORDS = "the paper prints no numbers: these are means of the printed lines"
_OWN = (
  "own runs: means over all perturbations of a kind; intervals are of draws of"
  " source videos"
)
# How `trained_on` says that other data came first.
_FIRST = re.compile(r"kinetics|imagenet|pre-?train|fine-?tun|, then ", re.I)

_Place = tuple[str, str, str]  # data set, network, training
_Bars = dict[_Place, dict[tuple[str, str], Number]]  # (kind, measure) -> mean


class Figure6(base.PaperFigure):
  """Means over spatial, spatio-temporal and temporal perturbations."""

  @property
  def printed_sets(self) -> Collection[str]:
    return _SETS

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.from_boards(self.boards(request))
    ours, sources, silent = _run_bars(models, request)
    theirs = _printed_bars() if request.printed else {}
    every = {**theirs, **ours}
    tables = {d: printed.source_of(gammas.printed_rows(d)) for d in _SETS}
    rows: list[list[sheet.Cell]] = [
      [*place, *key, n.value, n.lo, n.hi]
      + [sources.get(place) or f"mean of lines of {tables[place[0]]}"]
      for place, means in every.items()
      for key, n in means.items()
    ]
    if not every:
      raise errors.UserError(f"{self.name}: {' '.join(silent)}")
    foot = [
      *([*tables.values(), _WORDS, *_doubts()] if theirs else []),
      *([_OWN, f"own runs: {own.runs(models)}"] if ours else []),
      *silent,
      own.comparability(models, *_SETS) if request.printed else "",
    ]
    return base.Drawn(_figure(every), foot, sheet.Sheet(_COLUMNS, rows))


def _figure(every: _Bars) -> style.Figure:
  """Draw a row of panels per data set, a panel per kind, bars per network."""
  networks = list(dict.fromkeys(network for _, network, _ in every))
  sets = list(dict.fromkeys(dataset for dataset, _, _ in every))
  kinds = list(derived.FIGURE_6)

  def value(
    dataset: str, network: str, training: str, kind: str
  ) -> style.Value:
    means = every.get((dataset, network, training), {})
    number = means.get((kind, _MEASURE), Number(None))
    return style.Value(number.or_nan, number.lo, number.hi)

  panels = [
    bars.Panel(
      [
        bars.Series(words, [value(d, n, t, kind) for n in networks])
        for t, words in _TRAININGS
      ],
      title=f"{gammas.NAMES.get(d, d)}, {kind}",
    )
    for d in sets
    for kind in kinds
  ]
  frame = Frame(
    *(10, 1 + 2.0 * len(sets), len(kinds)),
    y="gamma_r",
    legend=ABOVE,
    share="y",
  )
  return bars.draw(panels, bars.Groups(networks), frame)


def _printed_bars() -> _Bars:
  """Return the means of Tables 6 and 7; doubtful ones are marked."""
  out: _Bars = {}
  for dataset in _SETS:
    rows = [r for r in gammas.printed_rows(dataset) if r.marked and r.name]
    marked = {(r.label, derived.figure_group(r.name), r.metric) for r in rows}
    for label, measures in derived.groups(derived.TABLES[dataset]).items():
      network, _, training = label.partition(", ")
      out[dataset, network, training] = {
        (kind, measure): Number(
          sheet.Marked(v) if (label, kind, measure) in marked else v
        )
        for measure, of_kind in measures.items()
        for kind, v in of_kind.items()
      }
  return out


def _doubts() -> list[str]:
  return [
    words
    for dataset in _SETS
    for words in (
      doubt.sentences(
        r for r in gammas.printed_rows(dataset) if r.marked and r.name
      ),
      derived.contradictions(dataset),
    )
  ]


def _run_bars(
  models: Sequence[own.Own], request: base.Request
) -> tuple[_Bars, dict[_Place, str], list[str]]:
  """Return the bars of runs, their sources, and sentences on runs left out."""
  draws = {
    (s.side.run.name, s.side.dataset, s.side.model): s.draws
    for s in request.scored
  }
  out: _Bars = {}
  sources: dict[_Place, str] = {}
  silent: list[str] = []
  for model in models:
    entry, dataset = model.entry, model.board.dataset
    drawn = draws.get((entry.run, dataset, entry.model), {})
    training, means = _training(model), _means(model, drawn)
    if not training:
      silent.append(
        f"It is unknown whether {model.label} was trained from scratch: set"
        " config.model.trained_on in the run, e.g. to 'from scratch'."
      )
    elif not means:
      silent.append(f"{model.label} has no kind of perturbations whole.")
    else:
      name = entry.model_facts.get("name") or entry.model
      taken = (dataset, name, training) in out
      place = dataset, model.label if taken else name, training
      out[place], sources[place] = means, model.source
  return out, sources, silent


def _means(
  model: own.Own, drawn: Mapping[Key, Replicates]
) -> dict[tuple[str, str], Number]:
  return {
    (kind, measure): number
    for kind in derived.FIGURE_6
    for measure in derived.MEASURES
    if (number := _mean(model, drawn, kind, measure))
  }


def _training(model: own.Own) -> str:
  """Return `_SCRATCH`, `_PRETRAINED`, or '' if the facts do not say."""
  words = model.entry.model_facts.get("trained_on") or ""
  if _FIRST.search(words):
    return _PRETRAINED
  tested = _letters(model.board.dataset.removesuffix("_p"))
  alone = tested in _letters(words) or "scratch" in words
  return _SCRATCH if alone else ""


def _letters(words: str) -> str:
  return "".join(filter(str.isalnum, words.casefold()))


def _mean(
  model: own.Own, drawn: Mapping[Key, Replicates], kind: str, measure: str
) -> Number | None:
  """Return the mean over a kind's perturbations; None if one is missing."""
  keys = [(measure, name, None) for name in _members(kind)]
  if all(key in drawn for key in keys):
    numbers = [drawn[key] for key in keys]
    mean = replicates.combine(lambda *each: np.mean(each, axis=0), *numbers)
    return spread.number(mean, definitions.any_task_metric(measure).bounds)
  values = [model.value(*key) for key in keys]
  there = [v for v in values if v is not None]
  return Number(math.fsum(there) / len(there)) if None not in values else None


def _members(kind: str) -> Iterable[str]:
  return (
    row.name
    for row in conditions.VIDEOS.rows
    if row.set == "common" and row.group in derived.FIGURE_6[kind]
  )
