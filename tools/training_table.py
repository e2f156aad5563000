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
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from etils import epath

from eval import papers
from models.training import config as config_lib
from models.training import plan, recipes, run
from tools import (
  training_differences,
  training_guide,
  training_measures,
  training_runs,
  training_short,
)
from tools.training_differences import Compared, Comparison
from tools.training_runs import Line

FILE = training_runs.FOLDER.with_name("TRAINING.md")
_OTHERS = ("videos", "detectors")
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
  compared = {kind: _compared(kind, lines) for kind, lines in every.items()}
  tables = {k: _tables(k, lines, compared[k]) for k, lines in every.items()}
  pictures = every["pictures"]
  return "".join(
    [
      training_guide.text(),
      training_guide.EXAMPLE,
      *training_short.text(every, compared),
      _measured(pictures, compared),
      tables["pictures"],
      *(_above(k, every[k]) + tables[k] for k in _OTHERS if tables[k]),
      *_printed(),
      *_large(pictures),
      training_guide.limits(training_runs.ROWS),
    ]
  )


def _above(kind: str, lines: Sequence[Line]) -> str:
  """What stands above a kind's tables."""
  return training_guide.ABOVE[kind].format(steps=f"{lines[0].steps:,}")


def _compared(kind: str, lines: Sequence[Line]) -> Compared:
  """Network -> its comparisons at equal steps, and at equal gradients."""
  out = {}
  for network, rows in training_differences.networks(lines).items():
    standard = rows[training_runs.STANDARD]
    measures = training_measures.of(kind, standard)
    out[network] = (
      training_differences.at_equal_steps(rows, measures),
      training_differences.at_equal_gradients(rows, measures),
    )
  return out


def _tables(kind: str, lines: Sequence[Line], compared: Compared) -> str:
  """The three of each network of a kind."""
  parts = []
  for network, rows in training_differences.networks(lines).items():
    measures = training_measures.of(kind, rows[training_runs.STANDARD])
    parts += [training_guide.NETWORK.format(network=network)]
    heads = ("trained by", "gradients", "steps", "CPU s", *measures.names)
    each = (_absolute(name, row, measures) for name, row in rows.items())
    parts += [
      training_guide.table(heads, each),
      *_differences(*compared[network]),
    ]
  return "".join(parts)


def _absolute(
  name: str, row: Sequence[Line], measures: training_measures.Measures
) -> tuple[str, ...]:
  left = measures.not_held_out(row[0])
  values = [measures.of(line, left) for line in row]
  shown = [
    "{:.2f} ± {:.2f}".format(
      *training_differences.interval([v[column] for v in values])
    )
    for column in measures.names
  ]
  seconds = f"{np.median([line.seconds for line in row]):.0f}"
  return f"`{name}`", str(row[0].spent), f"{row[0].steps:,}", seconds, *shown


def _differences(
  steps: Sequence[Comparison], gradients: Sequence[Comparison]
) -> Iterator[str]:
  """The two tables of a network's comparisons, as far as there are any."""
  if steps:
    yield training_guide.EQUAL_STEPS
    yield training_guide.table(
      ("trained by", *steps[0].cells),
      ((f"`{x.row}`", *map(str, x.cells.values())) for x in steps),
    )
  if gradients:
    yield training_guide.EQUAL_GRADIENTS
    yield training_guide.table(
      ("trained by", "beside", *gradients[0].cells),
      (
        (f"`{x.row}`", f"`{x.beside}`", *map(str, x.cells.values()))
        for x in gradients
      ),
    )


def _measured(lines: Sequence[Line], compared: Mapping[str, Compared]) -> str:
  """What stands above the tables."""
  cells = [
    cell
    for networks in compared.values()
    for both in networks.values()
    for comparison in (*both[0], *both[1])
    for cell in comparison.cells.values()
  ]
  seeds, level = len(training_runs.SEEDS), training_differences.LEVEL
  each = 1 - (1 - level) / len(cells)
  return training_guide.MEASURED.format(
    seeds=", ".join(str(s) for s in dict.fromkeys(x.seed for x in lines)),
    steps=_standard(lines)[0].steps,
    intervals=len(cells),
    shown=sum(cell.shown for cell in cells),
    chance=round(len(cells) * (1 - level)),
    quantile=training_differences.quantile(each, seeds),
    strict=sum(cell.survives(each, seeds) for cell in cells),
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
    recipe = recipes.make_recipe(config.recipe)
    steps = plan.steps_of(config, recipe)
    assert steps  # ImageNet's number of examples is known
    step = plan.step_adds(config, run.network(config, None), recipe)
    hours = [
      f"{steps * step / x / 3600:,.0f}" for x in (plan.RATES["gpu"], here)
    ]
    workdir = "/runs/" + name.replace(":", "_").replace(",", "_")
    command = f"`robust-tfds train --config={name} --workdir={workdir}`"
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
  recipe = recipes.make_recipe(config.recipe)
  step = plan.step_adds(config, run.network(config, None), recipe)
  return longest.steps * step / longest.seconds


if __name__ == "__main__":
  main()
