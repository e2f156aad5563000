"""Compares two runs over the same videos, e.g. scratch against pretrained.

  python -m eval.compare --first=/runs/pretrained --second=/runs/scratch \\
      --out=/tmp/compared
  ... --first_model=x3d_m --second_model=x3d_s   # of workdirs with many models

Reads the workdirs' finished cells, no model and no data. Differences are the
first less the second; their 95 % intervals are bootstrapped over videos, which
both runs saw, so that what makes a video hard for either cancels. Prints and
writes comparison.csv, comparison.md and a figure. Runs over UCF101-DS are
compared by category, with Figure 12's gamma_r of Schiappa et al. 2023 (first:
trained on clean, second: on perturbed data).
"""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import pathlib
import sys
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np
from absl import app
from absl import flags

from eval import tasks
from eval.metrics import action
from eval.readers import workdir as rescore
from eval.reports.parts import markdown
from eval.results import predictions
from eval.tasks import video
from robust_tfds import errors

_SAME = ("task", "seed", "data.name", "data.split", "data.limit")
_RESAMPLES = 1000


@dataclasses.dataclass(frozen=True)
class Run:
  """What a comparison needs of one model's run.

  Attributes:
    model: its label.
    facts: settings that both runs must share.
    ids: of the videos, in the order of all columns.
    correct: condition -> bool `[videos]`.
    category: of each video's shift; empty where there are none.
  """

  model: str
  facts: Mapping[str, object]
  ids: np.ndarray
  correct: Mapping[tasks.Condition, np.ndarray]
  category: Sequence[str]


@dataclasses.dataclass(frozen=True)
class Difference:
  """One line of the comparison; all numbers are fractions.

  Attributes:
    measure: `accuracy`, `gamma_a` or `gamma_r`.
    scope: `clean`, `all`, `group` or `perturbation`; `category` of UCF101-DS.
    name: of the group, perturbation or category; empty for clean and all.
    first: the first run's value.
    second: the second's.
    difference: first - second.
    lo: lower end of its 95 % interval.
    hi: upper end.
  """

  measure: str
  scope: str
  name: str
  first: float
  second: float
  difference: float
  lo: float
  hi: float


def read(workdir: pathlib.Path, model: str = "") -> Run:
  """One model of a finished run of the task `video`.

  Raises:
    ValueError: no workdir, another task, unfinished cells, cells over different
      videos, or a model that is not there or not named among several.
  """
  config = rescore.config_of(workdir)
  labels = rescore.labels(config)
  if config.get("task") != "video":
    raise ValueError(
      f"{workdir} is of the task {config.get('task')!r}; runs of `video` can be"
      " compared."
    )
  if not model and len(labels) > 1:
    raise ValueError(
      f"{workdir} has several models, {', '.join(labels)}: name one."
    )
  label = model or labels[0]
  if label not in labels:
    raise errors.unknown(f"model of {workdir}", label, labels)
  ids, category = np.empty(0), []
  correct: dict[tasks.Condition, np.ndarray] = {}
  for condition in video.conditions(config.data):
    folder = rescore.cell_folder(workdir, config, label, condition)
    if not predictions.done(folder):
      raise ValueError(
        f"{workdir}: the cell {label} {condition.config} is not finished. Run"
        " eval.main again to continue it."
      )
    columns, _ = predictions.read(folder)
    if correct and not np.array_equal(ids, columns["example_id"]):
      raise ValueError(f"{folder} is of other videos than the cells before it.")
    ids = columns["example_id"]
    correct[condition] = video.keep(columns)
    category = list(columns.get("category", ()))
  flat = json.loads(config.to_json_best_effort())
  facts = {}
  for name in _SAME:
    value = flat
    for part in name.split("."):
      value = value.get(part) if isinstance(value, dict) else None
    facts[name] = value
  return Run(label, facts, ids, correct, category)


def compare(first: Run, second: Run) -> list[Difference]:
  """The comparison's lines.

  Raises:
    ValueError: runs of different data, seeds, videos or conditions.
  """
  differ = [n for n in _SAME if first.facts[n] != second.facts[n]]
  if differ:
    listed = "; ".join(
      f"{n}: {first.facts[n]!r} and {second.facts[n]!r}" for n in differ
    )
    raise ValueError(f"The runs are not comparable ({listed}).")
  if not np.array_equal(first.ids, second.ids):
    strange = set(first.ids.tolist()) ^ set(second.ids.tolist())
    raise ValueError(
      f"The runs saw different videos: {len(strange)} are in one alone, e.g."
      f" {min(strange, default='-')}."
    )
  if first.correct.keys() != second.correct.keys():
    alone = [
      c.config
      for c in {**first.correct, **second.correct}
      if (c in first.correct) != (c in second.correct)
    ]
    raise ValueError(
      f"{alone[0]} is in one run alone; compare runs of the same conditions."
    )
  if first.category:
    return _by_category(first, second)
  return _by_perturbation(first, second)


def _by_perturbation(first: Run, second: Run) -> list[Difference]:
  sides = [_split(run) for run in (first, second)]
  (cells, clean), (others, other_clean) = sides
  weights = np.full(len(clean), 1 / len(clean))
  drawn = np.random.default_rng(0).multinomial(
    len(clean), weights, size=_RESAMPLES
  )
  spread = drawn @ (clean.astype(int) - other_clean) / len(clean)
  out = [
    _line("accuracy", "clean", "", clean.mean(), other_clean.mean(), spread)
  ]
  if not cells:
    return out
  values = [
    action.robustness(
      {c: float(r.mean()) for c, r in rows.items()}, right.mean()
    )
    for rows, right in sides
  ]
  ends = action.comparison_intervals(
    cells, clean, others, other_clean, np.random.default_rng(0)
  )
  for measure in ("gamma_a", "gamma_r"):
    one, other, end = (d[measure] for d in (*values, ends))
    keys = [("all", "", one["mean"], other["mean"], end["mean"])]
    for scope, where in (("group", "groups"), ("perturbation", "names")):
      keys += [
        (scope, name, value, other[where][name], end[where][name])
        for name, value in one[where].items()
      ]
    out += [
      Difference(measure, scope, name, a, b, a - b, *lo_hi)
      for scope, name, a, b, lo_hi in keys
    ]
  return out


def _by_category(first: Run, second: Run) -> list[Difference]:
  one, other = (_split(run)[1] for run in (first, second))
  names = sorted(set(first.category))
  column = np.array(first.category)
  n = len(one)
  drawn = np.random.default_rng(0).multinomial(
    n, np.full(n, 1 / n), size=_RESAMPLES
  )
  out, means, per_draw = [], [], []
  for name in names:
    own = column == name
    count = np.maximum(drawn[:, own].sum(1), 1)
    a, b = (drawn[:, own] @ right[own] / count for right in (one, other))
    out.append(
      _line(
        "accuracy", "category", name, one[own].mean(), other[own].mean(), a - b
      )
    )
    means.append((float(one[own].mean()), float(other[own].mean())))
    per_draw.append((a, b))
  if all(b for _, b in means):
    value = action.perturbed_training(
      {k: a for k, (a, _) in zip(names, means)},
      {k: b for k, (_, b) in zip(names, means)},
    )
    with np.errstate(divide="ignore", invalid="ignore"):
      ratios = np.mean([2 - a / b for a, b in per_draw], axis=0)
    lo, hi = np.quantile(ratios[np.isfinite(ratios)], [0.025, 0.975])
    out.append(
      Difference(
        "gamma_r",
        "all",
        "",
        value,
        1.0,
        value - 1,
        float(lo) - 1,
        float(hi) - 1,
      )
    )
  return out


def _split(run: Run):
  cells = {
    (c.corruption, c.severity): right
    for c, right in run.correct.items()
    if c.corruption
  }
  return cells, run.correct[tasks.Condition()]


def _line(measure, scope, name, first, second, spread) -> Difference:
  lo, hi = np.quantile(spread, [0.025, 0.975])
  a, b = float(first), float(second)
  return Difference(measure, scope, name, a, b, a - b, float(lo), float(hi))


def write(
  lines: Sequence[Difference], models: tuple[str, str], folder: pathlib.Path
) -> str:
  """Writes the csv, the Markdown table and the figure; returns the table."""
  folder.mkdir(parents=True, exist_ok=True)
  with (folder / "comparison.csv").open("w", newline="", encoding="utf-8") as f:
    out = csv.writer(f, lineterminator="\n")
    out.writerow([field.name for field in dataclasses.fields(Difference)])
    out.writerows(dataclasses.astuple(line) for line in lines)
  text = _table(lines, models)
  (folder / "comparison.md").write_text(text, "utf-8")
  _figure(lines, models, folder)
  return text


def _table(lines, models) -> str:
  escape = markdown.escape
  one, other = map(escape, models)
  parts = [
    f"# {one} less {other}, in points, with 95 % intervals\n",
    f"| measure | of | {one} | {other} | difference |",
    "|---|---|---|---|---|",
  ]
  for x in lines:
    what = escape(x.name or x.scope)
    parts.append(
      f"| {x.measure} | {what} | {100 * x.first:.1f} | {100 * x.second:.1f} |"
      f" {100 * x.difference:+.1f} ({100 * x.lo:+.1f} to {100 * x.hi:+.1f}) |"
    )
  return "\n".join([*parts, ""])


def _figure(lines, models, folder) -> None:
  from eval.reports.parts import style

  shown = {
    m: [x for x in lines if x.measure == m and math.isfinite(x.difference)]
    for m in dict.fromkeys(x.measure for x in lines)
  }
  longest = max(map(len, shown.values()))
  # A number by itself is in the table.
  shown = {m: x for m, x in shown.items() if len(x) > 1 or longest == 1}
  fig = style.figure(3.8 * len(shown) + 0.6, 0.24 * longest + 1.2)
  grid = style.axes(fig, 1, len(shown))
  for ax, (measure, own) in zip(grid[0], shown.items()):
    at = np.arange(len(own))
    value = np.array([100 * x.difference for x in own])
    ends = np.array([[100 * x.lo, 100 * x.hi] for x in own]).T
    ax.errorbar(
      value,
      at,
      xerr=np.maximum(np.abs(ends - value), 0),
      fmt="o",
      markersize=4,
      color=style.COLOURS[0],
      elinewidth=1,
    )
    ax.axvline(0, color="#444444", linewidth=0.8)
    ax.set_yticks(at, [(x.name or x.scope).replace("_", " ") for x in own])
    ax.tick_params(axis="y", labelsize=7)
    ax.set_ylim(len(own) - 0.4, -0.6)
    ax.set_title(measure, loc="left")
    ax.set_xlabel("difference (points)")
  style.save(fig, folder, "comparison", [f"{models[0]} less {models[1]}"])


_FIRST = flags.DEFINE_string("first", None, "Workdir of one run.")
_SECOND = flags.DEFINE_string("second", None, "Workdir of the other.")
_FIRST_MODEL = flags.DEFINE_string("first_model", "", "Its model's label.")
_SECOND_MODEL = flags.DEFINE_string("second_model", "", "Its model's label.")
_OUT = flags.DEFINE_string("out", None, "Where the comparison goes.")


def main(argv: Sequence[str]) -> None:
  """Compares the flags' runs."""
  if len(argv) > 1:
    raise app.UsageError(f"Unexpected arguments: {' '.join(argv[1:])}")
  try:
    first = read(pathlib.Path(_FIRST.value or ""), _FIRST_MODEL.value)
    second = read(pathlib.Path(_SECOND.value or ""), _SECOND_MODEL.value)
    names = (first.model, second.model)
    if names[0] == names[1]:
      names = (f"{names[0]} (first)", f"{names[1]} (second)")
    print(write(compare(first, second), names, pathlib.Path(_OUT.value or "")))
  except ValueError as e:
    sys.exit(f"eval.compare: {e}")


if __name__ == "__main__":
  flags.mark_flags_as_required(["first", "second", "out"])
  app.run(main)
