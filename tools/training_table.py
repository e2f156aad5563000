"""Writes docs/TRAINING.md: how to train, and what each recipe buys.

  python -m tools.training_table --workdir=/tmp/table  # trains what lacks there
  python -m tools.training_table --stored              # from docs/training/*.tsv

What `docs/training` has by today's configs is not measured again: all of it anew takes
hours on two cores; stopped, it goes on. The page follows from those tables, from
`configs/train_*.py` and from `eval/papers`. A fingerprint is of configs, not of code:
after a change of a recipe's arithmetic take its lines out of the table.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from etils import epath
from scipy import special

from robust_tfds.eval import papers
from robust_tfds.models.training import config as config_lib
from robust_tfds.models.training import plan, recipes, run
from tools import training_guide, training_measures, training_runs
from tools.training_runs import Line

FILE = training_runs.FOLDER.with_name("TRAINING.md")
_LEVEL = 0.95
_OTHERS = ("videos",)
_SHOWN = re.compile(r"\*\*([+-][\d.]+) ± ([\d.]+)\*\*")  # mean, half the width
_WIDTH = 1e-3  # less is three equal counts of digits, and no interval
# Printed numbers that training changed: paper, table, its lines.
_PRINTED = (
  ("hendrycks2019", "section5_2", (1, 2, 5, 6, 7)),
  ("hendrycks2019", "readme_augmix", (1,)),
  ("hendrycks2019", "appendix_f", (1, 2)),
  ("michaelis2019", "table2", range(1, 10)),
  ("shankar2021", "table2", range(1, 12)),
  ("schiappa2023", "figure12", range(1, 17)),
)
# Settings of a paper whose length is known before data are read.
_LARGE = (
  "train_standard:imagenet",
  "train_augmix:imagenet",
  "train_pixmix:imagenet",
  "train_corruption_mix:imagenet",
  "train_stability:imagenet",
  "train_finetune:clahe",
  "train_alp:linf",
)


def main() -> None:
  """Trains and evaluates, unless told not to; writes the tables and the page."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  chosen = parser.add_mutually_exclusive_group(required=True)
  chosen.add_argument("--workdir", help="Folder of all trainings and runs.")
  chosen.add_argument(
    "--stored", action="store_true", help="Train and run nothing."
  )
  arguments = parser.parse_args()
  for kind in training_runs.KINDS if arguments.workdir else ():
    _measure(epath.Path(arguments.workdir), kind)
  lines = {kind: training_runs.stored(kind) for kind in training_runs.KINDS}
  FILE.write_text(text(lines), "utf-8")
  print(f"wrote {FILE}")


def _measure(folder: epath.Path, kind: str) -> None:
  """Stores a kind's table; after each training, so that stopping costs one."""
  made: list[Line] = []
  rest = training_runs.fresh(kind)
  for line in training_runs.measured(folder, kind):
    made.append(line)
    rest = [x for x in rest if _key(x) != _key(line)]
    training_runs.store(kind, [*made, *rest])


def _key(line: Line) -> tuple[str, str, int]:
  return line.network, line.row, line.seed


def text(every: Mapping[str, Sequence[Line]]) -> str:
  """The page, of the trainings of each kind."""
  tables = {kind: _tables(kind, lines) for kind, lines in every.items()}
  pictures = every["pictures"]
  return "".join(
    [
      training_guide.text(),
      training_guide.EXAMPLE,
      _measured(pictures, "".join(tables.values())),
      tables["pictures"],
      *(training_guide.ABOVE[k] + tables[k] for k in _OTHERS if tables[k]),
      *_printed(),
      *_large(pictures),
      training_guide.limits(training_runs.ROWS),
    ]
  )


def _tables(kind: str, lines: Sequence[Line]) -> str:
  """Those of all networks of a kind."""
  return "".join(
    part
    for network in dict.fromkeys(line.network for line in lines)
    for part in _of_network(kind, [x for x in lines if x.network == network])
  )


def interval(values: Sequence[float]) -> tuple[float, float]:
  """Mean, and half the width of Student's 95 % interval, of one value a seed.

  >>> [round(x, 3) for x in interval([1.0, 2.0, 3.0])]
  [2.0, 2.484]
  """
  n = len(values)
  half = _quantile(_LEVEL, n) * np.std(values, ddof=1) / math.sqrt(n)
  return float(np.mean(values)), float(half)


def _quantile(level: float, n: int) -> float:
  """Student's, of an interval of `level` over n values."""
  return float(special.stdtrit(n - 1, (1 + level) / 2))


def _of_network(kind: str, lines: Sequence[Line]) -> Iterator[str]:
  """The three tables of one network."""
  rows: dict[str, list[Line]] = {}
  for line in lines:
    rows.setdefault(line.row, []).append(line)
  standard = rows[training_runs.STANDARD]
  measures = training_measures.of(kind, standard)
  yield f"\n### {lines[0].network}\n\nMean of three seeds ± half its interval.\n\n"
  yield training_guide.table(
    ("trained by", "gradients", "steps", "CPU s", *measures.names),
    (_absolute(name, row, measures) for name, row in rows.items()),
  )
  others = [(name, row) for name, row in rows.items() if row[0].times == 1]
  random = [x for x in others if x[1] is not standard and not x[1][0].before]
  if random:
    yield training_guide.EQUAL_STEPS
    yield training_guide.table(
      ("trained by", *measures.names),
      (_difference(name, row, standard, measures) for name, row in random),
    )
  equal = [(n, r, c) for n, r in others if (c := _control(r, rows.values()))]
  if equal:
    yield training_guide.EQUAL_GRADIENTS
    yield training_guide.table(
      ("trained by", "beside", *measures.names),
      (
        (who, f"`{beside[0].row}`", *cells)
        for name, row, beside in equal
        for who, *cells in [_difference(name, row, beside, measures)]
      ),
    )


def _absolute(
  name: str, row: Sequence[Line], measures: training_measures.Measures
) -> tuple[str, ...]:
  values = [measures.of(line, line.seen) for line in row]
  shown = [
    "{:.2f} ± {:.2f}".format(*interval([v[column] for v in values]))
    for column in measures.names
  ]
  seconds = f"{np.median([line.seconds for line in row]):.0f}"
  return f"`{name}`", str(row[0].spent), f"{row[0].steps:,}", seconds, *shown


def _difference(
  name: str,
  row: Sequence[Line],
  beside: Sequence[Line],
  measures: training_measures.Measures,
) -> tuple[str, ...]:
  """Minus the other, seed by seed; held out is of the same conditions in both."""
  seen, cells = row[0].seen, []
  pairs = [
    (measures.of(one, seen), measures.of(other, seen))
    for one, other in zip(row, beside, strict=True)
  ]
  for column in measures.names:
    mean, half = interval([a[column] - b[column] for a, b in pairs])
    cell = f"{mean:+.2f} ± {half:.2f}"
    shown = _WIDTH < half < abs(mean)
    cells.append(f"**{cell}**" if shown else f"no difference shown ({cell})")
  return f"`{name}`", *cells


def _control(
  row: Sequence[Line], rows: Iterable[Sequence[Line]]
) -> Sequence[Line] | None:
  """`standard` that takes as many gradients, or the next that takes more."""
  spent = row[0].spent
  longer = [
    r
    for r in rows
    if r[0].row.startswith(training_runs.STANDARD) and r[0].times >= spent
  ]
  if spent == 1 or not longer:
    return None
  return min(longer, key=lambda r: r[0].times)


def _measured(lines: Sequence[Line], tables: str) -> str:
  """What stands above the tables."""
  shown = _SHOWN.findall(tables)
  intervals = len(shown) + tables.count("no difference shown")
  each = 1 - (1 - _LEVEL) / intervals
  wider = _quantile(each, len(training_runs.SEEDS))
  ratio = wider / _quantile(_LEVEL, len(training_runs.SEEDS))
  return training_guide.MEASURED.format(
    seeds=", ".join(str(s) for s in dict.fromkeys(x.seed for x in lines)),
    steps=_standard(lines)[0].steps,
    intervals=intervals,
    shown=len(shown),
    chance=round(intervals * (1 - _LEVEL)),
    quantile=wider,
    strict=sum(abs(float(m)) > ratio * float(half) for m, half in shown),
  )


def _standard(lines: Sequence[Line]) -> list[Line]:
  """Of the first network."""
  return [
    line
    for line in lines
    if line.row == training_runs.STANDARD and line.network == lines[0].network
  ]


def _printed() -> Iterator[str]:
  yield training_guide.PRINTED
  rows = []
  for paper, name, chosen in _PRINTED:
    for row in papers.rows(paper):
      if row.table == name and row.line in chosen:
        who = " ".join(x for x in (row.network, row.training) if x)
        of = ", ".join(row.datasets)
        number = f"*{row.text}*" + (", doubtful" if row.doubt else "")
        rows.append((f"{row.paper} {row.where}", of, who, row.metric, number))
  yield training_guide.table(
    ("where", "data", "network, training", "metric", "printed"), rows
  )


def _large(lines: Sequence[Line]) -> Iterator[str]:
  """What a paper's setting costs, by multiply-adds."""
  here = _rate(lines)
  yield training_guide.LARGE.format(
    gpu=f"{plan.RATES['gpu']:.0e}",
    here=f"{here:.1e}",
    network=lines[-1].network,
  )
  rows = []
  for name in _LARGE:
    config = config_lib.parse(training_guide.shipped(name))
    recipe = recipes.of(config.recipe)
    steps = plan.steps_of(config, recipe)
    assert steps  # ImageNet's number of examples is known
    step = plan.step_adds(config, run.network(config, None), recipe)
    hours = [
      f"{steps * step / x / 3600:,.1f}" for x in (plan.RATES["gpu"], here)
    ]
    command = f"`robust-tfds train --config={name} --workdir=/runs/a`"
    took = f"{steps:,}", str(recipe.passes), f"{step / 1e12:.1f}"
    rows.append((command, config.model.name, *took, *hours))
  yield training_guide.table(training_guide.LARGE_HEADS, rows)


def _rate(lines: Sequence[Line]) -> float:
  """Multiply-adds a processor second, of the last network's longest `standard`."""
  longest = max(
    (x for x in lines if x.network == lines[-1].network and x.passes == 1),
    key=lambda line: line.steps,
  )
  made = training_guide.shipped("train_standard")
  made.model.name = longest.network
  config = config_lib.parse(made)
  recipe = recipes.of(config.recipe)
  step = plan.step_adds(config, run.network(config, None), recipe)
  return longest.steps * step / longest.seconds


if __name__ == "__main__":
  main()
