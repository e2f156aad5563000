"""Effective robustness of a board's models, on logit axes, for every task.

x is a model's performance on clean data, y under corruption, both as accuracies
(`AXES`); the line is fitted to a reference: the authors' testbed, the printed
networks of the data set, or the models of the runs. A model's number is what its y
has above the line (`eval/metrics/trend.py`); its interval is of its
own draws, the line is taken as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from robust_tfds import errors
from robust_tfds.eval import papers
from robust_tfds.eval.cells.number import Key, Number
from robust_tfds.eval.compare.boards import board as board_lib
from robust_tfds.eval.compare.boards.board import Board, Entry
from robust_tfds.eval.metrics import (
  corruption_error,
  definitions,
  replicates,
  trend,
)
from robust_tfds.eval.papers import derived
from robust_tfds.eval.report.tables import numbers as numbers_lib

METRIC = definitions.metric("", "effective_robustness_logit")
TESTBED, PRINTED, RUNS = REFERENCES = ("testbed", "printed", "runs")
_FEWEST = 3  # models of a line with an interval

Points = Mapping[str, tuple[float, float]]
Draws = Mapping[str, Mapping[Key, replicates.Replicates]]


@dataclasses.dataclass(frozen=True)
class Axes:
  """A task's two performances, and how they follow from its numbers.

  Attributes:
    metrics: over the benchmark, that both follow from.
    of: arrays of these -> (x, y), accuracies.
    x: in words.
    y: in words.
  """

  metrics: tuple[str, str]
  of: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
  x: str
  y: str


def _errors(clean: np.ndarray, corrupted: np.ndarray) -> tuple:
  return 1 - clean, 1 - corrupted


def _as_they_are(clean: np.ndarray, corrupted: np.ndarray) -> tuple:
  return clean, corrupted


def _relative(clean: np.ndarray, gamma_r: np.ndarray) -> tuple:
  return clean, clean * gamma_r


AXES: Mapping[str, Axes] = {
  "classification": Axes(
    ("clean_error", "mean_corruption_error"),
    _errors,
    "1 - clean error",
    "1 - mean error under corruption",
  ),
  "sequences": Axes(
    ("clean_error", "mean_flip_probability"),
    _errors,
    "1 - clean error",
    "1 - mean flip probability",
  ),
  "detection": Axes(("p", "mpc"), _as_they_are, "P: clean AP", "mPC: mean AP"),
  "video": Axes(
    ("clean_accuracy", "gamma_r"),
    _relative,
    "clean accuracy",
    "mean accuracy under perturbation",
  ),
  "frames": Axes(
    ("acc_orig", "acc_pmk"),
    _as_they_are,
    "accuracy on anchors, pm-0",
    "accuracy on worst frames, pm-10",
  ),
}


# Task -> the printed normalised metric, and AlexNet's numbers that it is times.
_NORMALISED = {
  "classification": ("ce", "errors"),
  "sequences": ("fr", "flip_probability"),
}


@dataclasses.dataclass(frozen=True)
class Reference:
  """Models that a line is fitted to.

  Attributes:
    name: `testbed`, `printed` or `runs`.
    words: which models they are, with their source.
    points: label -> (x, y).
    line: over them.
  """

  name: str
  words: str
  points: Points
  line: trend.Trend

  @property
  def described(self) -> str:
    """The models and their line, in words."""
    line = self.line
    slope = numbers_lib.with_ends(
      numbers_lib.decimals,
      line.slope,
      *line.slope_interval,
      numbers_lib.BRACKETS,
    )
    return f"{self.words}: slope of logits {slope}, R2 {line.r_squared:.2f}"


def add(board: Board, draws: Draws | None = None, name: str = "") -> Board:
  """The board with a column of it; where no reference has a line, without.

  Of a reference that was asked for by name a note says why it has none.

  Args:
    board: any.
    draws: key of an entry -> its numbers' draws, for intervals.
    name: of the reference; empty: the first of `REFERENCES` with a line.
  """
  try:
    listed = numbers(board, reference(board, name), draws)
  except errors.UserError as e:
    if not name:
      return board
    return dataclasses.replace(board, notes=[*board.notes, str(e)])
  entries = [
    dataclasses.replace(
      e, numbers={**e.numbers, (METRIC.name, "", None): listed[e.key]}
    )
    if e.key in listed
    else e
    for e in board.entries
  ]
  headlines = (*board.facts.headlines, METRIC)
  facts = dataclasses.replace(board.facts, headlines=headlines)
  return dataclasses.replace(board, facts=facts, entries=entries)


def numbers(
  board: Board, line: Reference, draws: Draws | None = None
) -> dict[str, Number]:
  """Key of an entry -> its effective robustness.

  Args:
    board: any.
    line: of `reference`.
    draws: key of an entry -> its numbers' draws; entries without have no
      interval.
  """
  out = {}
  for entry in board.entries:
    point = of_entry(board, entry)
    if point:
      of = (draws or {}).get(entry.key, {})
      out[entry.key] = _number(AXES[board.task], point, line, of)
  return out


def reference(board: Board, name: str = "") -> Reference:
  """The models that a board's line is fitted to.

  Of runs every set of weights once, and none that was trained on test conditions.

  Args:
    board: any.
    name: of the reference; empty: the first of `REFERENCES` with a line.

  Raises:
    UserError: an unknown name; fewer than three models, all alike, or with an
      accuracy of 0 or 1.
  """
  points: dict[str, tuple[float, float]] = {}
  weights = set()
  for entry in board.runs:
    point, mark = (
      of_entry(board, entry),
      entry.model_facts.get("weights") or entry.key,
    )
    if point and entry.state != board_lib.SEEN and mark not in weights:
      weights.add(mark)
      points[entry.label] = point
  return fitted(board.task, board.dataset, name, points)


def fitted(
  task: str, dataset: str, name: str = "", of_runs: Points | None = None
) -> Reference:
  """As `reference`, without a board.

  Args:
    task: its name.
    dataset: its name.
    name: of the reference; empty: the first of `REFERENCES` with a line.
    of_runs: label -> (x, y) of the models of runs.

  Raises:
    UserError: as `reference`.
  """
  if name and name not in REFERENCES:
    raise errors.unknown("reference", name, REFERENCES)
  reasons = []
  for one in [name] if name else REFERENCES:
    try:
      return _fitted(task, dataset, one, of_runs or {})
    except errors.UserError as e:
      reasons.append(f"{one}: {e}")
  raise errors.UserError(
    f"Effective robustness on {dataset} has no line to be above:"
    f" {' '.join(reasons)}"
  )


def of_entry(board: Board, entry: Entry) -> tuple[float, float] | None:
  """(x, y) of a model; None where it lacks one of the numbers."""
  values = [
    number.value if (number := entry.number(metric)) else None
    for metric in AXES[board.task].metrics
  ]
  if None in values:
    return None
  x, y = AXES[board.task].of(*np.array(values, np.float64))
  return float(x), float(y)


def printed_points(task: str, dataset: str) -> dict[str, tuple[float, float]]:
  """Label -> (x, y) of the printed networks of a data set.

  Of ImageNet-C and -P the plain means follow from the printed CE and FR times
  AlexNet's errors; of videos the clean accuracy is the one that their lines
  imply (`papers/derived.py`), and gamma_r the mean of the printed groups.
  """
  if task == "video":
    return _videos(dataset)
  if task not in _NORMALISED:
    as_printed = papers.networks(dataset, *AXES[task].metrics)
    return {label: (x, y) for label, (x, y) in as_printed.items()}
  networks = papers.printed_networks(dataset)
  points = {n.label: _plain(n, *_NORMALISED[task]) for n in networks}
  return {label: point for label, point in points.items() if point}


def _fitted(task: str, dataset: str, name: str, of_runs: Points) -> Reference:
  if name == TESTBED:
    points: Points = papers.testbed(dataset) if task == "frames" else {}
    words = f"the authors' testbed of {len(points)} models"
  elif name == PRINTED:
    points = printed_points(task, dataset)
    words = f"{len(points)} printed networks ({papers.source(dataset)})"
  else:
    points = of_runs
    words = f"the {len(points)} models of the runs, each one among them"
  if len(points) < _FEWEST:
    raise errors.UserError(f"{len(points)} of at least {_FEWEST} models.")
  line = trend.fit(*zip(*points.values()), logits=True)
  return Reference(name, words, points, line)


def _number(
  axes: Axes,
  point: tuple[float, float],
  line: Reference,
  draws: Mapping[Key, replicates.Replicates],
) -> Number:
  x, y = point
  if not 0 < x < 1:
    return Number(
      None, note=f"undefined: {axes.x} is {x:g}, its logit infinite"
    )

  def above(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return line.line.above(*axes.of(first, second))

  value = float(y - line.line.at(x))
  note = f"above the line of {line.described}"
  first, second = (_draws(draws, metric) for metric in axes.metrics)
  if first is None or second is None:
    return Number(value, note=note)
  try:
    lo, hi = replicates.combine(above, first, second).interval()
  except errors.UserError:
    apart = f"{note}; no interval: its two numbers were not drawn together"
    return Number(value, note=apart)
  if not (np.isfinite(lo) and np.isfinite(hi)):
    return Number(value, note=note)
  return Number(value, float(lo), float(hi), note=note)


def _draws(
  draws: Mapping[Key, replicates.Replicates], metric: str
) -> replicates.Replicates | None:
  """Of the whole benchmark; of sequences it is that of the first difficulty.

  A video's clean accuracy A is drawn in its gammas alone: gamma_a = 1 - A + M and
  gamma_r = M / A with one mean M, so A = (1 - gamma_a) / (1 - gamma_r).
  """
  of = board_lib.of_key(draws, metric)
  gammas = [board_lib.of_key(draws, m) for m in ("gamma_a", "gamma_r")]
  if of or metric != "clean_accuracy" or None in gammas:
    return of
  return replicates.combine(
    lambda a, r: (1 - a) / (1 - r), *(g for g in gammas if g)
  )


def _plain(
  network: papers.PrintedNetwork, metric: str, of_alexnet: str
) -> tuple[float, float] | None:
  """1 - clean error, and 1 - the mean error that normalised ones stand for."""
  clean = network.numbers.get(("clean_error", ""))
  alexnet = corruption_error.load_baseline("alexnet")[of_alexnet]
  ratios = {n: r.value for (m, n), r in network.numbers.items() if m == metric}
  named = {n: v for n, v in ratios.items() if n in alexnet}
  if clean is None or not named:
    return None
  means = [value * np.mean(alexnet[name]) for name, value in named.items()]
  return 1 - clean.value, 1 - float(np.mean(means))


def _videos(dataset: str) -> dict[str, tuple[float, float]]:
  clean = {
    c.label: c.value for c in derived.clean_accuracies() if c.dataset == dataset
  }
  out = {}
  for network in papers.printed_networks(dataset):
    groups = [
      row.value
      for (metric, _), row in network.numbers.items()
      if metric.startswith("gamma_r/")
    ]
    if network.label in clean and groups:
      x = clean[network.label]
      out[network.label] = x, x * float(np.mean(groups))
  return out
