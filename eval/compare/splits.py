"""The mean over runs of the splits of one data set, as papers quote UCF101's.

Every split has its own run, perhaps of another network, trained on that split's
training videos. The mean is the plain mean of the splits' numbers. Its interval
comes from one draw of the groups of all splits: a video with clips in two
splits is drawn for both, other videos are independent. It covers the choice of
videos, not of the training.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from eval.cells import cell_facts, groups
from eval.cells.number import Key, Number
from eval.compare.boards import board
from eval.compare.sides import Side
from eval.metrics import definitions, replicates
from eval.metrics.replicates import Replicates
from eval.readers.base import Run
from eval.tables import csv_text, markdown, numbers
from eval.tasks.headlines import spread
from robust_tfds import errors
from robust_tfds.conditions import Condition
from robust_tfds.storage import disk

# Facts of the data in which splits of one set differ.
_OF_SPLITS = ("split", "ids", "labels", "groups", "examples", "decoders")
HEADER = (
  *("dataset", "model", "metric", "corruption", "level", "splits"),
  *("mean", "lo", "hi", "note"),
)


@dataclasses.dataclass(frozen=True)
class Mean:
  """The numbers of one model over splits.

  Attributes:
    dataset: its name.
    model: its label, or those of all runs if they differ.
    splits: names, in the order of the runs.
    lines: (key, one value per split, the mean).
    notes: notes, in sentences.
  """

  dataset: str
  model: str
  splits: Sequence[str]
  lines: Sequence[tuple[Key, Sequence[float], Number]]
  notes: Sequence[str]


def means(runs: Sequence[Run]) -> list[Mean]:
  """Return the means of every data set and label that all runs have.

  If no label is in all runs, and every run has one model, these models are
  averaged.

  Raises:
    UserError: fewer than two runs, equal splits, different data, or no
      predictions.
  """
  if len(runs) < 2:
    raise errors.UserError(
      f"--splits: the mean over splits needs two runs or more, got {len(runs)}."
    )
  names = groups.Names()
  sets = [d for d in runs[0].datasets if all(d in r.datasets for r in runs)]
  if not sets:
    raise errors.UserError(
      "--splits: the runs are of other data sets: "
      + "; ".join(f"{r.name}: {', '.join(r.datasets)}" for r in runs)
    )
  return [
    _mean([Side.of(r, d, of, names=names) for r, of in zip(runs, labels)])
    for d in sets
    for labels in _labels([run.labels(d) for run in runs])
  ]


def _labels(of_runs: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
  common = [x for x in of_runs[0] if all(x in listed for listed in of_runs)]
  if common:
    return [(label,) * len(of_runs) for label in common]
  if all(len(listed) == 1 for listed in of_runs):
    return [tuple(label for (label,) in of_runs)]
  raise errors.UserError(
    "--splits: no label is in all runs, which have "
    + "; ".join(", ".join(listed) for listed in of_runs)
    + ". Give the network one label in every run."
  )


def _mean(sides: Sequence[Side]) -> Mean:
  common = [c for c in sides[0].cells if all(c in s.cells for s in sides)]
  splits = _splits(sides, common)
  drawn = _numbers(sides, common)
  keys = [key for key in drawn[0] if all(key in of for of in drawn)]
  models = list(dict.fromkeys(side.model for side in sides))
  weights = {str(side.model_facts.weights) for side in sides}
  alone = sum(len(side.cells) - len(common) for side in sides)
  notes = [
    "Intervals are of draws of whole groups of all splits, at 95 %: of other"
    " videos, not of other trainings.",
    "One network for all splits."
    if len(weights) == 1
    else "A network a split, as their weights say.",
    *([f"{alone} cells are not in every run: left out."] * bool(alone)),
  ]
  return Mean(
    sides[0].dataset,
    ", ".join(models),
    splits,
    [line(key, [of[key] for of in drawn]) for key in keys],
    notes,
  )


def _splits(sides: Sequence[Side], common: Sequence[Condition]) -> list[str]:
  """Return the splits' names; refuse a duplicate split, and different data."""
  if not common:
    raise errors.UserError("--splits: the runs have no condition in common.")
  first, *others = data = [side.data(common) for side in sides]
  splits = [str(of.get("split") or "") for of in data]
  if "" in splits or len(set(splits)) < len(splits):
    told = ", ".join(f"{s.run.name}: {x or '?'}" for s, x in zip(sides, splits))
    raise errors.UserError(
      f"--splits: a run of every split is needed, each once; got {told}. Name"
      " them: --config.data.split=test_2."
    )
  for side, other in zip(sides[1:], others):
    differ = {
      name: values
      for name, values in cell_facts.differences(first, other).items()
      if name not in _OF_SPLITS
    }
    if differ:
      raise errors.UserError(
        f"--splits: {side.run.name} is of other data than {sides[0].run.name}: "
        + "; ".join(
          f"{name} {board.words_of(a)} and {board.words_of(b)}"
          for name, (a, b) in differ.items()
        )
      )
  return splits


def _numbers(
  sides: Sequence[Side], common: Sequence[Condition]
) -> list[Mapping[Key, Replicates]]:
  """Return the numbers over cells of every side, from the same draws."""
  totals = [{c: s.task.totals(s.columns(c)) for c in common} for s in sides]
  draws = spread.draws_of([of for cells in totals for of in cells.values()])
  if draws is None:
    raise errors.UserError(
      f"--splits: {sides[0].task.facts.task} has no numbers that are means over"
      " examples: the mean over splits is of classifications."
    )
  return [
    side.task.over_cells(spread.of_cells(cells, draws))
    for side, cells in zip(sides, totals)
  ]


def line(
  key: Key, of_splits: Sequence[Replicates]
) -> tuple[Key, Sequence[float], Number]:
  """Return a number of every split, from the same draws: key, values, their
  mean.
  """
  mean = replicates.combine(
    lambda *of: np.mean(of, axis=0), *of_splits, disjoint=True
  )
  bounds = definitions.any_task_metric(key[0]).bounds
  values = [float(of.value) for of in of_splits]
  return key, values, spread.number(mean, bounds)


def write(listed: Sequence[Mean], folder: epath.Path) -> str:
  """Write splits.csv and splits.md; gives the Markdown."""
  rows = [
    [
      *(of.dataset, of.model, *key),
      "; ".join(f"{s}={v:.9g}" for s, v in zip(of.splits, values)),
      *(mean.value, mean.lo, mean.hi, mean.note),
    ]
    for of in listed
    for key, values, mean in of.lines
  ]
  text = "\n".join(part for of in listed for part in _of_one(of))
  with disk.writing(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "splits.csv").write_text(csv_text.text(HEADER, rows), "utf-8")
    (folder / "splits.md").write_text(text, "utf-8")
  return text


def _of_one(of: Mean) -> list[str]:
  heads = ["number", *map(markdown.escape, of.splits), "mean (95 %)"]
  title = markdown.escape(f"{of.model}, {of.dataset}: mean over splits")
  notes = [f"- {markdown.escape(note)}" for note in of.notes]
  shown = [_cells(*line) for line in of.lines]
  return [f"# {title}\n", markdown.table(heads, shown, "lr"), "", *notes, ""]


def _cells(key: Key, values: Sequence[float], mean: Number) -> list[str]:
  text = functools.partial(numbers.plain, definitions.any_task_metric(key[0]))
  ends = mean.or_nan, mean.lo, mean.hi, numbers.WORDS
  return [
    markdown.escape(_words(key)),
    *map(text, values),
    numbers.interval_text(text, *ends),
  ]


def _words(key: Key) -> str:
  return " ".join(str(part).replace("_", " ") for part in key if part)
