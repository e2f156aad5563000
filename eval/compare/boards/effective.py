"""Effective robustness of a board's models, on logit axes, for every task.

x is a model's performance on clean data, y under corruption, both as accuracies
(`AXES`); a model's number is the distance of its y above a line
(`eval/metrics/trend.py`). The line is fitted to a reference. Taori et al. 2020
fit theirs to the standard models of their testbed: `standard`. `testbed` is the
whole testbed, `printed` the printed networks of the data set, `runs` the models
of the runs.

An interval is over examples. If the line is fitted to models of runs, they are
drawn with the model and the line is fitted in every draw; the interval then
also contains the draws' percentiles. Every other line is held fixed, and the
note states its own uncertainty, treating its models as independent.
"""

import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from eval import papers
from eval.cells.number import Key, Number
from eval.compare import boards
from eval.compare.boards import board as board_lib
from eval.compare.boards.board import Board, Entry
from eval.metrics import (
  corruption_error,
  definitions,
  replicates,
  trend,
)
from eval.papers import derived, testbed_kinds
from eval.tables import numbers as numbers_lib
from eval.tasks.headlines import spread
from robust_tfds import conditions, errors

METRIC = definitions.metric("", "effective_robustness_logit")
REFERENCES = boards.REFERENCES
STANDARD, TESTBED, PRINTED, RUNS = REFERENCES
_FEWEST = 3  # models of a line
# Models of a line with a band: of three, Student's t alone is 12.7, of four 4.3.
FEWEST_OF_BAND = 5

Points = Mapping[str, tuple[float, float]]
Draws = Mapping[str, Mapping[Key, replicates.Replicates]]


@dataclasses.dataclass(frozen=True)
class Axes:
  """The two performances of a task, and how they follow from its numbers.

  Attributes:
    metrics: numbers over the benchmark that both follow from.
    accuracies: arrays of these -> (x, y), accuracies.
    x: description of x.
    y: description of y.
    normalised: the metric that papers print instead, and the numbers of AlexNet
      to multiply it by; none if they print `metrics`.
    follows: how (x, y) of printed networks follow, if they are not printed.
  """

  metrics: tuple[str, str]
  accuracies: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
  x: str
  y: str
  normalised: tuple[str, ...] = ()
  follows: str = ""


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
    ("ce", "errors"),
    "means from printed CE times AlexNet's errors",
  ),
  "sequences": Axes(
    ("clean_error", "mean_flip_probability"),
    _errors,
    "1 - clean error",
    "1 - mean flip probability",
    ("fr", "flip_probability"),
    "means from printed FR times AlexNet's rates",
  ),
  "detection": Axes(("p", "mpc"), _as_they_are, "P: clean AP", "mPC: mean AP"),
  "segmentation": Axes(
    ("clean_miou", "mean_miou"),
    _as_they_are,
    "clean mIoU",
    "mean mIoU under corruption",
  ),
  "frame_detection": Axes(
    ("map_orig", "map_pmk"),
    _as_they_are,
    "mAP on anchors, pm-0",
    "mAP on worst frames, pm-10",
  ),
  "video": Axes(
    ("clean_accuracy", "gamma_r"),
    _relative,
    "clean accuracy",
    "mean accuracy under perturbation",
    follows="x implied by printed gamma_a and gamma_r, not printed; y = x gamma_r",
  ),
  "frames": Axes(
    ("acc_orig", "acc_pmk"),
    _as_they_are,
    "accuracy on anchors, pm-0",
    "accuracy on worst frames, pm-10",
  ),
  "subtypes": Axes(
    ("seen_subtype_accuracy", "unseen_subtype_accuracy"),
    _as_they_are,
    "accuracy on seen subtypes",
    "accuracy on unseen subtypes",
  ),
}
_GROUPS = "gamma_r/"  # metrics of a group's mean


@dataclasses.dataclass(frozen=True)
class Reference:
  """The models that a line is fitted to.

  Attributes:
    name: one of `REFERENCES`.
    words: a description of the models, with their source.
    points: label -> (x, y).
    line: the fitted line.
    keys: keys of the entries of runs that it is fitted to, else none.
  """

  name: str
  words: str
  points: Points
  line: trend.Trend
  keys: Sequence[str] = ()

  @property
  def banded(self) -> bool:
    """Whether there are enough models for a meaningful band."""
    return self.line.n >= FEWEST_OF_BAND

  @property
  def described(self) -> str:
    """The models and their line, in words."""
    line = self.line
    lo, hi = line.slope_interval if self.banded else (None, None)
    slope = numbers_lib.interval_text(
      numbers_lib.decimals, line.slope, lo, hi, numbers_lib.BRACKETS
    )
    return f"{self.words}: slope of logits {slope}, R2 {line.r_squared:.2f}"

  def beyond(self, x: float) -> str:
    """Return a note if x lies outside the range of the line's models; else ''."""
    places = [first for first, _ in self.points.values()]
    if min(places) <= x <= max(places):
      return ""
    ends = f"{100 * min(places):.1f} and {100 * max(places):.1f} %"
    return f"; extrapolated: the models of the line lie between {ends}"

  def fixed(self, x: float) -> str:
    """Return a note on what an interval with a fixed line leaves out."""
    if not self.banded:
      return (
        f"; interval: the line is held fixed, of {self.line.n} models alone"
      )
    at = self.line.predict(x)
    lo, hi = (100 * float(end - at) for end in self.line.band(x))
    return (
      "; interval: the line is held fixed; over models, as if independent, its"
      f" own 95 % here are {lo:+.1f} to {hi:+.1f} points"
    )


def add(board: Board, draws: Draws | None = None, name: str = "") -> Board:
  """Return the board with a column of effective robustness, if a reference has a line.

  If a reference that was requested by name has none, a note says why.

  Args:
    draws: key of an entry -> its numbers' draws, for intervals.
    name: name of the reference; empty: the first of `REFERENCES` with a line.
  """
  if board.task not in AXES:  # its two numbers are not defined
    return board
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
  """Return the effective robustness by key of an entry.

  Args:
    line: the result of `reference`.
    draws: key of an entry -> its numbers' draws; entries without have no
      interval.
  """
  out = {}
  for entry in board.entries:
    point = entry_point(board, entry)
    if point:
      out[entry.key] = _number(AXES[board.task], point, line, entry.key, draws)
  return out


def reference(board: Board, name: str = "") -> Reference:
  """Return the models that a board's line is fitted to.

  Each set of weights of the runs counts once, unless trained on test
  conditions. Printed models count only if the board's runs have their data.

  Args:
    name: name of the reference; empty: the first of `REFERENCES` with a line.

  Raises:
    UserError: an unknown name; fewer than three models, all equal, or with an
      accuracy of 0 or 1; printed models of other data.
  """
  points: dict[str, tuple[float, float]] = {}
  keys: list[str] = []
  weights = set()
  for entry in board.runs:
    point = entry_point(board, entry)
    mark = entry.weights or entry.key
    if point and entry.state != board_lib.SEEN and mark not in weights:
      weights.add(mark)
      points[entry.label] = point
      keys.append(entry.key)
  line = fitted(board.task, board.dataset, name, points, _other_data(board))
  return dataclasses.replace(line, keys=keys) if line.name == RUNS else line


def _other_data(board: Board) -> str:
  """Return why no run of a board can be compared with printed models, in words."""
  if papers.protocol(board.dataset) is None:
    return ""
  differ: dict[str, tuple] = {}
  for entry in board.runs:
    differ |= papers.other_data(board.dataset, entry.data)
  listed = ", ".join(
    f"{name} {board_lib.words_of(theirs)}, here {board_lib.words_of(ours)}"
    for name, (theirs, ours) in differ.items()
  )
  return f"measured on other data than these runs: {listed}." if listed else ""


def fitted(
  task: str,
  dataset: str,
  name: str = "",
  of_runs: Points | None = None,
  other_data: str = "",
) -> Reference:
  """Return the models of a line without a board, see `reference`.

  Args:
    name: name of the reference; empty: the first of `REFERENCES` with a line.
    of_runs: label -> (x, y) of the models of runs.
    other_data: why runs cannot be compared with printed models; empty: they
      can.

  Raises:
    UserError: see `reference`.
  """
  if name and name not in REFERENCES:
    raise errors.unknown_error("reference", name, REFERENCES)
  reasons = []
  for one in [name] if name else REFERENCES:
    if other_data and one != RUNS:
      reasons.append(f"{one}: {other_data}")
      continue
    try:
      return _fitted(task, dataset, one, of_runs or {})
    except errors.UserError as e:
      reasons.append(f"{one}: {e}")
  raise errors.UserError(
    f"Effective robustness on {dataset} has no line to be measured from:"
    f" {' '.join(reasons)}"
  )


def entry_point(board: Board, entry: Entry) -> tuple[float, float] | None:
  """Return (x, y) of a model; None if one of the numbers is missing."""
  values = [
    number.value if (number := entry.number(metric)) else None
    for metric in AXES[board.task].metrics
  ]
  if None in values:
    return None
  x, y = AXES[board.task].accuracies(*np.array(values, np.float64))
  return float(x), float(y)


def printed_points(task: str, dataset: str) -> dict[str, tuple[float, float]]:
  """Return (x, y) of the printed networks of a data set by label.

  For ImageNet-C and -P the plain means are the printed CE and FR times
  AlexNet's errors; for videos the clean accuracy is the one that their lines
  imply (`papers/derived.py`), and gamma_r the mean of the printed groups.
  """
  if task == "video":
    return _videos(dataset)
  axes = AXES[task]
  if not axes.normalised:
    as_printed = papers.networks(dataset, *axes.metrics)
    return {label: (x, y) for label, (x, y) in as_printed.items()}
  networks = papers.printed_networks(dataset)
  points = {n.label: _plain(n, *axes.normalised) for n in networks}
  return {label: point for label, point in points.items() if point}


def _fitted(task: str, dataset: str, name: str, of_runs: Points) -> Reference:
  points, words = _reference(task, dataset, name, of_runs)
  if len(points) < _FEWEST:
    raise errors.UserError(f"{len(points)} of at least {_FEWEST} models.")
  line = trend.fit(*zip(*points.values()), logits=True)
  return Reference(name, words, points, line)


def _reference(
  task: str, dataset: str, name: str, of_runs: Points
) -> tuple[Points, str]:
  """Return the models of a reference, and a description of them."""
  if name in (STANDARD, TESTBED):
    kind = testbed_kinds.STANDARD if name == STANDARD else ""
    points: Points = papers.testbed(dataset, kind) if task == "frames" else {}
    if kind:
      return points, f"the {len(points)} standard models of Taori et al. 2020"
    counts = collections.Counter(testbed_kinds.kinds()[n] for n in points)
    listed = ", ".join(f"{n} {k.replace('_', ' ')}" for k, n in counts.items())
    return (
      points,
      f"by the method of Taori et al. 2020, on all their testbed ({listed})",
    )
  if name == PRINTED:
    points = printed_points(task, dataset)
    doubts = len(doubtful(task, dataset))
    how = filter(
      None,
      (
        papers.source(dataset),
        AXES[task].follows,
        f"doubtful: numbers of {doubts}" if doubts else "",
      ),
    )
    words = f"{len(points)} printed networks ({'; '.join(how)})"
  else:
    points = of_runs
    words = f"the {len(points)} models of the runs, each one among them"
  return points, f"by the method of Taori et al. 2020, fitted on {words}"


def _number(
  axes: Axes,
  point: tuple[float, float],
  line: Reference,
  key: str,
  draws: Draws | None,
) -> Number:
  x, y = point
  if not 0 < x < 1:
    return Number(
      None, note=f"undefined: {axes.x} is {x:g}, its logit infinite"
    )
  value = float(y - line.line.predict(x))
  note = f"above the line: {line.described}{line.beyond(x)}"
  own, others = _drawn(axes, line, key, draws or {})
  if not own:
    return Number(value, note=note)
  try:
    above = _above(axes, line, own, others)
  except errors.UserError:
    reason = f"{note}; no interval: its two numbers were not drawn together"
    return Number(value, note=reason)
  number = spread.number(above, METRIC.bounds, percentiles=bool(others))
  if number.interval is None:
    return Number(value, note=f"{note}; {number.note}")
  together = "; interval: the line is fitted to these models in every draw"
  note += together if others else line.fixed(x)
  return Number(value, number.lo, number.hi, note=note)


def _drawn(
  axes: Axes, line: Reference, key: str, draws: Draws
) -> tuple[list[replicates.Replicates], list[replicates.Replicates]]:
  """Return the replicates of an entry's two numbers, and of the line's models.

  Each list is empty if a number has no draws.
  """
  draws_by_key = []
  for keys in ((key,), line.keys):
    listed = [_draws(draws.get(k, {}), m) for k in keys for m in axes.metrics]
    draws_by_key.append([r for r in listed if r] if None not in listed else [])
  own, others = draws_by_key
  return own, others


def _above(
  axes: Axes,
  line: Reference,
  own: Sequence[replicates.Replicates],
  line_models: Sequence[replicates.Replicates],
) -> replicates.Replicates:
  """Return the distance above the line, which is fitted in every draw of the models."""

  def above_fixed_line(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return line.line.above(*axes.accuracies(first, second))

  def above_drawn_line(first: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    second, *reference = rest
    models = axes.accuracies(
      np.stack(reference[::2]), np.stack(reference[1::2])
    )
    return trend.above_lines(*axes.accuracies(first, second), *models)

  return replicates.combine(
    above_drawn_line if line_models else above_fixed_line, *own, *line_models
  )


def _draws(
  draws: Mapping[Key, replicates.Replicates], metric: str
) -> replicates.Replicates | None:
  """Return the draws of the whole benchmark; for sequences at the first difficulty.

  A video's clean accuracy A is only drawn in its gammas: gamma_a = 1 - A + M
  and gamma_r = M / A with one mean M, so A = (1 - gamma_a) / (1 - gamma_r).
  """
  number = board_lib.number_at(draws, metric)
  gammas = [board_lib.number_at(draws, m) for m in ("gamma_a", "gamma_r")]
  if number or metric != "clean_accuracy" or None in gammas:
    return number
  return replicates.combine(
    lambda a, r: (1 - a) / (1 - r), *(g for g in gammas if g)
  )


def _plain(
  network: papers.PrintedNetwork, metric: str, of_alexnet: str
) -> tuple[float, float] | None:
  """Return 1 - clean error, and 1 - the mean error, from normalised errors."""
  clean = network.numbers.get(("clean_error", ""))
  alexnet = corruption_error.load_baseline("alexnet")[of_alexnet]
  ratios = {n: r.value for (m, n), r in network.numbers.items() if m == metric}
  named = {n: v for n, v in ratios.items() if n in alexnet}
  if clean is None or not named:
    return None
  means = [value * np.mean(alexnet[name]) for name, value in named.items()]
  return 1 - clean.value, 1 - float(np.mean(means))


def doubtful(task: str, dataset: str) -> frozenset[str]:
  """Return the labels of printed networks whose (x, y) have a doubtful number."""
  axes = AXES[task]
  metrics = [*axes.metrics, *axes.normalised[:1]]
  if task == "video":
    metrics = [f"{_GROUPS}{g}" for g in conditions.VIDEOS.groups]
  contradictory = derived.contradictory(dataset)
  return papers.doubtful(dataset, *metrics).union(contradictory)


def _videos(dataset: str) -> dict[str, tuple[float, float]]:
  clean = {k: c.value for k, c in derived.dataset_accuracies(dataset).items()}
  out = {}
  for network in papers.printed_networks(dataset):
    groups = [
      row.value
      for (metric, _), row in network.numbers.items()
      if metric.startswith(_GROUPS)
    ]
    if network.label in clean and groups:
      x = clean[network.label]
      out[network.label] = x, x * float(np.mean(groups))
  return out
