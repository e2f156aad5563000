"""Write the measured trainings (docs/training/*.tsv) into docs/TRAINING.md.

  python -m tools.training_page                # from the stored tables
  python -m tools.training_page --workdir=DIR  # first measure what is missing

A table has a line a training, and no stored line is measured again: after a
change of a recipe's config or arithmetic take its lines out, and measure in a
new folder. A new recipe is a row of `ROWS`, a new kind of data one of `KINDS`.
"""

import argparse
import functools
import importlib
import math
import operator
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from etils import epath
from scipy import special

from eval.run import plan, runner
from models.training import config as config_lib
from models.training import disclosure, recipes, run
from robust_tfds import conditions
from robust_tfds.storage import disk

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE, FOLDER = ROOT / "docs" / "TRAINING.md", ROOT / "docs" / "training"
SEEDS = (0, 1, 2)
STANDARD = "standard"  # the row that others are compared with
_ERROR, _FLIPS = ":mean_error", ":flip_probability"
_ACCURACY = ":part_mean_accuracy"
# Columns whose chance over examples does not follow from what is stored.
_RATIOS = ("mCE", "gamma_r", "P", "mPC", "rPC")
# Conditions that a recipe's operations resemble, although none is one [U].
_MOVES = "translate rotate tilt static_rotation random_rotation translation"
_NEAR = dict.fromkeys(("augmix", "pixmix"), _MOVES.split())


class Kind(NamedTuple):
  """Trainings that are compared with each other."""

  networks: tuple[str, ...]
  changes: Mapping[str, Any]  # values of every training's config by dotted key
  tests: Mapping[str, Mapping[str, Any]]  # config of a run -> its changes
  metrics: tuple[str, ...]  # of a benchmark
  each: tuple[str, ...]  # of its conditions; of sequences at difficulty 1
  examples: int  # of a test
  better: int  # 1 if larger numbers are better, -1 if smaller ones are


class Row(NamedTuple):
  """A training."""

  name: str
  config: str  # `train_alp:linf`
  changes: Mapping[str, Any] = {}
  times: int = 1  # as many epochs
  start: str = ""  # the row whose weights of the same seed it begins with
  enhancement: str = ""  # before the network at test
  kind: str = "pictures"


class Line(NamedTuple):
  """The numbers of one training."""

  network: str
  row: str
  seed: int
  gradients: int  # of an example, over those of an epoch of `standard`
  steps: int
  seen: tuple[str, ...]  # conditions of the benchmark
  numbers: Mapping[str, float]  # `clean_error`, `fog:mean_error`


_LAST = {"keep.last": 0, "keep.best": 0}
_SEQUENCES = {"data.perturbations": "common", "data.difficulties": (1,)}
_CUT = {"data.crop": "short36_random32", "data.geometry": "short36_crop32"}
_SLOW = {"optimizer.learning_rate": 1e-3, "schedule.warmup": 90}
_VIDEOS = {"data.source": "digits_video", "epochs": 15, "batch_size": 8}
_DETECTION = {"data.corruptions": "common", "data.limit": 60}
KINDS = {
  "pictures": Kind(
    ("digits_cnn", "digits_resnet"),
    {"epochs": 10, **_LAST},
    {"quickstart:digits_c": {}, "quickstart:digits_p": _SEQUENCES},
    ("clean_error",),
    (_ERROR[1:], _FLIPS[1:]),
    *(359, -1),
  ),
  "videos": Kind(
    ("tiny_r3d",),
    _VIDEOS | _CUT | _SLOW | _LAST,
    {"quickstart_video": {"data.severities": (4, 5)}},
    ("clean_accuracy", "part_gamma_a", "part_gamma_r"),
    (_ACCURACY[1:],),
    *(240, 1),
  ),
  "detectors": Kind(
    ("tiny_retinanet",),
    {"steps": 500, **_LAST},
    {"quickstart_detection": _DETECTION},
    ("p", "mpc", "rpc"),
    ("mean_ap",),
    *(60, 1),
  ),
}
_CLAHE, _BATCH = {"recipe.name": "clahe"}, {"batch_size": 128}
_ADVERSARIAL = {"recipe.weight": 0.0, "recipe.clean": 0.0}
_STYLIZED, _COMBINED = ({"recipe.mode": m} for m in ("stylized", "combined"))
_TUNE, _MIX, _DET = "train_finetune", "train_corruption_mix", "train_detector"
ROWS = (
  Row(STANDARD, "train_standard"),
  Row("standard x 2", "train_standard", times=2),
  Row("standard x 3", "train_standard", times=3),
  Row("standard x 12", "train_standard", times=12),
  Row("augmix", "train_augmix"),
  Row("pixmix", "train_pixmix"),
  Row("one noise: gaussian_noise", _MIX),
  Row("stability", "train_stability"),
  Row("alp", "train_alp"),
  Row("adversarial", "train_alp", _ADVERSARIAL),
  Row("clahe", "train_standard", _CLAHE, enhancement="clahe"),
  Row("finetune", _TUNE, _BATCH, 1, STANDARD),
  Row("finetune: clahe", _TUNE, _BATCH | _CLAHE, 1, STANDARD, "clahe"),
  Row("stylized: texture", "train_stylized"),
  Row("combined: texture", "train_stylized", _COMBINED | {"epochs": 5}),
  Row(STANDARD, "train_standard", kind="videos"),
  Row("temporal mix", f"{_MIX}:temporal", kind="videos"),
  Row("spatial mix", f"{_MIX}:spatial", kind="videos"),
  Row("mixed mix", f"{_MIX}:mixed", kind="videos"),
  Row("pixmix", f"{_MIX}:pixmix", kind="videos"),
  Row(STANDARD, _DET, kind="detectors"),
  Row("stylized: texture", _DET, _STYLIZED, kind="detectors"),
  Row("combined: texture", _DET, _COMBINED, kind="detectors"),
)


def main() -> None:
  """Measure what is missing if a folder is named; write the page."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--workdir", help="Folder of all trainings and runs.")
  workdir = parser.parse_args().workdir
  for kind in KINDS if workdir else ():
    measure(epath.Path(workdir), kind)
  PAGE.write_text(text(PAGE.read_text("utf-8")), "utf-8")
  print(f"wrote {PAGE}")


def stored(kind: str) -> list[Line]:
  """Return the lines of a kind's table."""
  lines = []
  text = (FOLDER / f"{kind}.tsv").read_text("utf-8")
  heads, *rows = (line.split("\t") for line in text.splitlines())
  for network, name, seed, gradients, steps, seen, *values in rows:
    numbers = dict(zip(heads[6:], map(float, values), strict=True))
    counts = int(seed), int(gradients), int(steps)
    lines.append(Line(network, name, *counts, tuple(seen.split()), numbers))
  return lines


def store(kind: str, lines: Sequence[Line]) -> None:
  """Write a kind's table."""
  names = list(dict.fromkeys(n for line in lines for n in line.numbers))
  rows = [[*Line._fields[:-1], *names]]
  for *facts, seen, numbers in lines:
    values = (f"{numbers[name]:.6f}" for name in names)
    rows.append([*map(str, facts), " ".join(seen), *values])
  text = "".join("\t".join(row) + "\n" for row in rows)
  (FOLDER / f"{kind}.tsv").write_text(text, "utf-8")


def measure(folder: epath.Path, kind: str) -> None:
  """Train and evaluate the rows that a table lacks, and store each."""
  for network in KINDS[kind].networks:
    for row in (row for row in ROWS if row.kind == kind):
      lines = stored(kind)
      if (network, row.name) not in {(x.network, x.row) for x in lines}:
        print(f"{network}, {row.name}")
        store(kind, [*lines, *train_and_test(folder, network, row)])


def train_and_test(folder: epath.Path, network: str, row: Row) -> list[Line]:
  """Return a row's lines; what lies in the folder is not made again."""
  labels = {f"seed_{seed}": seed for seed in SEEDS}
  places = {x: _train(folder, network, row, n) for x, n in labels.items()}
  numbers: dict[str, dict[str, float]] = {label: {} for label in labels}
  name = f"{network}+{row.enhancement}" if row.enhancement else network
  kind = KINDS[row.kind]
  for config, changes in kind.tests.items():
    made = changed(config, changes)
    for key in {"model", "photographs"} & set(made):
      del made[key]  # a network alone, and what draws it
    made.baseline, made.reports = "", False
    made.data.data_dir = str(folder / "data")
    made.models = {
      label: {"name": name, "checkpoint": str(place)}
      for label, place in places.items()
    }
    workdir = places["seed_0"].parent / made.data.name
    tested = runner.Runner(plan.make(made), pathlib.Path(workdir)).run()
    for x in tested:
      first = x.severity in (None, 1) and x.config in ("", x.corruption)
      if first and x.corruption and x.metric in kind.each:
        numbers[x.model][f"{x.corruption}:{x.metric}"] = x.value
      if first and not x.corruption and x.metric in kind.metrics:
        numbers[x.model][x.metric] = x.value
  lines = []
  for label, seed in labels.items():
    trained: Any = disclosure.read(places[label])
    passes = recipes.make_recipe(trained.recipe).passes
    facts = seed, passes * row.times + bool(row.start), trained.steps
    seen = tuple(trained.conditions)
    lines.append(Line(network, row.name, *facts, seen, numbers[label]))
  return lines


def _train(folder: epath.Path, network: str, row: Row, seed: int) -> epath.Path:
  """Train a row, and before it the row that it begins with."""
  name = re.sub("[ :]+", "_", row.name)
  workdir = folder / network / name / f"seed_{seed}"
  if disk.exists(workdir / disclosure.FILE):
    return workdir
  made = changed(row.config, {**KINDS[row.kind].changes, **row.changes})
  for start in (r for r in ROWS if (r.name, r.kind) == (row.start, row.kind)):
    made.model.checkpoint = str(_train(folder, network, start, seed))
  made.model.name, made.seed = network, seed
  made.epochs *= row.times
  config = config_lib.parse(made)
  run.train(run.prepare(config, data_dir=str(folder / "data")), workdir)
  return workdir


def changed(config: str, changes: Mapping[str, Any]) -> Any:
  """Return a shipped config with some of its keys set."""
  name, colon, setting = config.partition(":")
  module = importlib.import_module(f"configs.{name}")
  made = module.get_config(*([setting] if colon else [])).unlock()
  with made.ignore_type():
    for key, value in changes.items():
      *groups, last = key.split(".")
      functools.reduce(operator.getitem, groups, made)[last] = value
  return made


def text(page: str) -> str:
  """Return the page with its measured parts made anew."""
  for kind in KINDS:
    found = re.compile(f"(<!-- {kind} -->\\n).*?(<!-- end -->)", re.DOTALL)
    page, count = found.subn(rf"\g<1>{measured(kind)}\2", page)
    assert count == 1, f"{PAGE}: <!-- {kind} --> stands there {count} times"
  return page


def measured(kind: str) -> str:
  """Return what is shown of a kind in short, and a table a network."""
  networks: dict[str, dict[str, list[Line]]] = {}
  for line in stored(kind):
    rows = networks.setdefault(line.network, {})
    rows.setdefault(line.row, []).append(line)
  shown = {
    network: {name: differences(kind, rows, name) for name in rows}
    for network, rows in networks.items()
  }
  out = [*in_short(shown)]
  for network, rows in networks.items():
    heads = ["trained by", "gradients", "steps", *shown[network][STANDARD]]
    cells = (_cells(rows, name, shown[network][name]) for name in rows)
    table = (heads, ["---"] * len(heads), *cells)
    out += [f"\nTrained network: `{network}`\n\n"]
    out += [f"| {' | '.join(line)} |\n" for line in table]
  return "".join(out)


def _cells(
  rows: Mapping[str, list[Line]], name: str, shown: Mapping[str, str]
) -> Iterator[str]:
  lines = rows[name]
  yield from (f"`{name}`", str(lines[0].gradients), f"{lines[0].steps:,}")
  each = [columns(line, _seen(line), rows[STANDARD]) for line in lines]
  for column, word in shown.items():
    mean, half = interval([values[column] for values in each])
    sign = {"better": "**", "worse": "*"}.get(word, "")
    yield f"{sign}{mean:.1f} ± {half:.1f}{sign}"


def in_short(
  shown: Mapping[str, Mapping[str, Mapping[str, str]]],
) -> Iterator[str]:
  """Yield a line a row from `differences` by network and row."""
  silent = []
  for name in next(iter(shown.values())):
    words = []
    for word in ("better", "worse"):
      where: dict[tuple[str, ...], list[str]] = {}
      for column in next(iter(shown.values()))[name]:
        on = tuple(n for n, rows in shown.items() if rows[name][column] == word)
        where.setdefault(on, []).append(column)
      where.pop((), None)
      parts = (f"{', '.join(c)} ({' and '.join(n)})" for n, c in where.items())
      words += [f"{word} in {', in '.join(parts)}"] if where else []
    if words:
      yield f"- `{name}`: {'; '.join(words)}.\n"
    elif not name.startswith(STANDARD):
      silent.append(f"`{name}`")
  if silent:
    yield f"- No difference is shown of {', '.join(silent)}.\n"


def differences(
  kind: str, rows: Mapping[str, list[Line]], name: str
) -> dict[str, str]:
  """Compare a row's columns with `standard` of as many gradients or the next."""
  lines = rows[name]
  longer = [r for n, r in rows.items() if n.startswith(STANDARD)]
  longer = [r for r in longer if r[0].gradients >= lines[0].gradients]
  control = min(longer, key=lambda r: r[0].gradients)
  left = _seen(lines[0]), rows[STANDARD]
  ours, theirs = ([columns(x, *left) for x in r] for r in (lines, control))
  words = {}
  for column in ours[0]:
    paired = zip(ours, theirs, strict=True)
    mean, half = interval([a[column] - b[column] for a, b in paired])
    word = "better" if mean * KINDS[kind].better > 0 else "worse"
    shown = column not in _RATIOS and holds(mean, half, KINDS[kind].examples)
    words[column] = word if shown else ""
  return words


def interval(values: Sequence[float]) -> tuple[float, float]:
  """Return the mean, and half the width of Student's 95 % interval."""
  n = len(values)
  quantile = float(special.stdtrit(n - 1, 0.975))
  return float(np.mean(values)), quantile * np.std(values, ddof=1) / n**0.5


def holds(mean: float, half: float, examples: int) -> bool:
  """Return whether 0 stays outside when the test's chance is added.

  Over n examples the variance of a difference d is at least d (1 - d) / n. An
  interval without a width comes of equal counts, and shows nothing.
  """
  variance = abs(mean) * max(100 - abs(mean), 0) / examples
  chance = float(special.ndtri(0.975)) * math.sqrt(variance)
  return 1e-3 < half and math.hypot(half, chance) < abs(mean)


def _seen(line: Line) -> tuple[str, ...]:
  """Return the conditions that are not held out of a training."""
  return (*line.seen, *_NEAR.get(line.row, ()))


def columns(
  line: Line, seen: Sequence[str], standard: Sequence[Line]
) -> dict[str, float]:
  """Return the columns in percent; `seen` is left out of "held out" alone."""
  numbers = line.numbers
  held_out = lambda names: [name for name in names if name not in seen]

  def mean(names: Iterable[str], ending: str) -> float:
    return 100 * float(np.mean([numbers[f"{n}{ending}"] for n in names]))

  def names(ending: str) -> list[str]:
    return [n.removesuffix(ending) for n in numbers if n.endswith(ending)]

  if "mpc" in numbers:
    return {name: 100 * numbers[name.lower()] for name in ("P", "mPC", "rPC")}
  if "clean_accuracy" in numbers:
    shown = names(_ACCURACY)
    return {
      "clean": 100 * numbers["clean_accuracy"],
      "mean": mean(shown, _ACCURACY),
      "held out": mean(held_out(shown), _ACCURACY),
      "gamma_a": 100 * numbers["part_gamma_a"],
      "gamma_r": 100 * numbers["part_gamma_r"],
    }
  family, flips = conditions.PICTURES, names(_FLIPS)
  common = family.names("common")
  ratios = [
    numbers[n] / np.mean([x.numbers[n] for x in standard])
    for n in (f"{name}{_ERROR}" for name in common)
  ]
  groups = dict.fromkeys(family.row(name).group for name in common)
  return {
    "clean": 100 * numbers["clean_error"],
    "mCE": 100 * float(np.mean(ratios)),
    "mean": mean(common, _ERROR),
    **{g: mean(family.members(g, "common"), _ERROR) for g in groups},
    "held out": mean(held_out(common), _ERROR),
    "mFP": mean(flips, _FLIPS),
    "mFP held out": mean(held_out(flips), _FLIPS),
  }


if __name__ == "__main__":
  main()
