"""Models on natural sets, compared with ImageNet's validation pictures.

The pictures are those of the set's classes. The drop is the accuracy on them minus
the accuracy on the natural set. Its interval
combines the intervals of the two rates: Zou and Donner 2008 (Statistics in
Medicine 27:1693), section 2. The rates are independent if the pictures differ.
ReaL's pictures are ImageNet's, so its rates are correlated: Zou 2007
(Psychological Methods 12:399), and for paired rates Newcombe 1998 (Statistics in
Medicine 17:2635), with a corrected phi. Effective robustness is a model's
distance above the line of all models of the runs (`boards/effective.py`).
"""

import collections
import dataclasses
import json
import math
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from eval.cells.number import Number
from eval.compare import scores
from eval.compare.boards import effective
from eval.compare.scores import Scored
from eval.readers.base import Run
from eval.tables import csv_text, markdown, numbers
from robust_tfds import conditions, errors, natural_sets
from robust_tfds.storage import disk

# Errors that are compared: on clean pictures, on corrupted ones.
_CLEAN = "clean_error"
_METRICS = (_CLEAN, "mean_corruption_error", "part_mean_corruption_error")
# Its clean pictures are the reference of sets with all classes.
_IMAGENET = "imagenet_c"
_SHARED_FACTS = ("geometry", "codec", "edition", "px")  # equal on both sides
_KEY_COLUMNS = ("set", "model", "error")
_NUMBERS = ("accuracy", "reference", "drop", "effective_robustness")
HEADER = (
  *_KEY_COLUMNS,
  *(f"{n}{end}" for n in _NUMBERS for end in ("", "_lo", "_hi")),
  "note",
)


@dataclasses.dataclass(frozen=True)
class Line:
  """The numbers of one model on a natural set.

  Attributes:
    key: the set, the model's label, and the error metric (accuracy is 1 - error).
    mark: identity of the model.
    numbers: in the order of `_NUMBERS`; a note says why a value or interval is
      missing.
  """

  key: tuple[str, str, str]
  mark: str
  numbers: tuple[Number, ...]

  @property
  def point(self) -> tuple[float, float]:
    """The accuracies on the reference and on the set."""
    return self.numbers[1].or_nan, self.numbers[0].or_nan

  @property
  def note(self) -> str:
    """The notes of all numbers."""
    return "; ".join(number.note for number in self.numbers if number.note)


def drop(reference: Number, natural: Number, correlation: float = 0) -> Number:
  """Return the difference of two rates, see the module.

  >>> ends = drop(Number(0.8, 0.7, 0.9), Number(0.5, 0.4, 0.6)).interval
  >>> [round(end, 3) for end in ends or ()]
  [0.159, 0.441]
  """
  a, b = reference.or_nan, natural.or_nan
  if reference.interval is None or natural.interval is None:
    return Number(a - b, note="no interval: a rate has none")
  (lo_a, hi_a), (lo_b, hi_b) = reference.interval, natural.interval

  def end(of_a: float, of_b: float) -> float:
    both = of_a**2 + of_b**2 - 2 * correlation * of_a * of_b
    return math.sqrt(max(both, 0))

  return Number(
    a - b, a - b - end(a - lo_a, hi_b - b), a - b + end(hi_a - a, b - lo_b)
  )


def correlation(
  reference: Mapping[str, float], natural: Mapping[str, float]
) -> float:
  """Return the correlation of the means of two samples; 0 if it is undefined.

  Args:
    reference: example -> share of right answers; examples may be in both samples.
    natural: the same for the natural set.
  """
  shared = [name for name in reference if name in natural]
  a = np.array([reference[name] for name in shared])
  b = np.array([natural[name] for name in shared])
  if len(shared) < 2 or not a.std() or not b.std():
    return 0.0
  overlap = len(shared) / math.sqrt(len(reference) * len(natural))
  return float(np.corrcoef(a, b)[0, 1]) * overlap


def _right(model: Scored, metric: str) -> dict[str, float]:
  """Return picture -> share of conditions under which the model is right."""
  side, common = model.side, conditions.PICTURES.names("common")
  shown = [
    c for c in side.cells if (c.clean if metric == _CLEAN else c.name in common)
  ]
  totals = [side.task.totals(side.columns(c))["error"] for c in shown]
  wrong = np.mean([of_cell.sums for of_cell in totals], axis=0)
  # The reference's ids have folders.
  names = [pathlib.PurePosixPath(i).name for i in totals[0].groups.ids.tolist()]
  return dict(zip(names, 1 - wrong, strict=True))


def lines(runs: Sequence[Run], references: Sequence[Run]) -> list[Line]:
  """Return a line for each model and each natural set of the runs.

  Args:
    runs: runs over natural sets.
    references: runs over `NAME/reference`, or ImageNet-C if all answers count.

  Raises:
    UserError: a run is over another set, a model has no reference, or the
      reference's facts of the data differ.
  """
  scored_references = scores.score_runs(references)
  out = [
    line
    for model in scores.score_runs(runs)
    for line in _model_lines(model, _reference(model, scored_references))
  ]
  points: dict[tuple, dict] = collections.defaultdict(dict)
  for line in out:
    points[line.key[0], line.key[2]][line.mark] = line.point
  return [_above(line, points[line.key[0], line.key[2]]) for line in out]


def _row(model: Scored) -> natural_sets.Row:
  row = natural_sets.row_of_set(model.side.dataset)
  if row is None:
    raise errors.UserError(
      f"{model.side.run.name}: {model.side.dataset} is no natural set, expected one"
      f" of {', '.join(natural_sets.rows())}."
    )
  return row


def _reference(model: Scored, references: Sequence[Scored]) -> Scored:
  """Return the run of the same model over the set's reference pictures."""
  row = _row(model)
  held = [f"{row.name}_{natural_sets.REFERENCE}"]
  held += [_IMAGENET] * (row.classes == natural_sets.ALL)
  for reference in references:
    if reference.side.dataset in held and _mark(reference) == _mark(model):
      _check_facts(model, reference)
      return reference
  raise errors.UserError(
    f"--reference: no run of {model.side.model}, the same model, over"
    f" {' or '.join(held)}: run it on {row.name}/{natural_sets.REFERENCE}, with"
    " ImageNet's validation pictures in manual_dir."
  )


def _mark(model: Scored) -> str:
  """Return the identity of a model; a function without a name has its label."""
  facts = model.entry.model_facts
  identity = (facts.get("weights"), facts.get("name") or model.side.model)
  return json.dumps([*identity, facts.get("source")], sort_keys=True)


def _check_facts(model: Scored, reference: Scored) -> None:
  for fact in _SHARED_FACTS:
    ours, theirs = (side.entry.data.get(fact) for side in (model, reference))
    if ours != theirs:
      raise errors.UserError(
        f"--reference: {fact} is {theirs} in {reference.side.run.name}, and {ours} in"
        f" {model.side.run.name}: the drop would mix both changes."
        f" Run one again with the other's {fact}."
      )


def _model_lines(model: Scored, reference: Scored) -> list[Line]:
  """Return a line for each error that both runs have over the same conditions."""
  out = []
  for metric in _METRICS:
    pair = [_accuracy(each.entry.number(metric)) for each in (model, reference)]
    same_cells = set(model.side.cells) == set(reference.side.cells)
    if None in pair or not (metric == _CLEAN or same_cells):
      continue
    natural, clean = (number for number in pair if number)
    correlated = 0.0
    if _row(model).several:  # the same pictures
      correlated = correlation(_right(reference, metric), _right(model, metric))
    difference = drop(clean, natural, correlated)
    place = (model.side.dataset, model.side.model, metric)
    out.append(Line(place, _mark(model), (natural, clean, difference)))
  return out


def _accuracy(error: Number | None) -> Number | None:
  """Return 1 - the error; None if there is none."""
  if error is None or error.value is None:
    return None
  lo, hi = error.interval or (math.nan, math.nan)
  return Number.from_floats(1 - error.value, 1 - hi, 1 - lo)


def _above(line: Line, points: Mapping[str, tuple[float, float]]) -> Line:
  """Add the effective robustness, or a note why the models have no fitted line."""
  try:
    fitted = effective.fitted(
      "classification", line.key[0], effective.RUNS, points
    )
    x, y = line.point
    value = float(y - fitted.line.predict(x))
    above = Number(value, note=f"above the line: {fitted.described}")
  except errors.UserError as e:
    above = Number(None, note=str(e))
  return dataclasses.replace(line, numbers=(*line.numbers, above))


def write(lines: Sequence[Line], folder: epath.Path) -> str:
  """Write natural.csv and natural.md; return the Markdown."""
  rows = [
    [*line.key, *(v for n in line.numbers for v in (n.value, n.lo, n.hi))]
    for line in lines
  ]
  shown = [
    [
      *map(markdown.escape, line.key),
      *(
        numbers.interval_text(
          numbers.percent, n.or_nan, n.lo, n.hi, numbers.WORDS
        )
        for n in line.numbers
      ),
    ]
    for line in lines
  ]
  notes = dict.fromkeys(line.note for line in lines if line.note)
  table = markdown.table((*_KEY_COLUMNS, *_NUMBERS), shown, "lllr")
  text = "\n\n".join([table, *map(markdown.escape, notes)]) + "\n"
  whole = [[*row, line.note] for row, line in zip(rows, lines, strict=True)]
  with disk.writing(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "natural.csv").write_text(csv_text.text(HEADER, whole), "utf-8")
    (folder / "natural.md").write_text(text, "utf-8")
  return text
