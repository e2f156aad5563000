"""The comparison of models of two runs."""

from collections.abc import Sequence

from eval.cells import groups
from eval.cells.cell import RANDOM
from eval.compare import sides
from eval.compare.pairs import (
  answers,
  cell_tests,
  over_cells,
  pairing,
)
from eval.compare.pairs import baseline as baseline_lib
from eval.compare.pairs import lines as lines_lib
from eval.compare.pairs import numbers as numbers_lib
from eval.compare.pairs.lines import Comparison, Line
from eval.compare.sides import Side
from eval.readers.base import Run
from robust_tfds import errors

_OF_EXACT = (
  "If few examples or groups distinguish two models, an interval may exclude 0"
  " although the test does not decide; the verdict is the test's."
)
_OF_ANSWERS = (
  "Calibration and other metrics of answers: the clean cell, and means over"
  " cells; intervals are from the jackknife over blocks."
)


def runs(first: Run, second: Run, models: str = "") -> list[Comparison]:
  """Return all comparisons of two runs: by data set, then by pair of models.

  Args:
    second: the second run; perhaps the same.
    models: `A,B`; empty: equal labels, or the only model of each run.

  Raises:
    UserError: runs, models or examples that cannot be compared.
  """
  one, other = (run.datasets for run in (first, second))
  common = [dataset for dataset in one if dataset in other]
  if not common:
    raise errors.UserError(
      "The runs have no data set in common: the first has"
      f" {', '.join(one)}, the second {', '.join(other)}."
    )
  out, names = [], groups.Names()
  for dataset in common:
    labels = [run.labels(dataset) for run in (first, second)]
    for a, b in pairing.models(labels[0], labels[1], models):
      out.append(
        _models(
          Side.from_run(first, dataset, a, names=names),
          Side.from_run(second, dataset, b, names=names),
        )
      )
  return out


def _models(first: Side, second: Side) -> Comparison:
  common, alone = pairing.conditions(first, second)
  unknown = pairing.check_facts(first, second, common)
  baseline = baseline_lib.choose(first, second)
  references = [s for s in (baseline.first, baseline.second) if s is not None]
  if any(set(common) - set(s.cells) for s in references):
    lacking = next(s for s in references if set(common) - set(s.cells))
    baseline = baseline_lib.Baseline(
      note=f"Normalised numbers are not compared: {lacking.model}, which"
      " normalises them, lacks some of the conditions."
    )
    references = []
  numbers = numbers_lib.read([first, second, *references], common)
  facts = first.task.facts
  cells = cell_tests.cell_lines(numbers, facts)
  answered = list(
    answers.lines(numbers.answers[0], numbers.answers[1], first.task.family)
  )
  over = [*over_cells.lines(first, second, baseline, numbers), *answered]
  benchmark, corruptions = over_cells.split(over, facts)
  names = _names(first, second)
  return Comparison(
    first.dataset,
    facts,
    *names,
    benchmark=benchmark,
    corruptions=corruptions,
    cells=cells,
    sentences=_sentences(cells, names),
    notes=[
      *_seed_notes(first, second),
      *alone,
      *unknown,
      *([baseline.note] if baseline.note else []),
      *_model_notes(first, names[0]),
      *_model_notes(second, names[1]),
      *_test_notes(cells),
      *([facts.intervals] if facts.intervals and numbers.drawn else []),
      *([_OF_ANSWERS] if answered else []),
    ],
  )


def _names(first: Side, second: Side) -> tuple[str, str]:
  if first.model == second.model:
    return f"{first.model} (first)", f"{second.model} (second)"
  return first.model, second.model


def _sentences(cells: Sequence[Line], names: tuple[str, str]) -> list[str]:
  """Return how many cells each family decides, without the clean cell among others."""
  families: dict[str, list[str]] = {}
  for line in cells:
    alone = line.test.family == cell_tests.ONLY
    if line.test.verdict and (line.corruption or alone):
      families.setdefault(line.test.family, []).append(line.test.verdict)
  return [_sentence(names, *family) for family in families.items()]


def _sentence(
  names: tuple[str, str], family: str, verdicts: Sequence[str]
) -> str:
  what = "numbers" if family == cell_tests.ONLY else "cells"
  better, worse, undecided = (
    verdicts.count(verdict)
    for verdict in (lines_lib.BETTER, lines_lib.WORSE, lines_lib.UNDECIDED)
  )
  unknown = verdicts.count(lines_lib.UNKNOWN_SENSE)
  different = f" of {lines_lib.UNKNOWN_SENSE} in {unknown}," if unknown else ""
  return (
    f"{names[0]} better than {names[1]} in {better} of {len(verdicts)} {what},"
    f" worse in {worse},{different} undecided in {undecided} ({family}; Holm)."
  )


def _seed_notes(first: Side, second: Side) -> list[str]:
  paired = "Both runs saw the same examples, and models are paired by example."
  if first.seed == second.seed:
    return [paired]
  return [
    f"{paired} Seeds differ ({first.seed} and {second.seed}): the corruptions were"
    " drawn separately, so the differences also include those of the draws."
  ]


def _model_notes(side: Side, name: str) -> list[str]:
  notes = []
  for remark in side.remarks:
    if remark == RANDOM:
      notes.append(
        f"{name} gives other answers when it runs again; no interval includes that."
      )
    else:
      notes.append(f"{name}: {remark}.")
  seen = sides.seen_words(side.model_facts.words(), side.cells)
  if seen:
    notes.append(f"{name} was trained on {seen}.")
  return notes


def _test_notes(cells: Sequence[Line]) -> list[str]:
  kinds = list(dict.fromkeys(x.test.kind for x in cells if x.test.kind))
  if not kinds:
    return [
      "Nothing is tested and there are no intervals: the runs hold only numbers,"
      " no predictions."
    ]
  sizes: dict[str, int] = {}
  for line in cells:
    if line.test.family:
      sizes[line.test.family] = sizes.get(line.test.family, 0) + 1
  families = ", ".join(f"{name} ({size})" for name, size in sizes.items())
  grouped = cell_tests.EXCHANGE in kinds
  return [
    f"Cells: {' and '.join(kinds)}, two-sided; decided where p after Holm over the"
    f" family is at most {lines_lib.LEVEL:g}. Families: {families}.",
    *(
      [
        "The two models' results are exchanged on whole groups, since examples of"
        " a group are not independent or the number is no right and wrong:"
        " McNemar's test is not valid there. The exchange is exact where both"
        " models' results have one distribution; of equal accuracy alone, few"
        " unequal groups decide too often (docs/evidence/INTERVALS.md), less often"
        " since a"
        " difference whose interval holds 0 is not decided."
      ]
      if grouped
      else []
    ),
    "Intervals are of 95 % each, from the same draws of both models, and not"
    " adjusted.",
    *(
      [_OF_EXACT]
      if {cell_tests.MCNEMAR, cell_tests.EXCHANGE} & {*kinds}
      else []
    ),
  ]
