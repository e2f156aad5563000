"""Trains by every recipe and evaluates it: what docs/TRAINING.md is made of.

`docs/training/<kind>.tsv` holds what `python -m tools.training_table --workdir=DIR`
measured last, a line a training. A recipe more is a row of `ROWS`; a kind of data
more is one of `KINDS`.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib
import pathlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ml_collections
from etils import epath

from robust_tfds.eval.cells import table
from robust_tfds.eval.run import plan as plan_lib
from robust_tfds.eval.run import runner
from robust_tfds.models.training import config as config_lib
from robust_tfds.models.training import disclosure, recipes, run
from robust_tfds.storage import disk

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "docs" / "training"
SEEDS = (0, 1, 2)
STANDARD = "standard"  # the row that others are held against
_SECONDS = "processor_seconds.txt"
_FACTS = ("network", "row", "seed", "passes", "times", "steps", "seconds")


@dataclasses.dataclass(frozen=True)
class Evaluation:
  """A benchmark that trained networks are shown.

  Attributes:
    config: that of a run, `quickstart:digits_c`.
    changes: dotted key -> value, of that config.
    whole: metrics over the benchmark.
    each: metrics of a condition; of sequences at difficulty 1.
  """

  config: str
  changes: Mapping[str, Any]
  whole: tuple[str, ...]
  each: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Kind:
  """Trainings that are held against each other.

  Attributes:
    networks: that are trained.
    changes: dotted key -> value, of every training.
    evaluations: what they are shown.
  """

  networks: tuple[str, ...]
  changes: Mapping[str, Any]
  evaluations: tuple[Evaluation, ...]


@dataclasses.dataclass(frozen=True)
class Row:
  """A training.

  Attributes:
    name: of the row.
    config: of `configs/`, `train_alp:linf`.
    changes: dotted key -> value, of this training.
    times: how many times as many epochs as the others.
    enhancement: that is put before the network at test, `clahe`.
    kind: of `KINDS`.
    networks: of the kind's, that it was made with; empty: all.
  """

  name: str
  config: str
  changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  times: int = 1
  enhancement: str = ""
  kind: str = "pictures"
  networks: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Line:
  """What was measured of one training.

  Attributes:
    network: that was trained.
    row: `Row.name`.
    seed: of the training.
    passes: gradients of the network that a step takes of an example.
    times: how many times as many epochs as the others.
    steps: of the training.
    seconds: of processors, in training, compiling included.
    seen: conditions of the benchmark that training showed.
    numbers: `clean_error`, `fog:mean_error`, `tilt:flip_probability` -> value.
  """

  network: str
  row: str
  seed: int
  passes: int
  times: int
  steps: int
  seconds: float
  seen: tuple[str, ...]
  numbers: Mapping[str, float]


# `epochs` of 10 steps, 128 of 1,297 digits each; nothing is chosen on the rest.
KINDS = {
  "pictures": Kind(
    ("digits_cnn", "digits_resnet"),
    {"epochs": 10, "keep.last": 0, "keep.best": 0},
    (
      Evaluation("quickstart:digits_c", {}, ("clean_error",), ("mean_error",)),
      Evaluation(
        "quickstart:digits_p",
        {"data.perturbations": "common", "data.difficulties": (1,)},
        (),
        ("flip_probability",),
      ),
    ),
  ),
}
ROWS = (
  Row(STANDARD, "train_standard"),
  Row("standard x 2", "train_standard", times=2),
  Row("standard x 3", "train_standard", times=3),
  Row("augmix", "train_augmix"),
  Row("pixmix", "train_pixmix"),
  Row("one noise: gaussian_noise", "train_corruption_mix"),
  Row("stability", "train_stability"),
  Row(
    "clahe",
    "train_standard",
    {"recipe.name": "clahe"},
    enhancement="clahe",
    networks=("digits_cnn",),
  ),
  Row("finetune", "train_finetune", {"batch_size": 128}),
  Row("stylized: texture", "train_stylized", networks=("digits_cnn",)),
  Row(
    "combined: texture",
    "train_stylized",
    {"recipe.mode": "combined", "epochs": 5},
    networks=("digits_cnn",),
  ),
)


def rows(kind: str, network: str) -> list[Row]:
  """What a network of a kind is trained by."""
  return [
    row
    for row in ROWS
    if row.kind == kind and network in (row.networks or KINDS[kind].networks)
  ]


def measured(folder: epath.Path, kind: str, say: Any = print) -> Iterator[Line]:
  """Trains and evaluates what lacks there; the lines of a kind.

  Args:
    folder: of all trainings; those that are there are not made again.
    kind: of `KINDS`.
    say: is told what begins.
  """
  chosen = KINDS[kind]
  for network in chosen.networks:
    for row in rows(kind, network):
      say(f"{network}, {row.name}")
      place = folder / network / row.name.replace(" ", "_").replace(":", "")
      for seed in SEEDS:
        _train(_config(chosen, network, row, seed), place / f"seed_{seed}")
      tables = [
        _evaluated(e, network, row, place, folder / "data")
        for e in chosen.evaluations
      ]
      yield from _lines(chosen, network, row, place, tables)


def stored(kind: str) -> list[Line]:
  """What was measured last."""
  file = FOLDER / f"{kind}.tsv"
  if not file.exists():
    return []
  with file.open(encoding="utf-8", newline="") as lines:
    return [_line(r) for r in csv.DictReader(lines, delimiter="\t")]


def store(kind: str, lines: Sequence[Line]) -> None:
  """Writes a kind's table."""
  names = list(dict.fromkeys(n for line in lines for n in line.numbers))
  rows = [[*_FACTS, "seen", *names]]
  for line in lines:
    facts = [str(getattr(line, fact)) for fact in _FACTS]
    numbers = [f"{line.numbers[name]:.6f}" for name in names]
    rows.append([*facts, " ".join(line.seen), *numbers])
  FOLDER.mkdir(exist_ok=True)
  text = "".join("\t".join(row) + "\n" for row in rows)
  (FOLDER / f"{kind}.tsv").write_text(text, "utf-8")


def _line(row: dict[str, str]) -> Line:
  network, name = row.pop("network"), row.pop("row")
  seed, passes = int(row.pop("seed")), int(row.pop("passes"))
  times, steps = int(row.pop("times")), int(row.pop("steps"))
  seconds, seen = float(row.pop("seconds")), tuple(row.pop("seen").split())
  numbers = {key: float(value) for key, value in row.items()}
  return Line(network, name, seed, passes, times, steps, seconds, seen, numbers)


def _config(
  kind: Kind, network: str, row: Row, seed: int
) -> ml_collections.ConfigDict:
  made = changed(row.config, {**kind.changes, **row.changes})
  with made.unlocked():
    made.model.name, made.seed = network, seed
    made.epochs *= row.times
  return made


def changed(
  config: str, changes: Mapping[str, Any]
) -> ml_collections.ConfigDict:
  """A shipped config, with some of its keys set."""
  name, colon, what = config.partition(":")
  module = importlib.import_module(f"robust_tfds.configs.{name}")
  made = module.get_config(*([what] if colon else []))
  with made.unlocked(), made.ignore_type():
    for key, value in changes.items():
      *groups, last = key.split(".")
      place = made
      for group in groups:
        place = place[group]
      place[last] = value
  return made


def _train(config: ml_collections.ConfigDict, workdir: epath.Path) -> None:
  """Trains there, and notes what it took, unless it is done."""
  if disk.exists(workdir / disclosure.FILE):
    return
  began = time.process_time()
  data_dir = str(workdir.parent.parent.parent / "data")
  prepared = run.prepare(config_lib.parse(config), data_dir=data_dir)
  run.train(prepared, workdir)
  seconds = time.process_time() - began
  disk.write_text(workdir / _SECONDS, f"{seconds:.1f}\n")


def _evaluated(
  evaluation: Evaluation,
  network: str,
  row: Row,
  place: epath.Path,
  data_dir: epath.Path,
) -> list[table.Row]:
  """The tidy rows of a run over the trainings of all seeds."""
  made = changed(evaluation.config, evaluation.changes)
  workdir = place / made.data.name
  if disk.exists(workdir / "table.csv"):
    return table.read(workdir / "table.csv")
  name = f"{network}+{row.enhancement}" if row.enhancement else network
  with made.unlocked():
    made.baseline, made.reports, made.photographs = "", False, False
    made.data.data_dir = str(data_dir)
    made.models = {
      _label(seed): {"name": name, "checkpoint": str(place / f"seed_{seed}")}
      for seed in SEEDS
    }
  return runner.Runner(plan_lib.make(made), pathlib.Path(workdir)).run()


def _label(seed: int) -> str:
  return f"seed_{seed}"


def _lines(
  kind: Kind,
  network: str,
  row: Row,
  place: epath.Path,
  tables: Sequence[Sequence[table.Row]],
) -> Iterator[Line]:
  for seed in SEEDS:
    folder = place / f"seed_{seed}"
    said = disclosure.read(folder)
    assert said is not None  # it was just trained
    numbers: dict[str, float] = {}
    for evaluation, rows in zip(kind.evaluations, tables, strict=True):
      numbers |= _numbers(evaluation, rows, _label(seed))
    yield Line(
      network,
      row.name,
      seed,
      recipes.of(said.recipe).passes,
      row.times,
      said.steps,
      float((folder / _SECONDS).read_text()),
      tuple(said.conditions),
      numbers,
    )


def _numbers(
  evaluation: Evaluation, rows: Sequence[table.Row], label: str
) -> dict[str, float]:
  """`clean_error`, `fog:mean_error` -> value."""
  out = {}
  for row in rows:
    first = row.severity in (None, 1) and row.config in ("", row.corruption)
    if row.model != label or not first:
      continue
    if row.corruption and row.metric in evaluation.each:
      out[f"{row.corruption}:{row.metric}"] = row.value
    if not row.corruption and row.metric in evaluation.whole:
      out[row.metric] = row.value
  return out
