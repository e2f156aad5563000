"""Trains by every recipe and evaluates it: what docs/TRAINING.md is made of.

`docs/training/<kind>.tsv` holds what `python -m tools.training_table --workdir=DIR`
measured last, a line a training, with the fingerprint of its configs. A line whose
fingerprint is today's is not measured again. A recipe more is a row of `ROWS`; a kind
of data more is one of `KINDS`.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import importlib
import json
import pathlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ml_collections
from etils import epath

from eval.cells import table
from eval.run import plan as plan_lib
from eval.run import runner
from models.training import config as config_lib
from models.training import disclosure, recipes, run
from robust_tfds.storage import disk

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "docs" / "training"
SEEDS = (0, 1, 2)
STANDARD = "standard"  # the row that others are held against
_SECONDS = "processor_seconds.txt"
_COUNTS = ("seed", "passes", "times", "before", "steps")
_FACTS = ("network", "row", "config", *_COUNTS, "seconds")


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
    start: the row whose weights of the same seed it begins with; empty: random.
    enhancement: that is put before the network at test, `clahe`.
    kind: of `KINDS`.
  """

  name: str
  config: str
  changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  times: int = 1
  start: str = ""
  enhancement: str = ""
  kind: str = "pictures"


@dataclasses.dataclass(frozen=True)
class Line:
  """What was measured of one training.

  Attributes:
    network: that was trained.
    row: `Row.name`.
    config: `fingerprint` of what it was trained and evaluated by.
    seed: of the training.
    passes: gradients of the network that a step takes of an example.
    times: how many times as many epochs as the others.
    before: gradients of an example that its first weights took, over an epoch's.
    steps: of the training.
    seconds: of processors, in training, compiling included.
    seen: conditions of the benchmark that training showed.
    numbers: `clean_error`, `fog:mean_error`, `tilt:flip_probability` -> value.
  """

  network: str
  row: str
  config: str
  seed: int
  passes: int
  times: int
  before: int
  steps: int
  seconds: float
  seen: tuple[str, ...]
  numbers: Mapping[str, float]

  @property
  def spent(self) -> int:
    """Gradients of an example, over those of an epoch of `standard`."""
    return self.passes * self.times + self.before


_LAST = {"keep.last": 0, "keep.best": 0}
# `epochs` of 10 steps, 128 of 1,297 digits each; nothing is chosen on the rest.
KINDS = {
  "pictures": Kind(
    ("digits_cnn", "digits_resnet"),
    {"epochs": 10, **_LAST},
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
  # 8 motions of digits in 960 videos. In batches of 32 at .003, as the quickstart
  # has it, `mixed mix` learns next to nothing in as many epochs.
  "videos": Kind(
    ("tiny_r3d",),
    {
      "data.source": "digits_video",
      "data.crop": "short36_random32",
      "data.geometry": "short36_crop32",
      "optimizer.learning_rate": 1e-3,
      "schedule.warmup": 90,
      "epochs": 15,
      "batch_size": 8,
      **_LAST,
    },
    (
      Evaluation(
        "quickstart_video",
        {"data.severities": (4, 5)},
        ("clean_accuracy", "part_gamma_a", "part_gamma_r"),
        ("part_mean_accuracy",),
      ),
    ),
  ),
  "detectors": Kind(
    ("tiny_retinanet",),
    {"steps": 500, **_LAST},
    (
      Evaluation(
        "quickstart_detection",
        {"data.corruptions": "common", "data.limit": 60},
        ("p", "mpc", "rpc"),
        ("mean_ap",),
      ),
    ),
  ),
}
_CLAHE = {"recipe.name": "clahe"}
_FINETUNE = {"batch_size": 128}
_ADVERSARIAL = {"recipe.weight": 0.0, "recipe.clean": 0.0}
ROWS = (
  Row(STANDARD, "train_standard"),
  Row("standard x 2", "train_standard", times=2),
  Row("standard x 3", "train_standard", times=3),
  Row("standard x 12", "train_standard", times=12),
  Row("augmix", "train_augmix"),
  Row("pixmix", "train_pixmix"),
  Row("one noise: gaussian_noise", "train_corruption_mix"),
  Row("stability", "train_stability"),
  Row("alp", "train_alp"),
  Row("adversarial", "train_alp", _ADVERSARIAL),
  Row("clahe", "train_standard", _CLAHE, enhancement="clahe"),
  Row("finetune", "train_finetune", _FINETUNE, start=STANDARD),
  Row(
    "finetune: clahe",
    "train_finetune",
    _FINETUNE | _CLAHE,
    start=STANDARD,
    enhancement="clahe",
  ),
  Row("stylized: texture", "train_stylized"),
  Row(
    "combined: texture",
    "train_stylized",
    {"recipe.mode": "combined", "epochs": 5},
  ),
  Row(STANDARD, "train_standard", kind="videos"),
  *(
    Row(f"{mix} mix", f"train_corruption_mix:{mix}", kind="videos")
    for mix in ("temporal", "spatial", "mixed")
  ),
  Row("pixmix", "train_corruption_mix:pixmix", kind="videos"),
  Row(STANDARD, "train_detector", kind="detectors"),
  *(
    Row(
      f"{mode}: texture",
      "train_detector",
      {"recipe.mode": mode},
      kind="detectors",
    )
    for mode in ("stylized", "combined")
  ),
)


def rows(kind: str) -> list[Row]:
  """What the networks of a kind are trained by."""
  return [row for row in ROWS if row.kind == kind]


def measured(folder: epath.Path, kind: str, say: Any = print) -> Iterator[Line]:
  """The lines of a kind: stored ones, and those that lack, made now.

  Args:
    folder: of all trainings; those that are there are not made again.
    kind: of `KINDS`.
    say: is told what begins.
  """
  there = fresh(kind)
  for network in KINDS[kind].networks:
    for row in rows(kind):
      lines = [x for x in there if (x.network, x.row) == (network, row.name)]
      if len(lines) < len(SEEDS):
        say(f"{network}, {row.name}")
        lines = list(_made(folder, KINDS[kind], network, row))
      yield from lines


def _made(
  folder: epath.Path, kind: Kind, network: str, row: Row
) -> Iterator[Line]:
  """Trains what lacks there, and what it begins with; evaluates it."""
  place = _place(folder, network, row)
  _train_all(folder, kind, network, row)
  tables = [
    _evaluated(e, network, row, place, folder / "data")
    for e in kind.evaluations
  ]
  yield from _lines(kind, network, row, place, tables)


def _train_all(folder: epath.Path, kind: Kind, network: str, row: Row) -> None:
  """A row's trainings, one a seed."""
  start = _start(network, row)
  if start:
    _train_all(folder, kind, network, start)
  for seed in SEEDS:
    made = _config(kind, network, row, seed)
    if start:
      place = _place(folder, network, start)
      made.model.checkpoint = str(place / _label(seed))
    _train(made, _place(folder, network, row) / _label(seed))


def _start(network: str, row: Row) -> Row | None:
  """Whose weights it begins with."""
  found = [x for x in rows(row.kind) if x.name == row.start]
  return found[0] if found else None


def fresh(kind: str) -> list[Line]:
  """The stored lines that today's configs would measure again."""
  today = {
    (network, row.name): fingerprint(network, row)
    for network in KINDS[kind].networks
    for row in rows(kind)
  }
  return [x for x in stored(kind) if today.get((x.network, x.row)) == x.config]


def fingerprint(network: str, row: Row) -> str:
  """Of the configs that a network is trained and evaluated by, without seeds."""
  kind, start = KINDS[row.kind], _start(network, row)
  evaluations = [changed(e.config, e.changes) for e in kind.evaluations]
  configs = [_config(kind, network, row, 0), *evaluations]
  text = json.dumps([x.to_dict() for x in configs], sort_keys=True)
  text += row.enhancement + (fingerprint(network, start) if start else "")
  return hashlib.sha256(text.encode()).hexdigest()[:12]


def _place(folder: epath.Path, network: str, row: Row) -> epath.Path:
  """Of the trainings of a row by today's configs, and the runs over them."""
  name = row.name.replace(" ", "_").replace(":", "")
  return folder / network / f"{name}_{fingerprint(network, row)}"


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
  names = [row.pop(fact) for fact in ("network", "row", "config")]
  seconds, seen = float(row.pop("seconds")), tuple(row.pop("seen").split())
  counts = [int(row.pop(fact)) for fact in _COUNTS]
  numbers = {key: float(value) for key, value in row.items()}
  return Line(*names, *counts, seconds, seen, numbers)


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
  module = importlib.import_module(f"configs.{name}")
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
  if disk.exists(workdir / _SECONDS):
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
    for key in {"model", "photographs"} & set(made):
      del made[key]  # a network alone, and what draws it
    made.baseline, made.reports = "", False
    made.data.data_dir = str(data_dir)
    made.models = {
      _label(seed): {"name": name, "checkpoint": str(place / _label(seed))}
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
    folder = place / _label(seed)
    said = disclosure.read(folder)
    assert said is not None  # it was just trained
    numbers: dict[str, float] = {}
    for evaluation, rows in zip(kind.evaluations, tables, strict=True):
      numbers |= _numbers(evaluation, rows, _label(seed))
    yield Line(
      network,
      row.name,
      fingerprint(network, row),
      seed,
      recipes.make_recipe(said.recipe).passes,
      row.times,
      1 if row.start else 0,
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
