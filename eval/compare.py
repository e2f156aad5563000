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
import io
import math
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np
from absl import flags
from etils import epath

from robust_tfds import command
from robust_tfds import errors
from robust_tfds import paths
from robust_tfds.conditions import Condition
from robust_tfds.eval import tasks
from robust_tfds.eval.metrics import action
from robust_tfds.eval.reports.parts import markdown
from robust_tfds.eval.results import config_file
from robust_tfds.eval.results import disk
from robust_tfds.eval.results import formulas
from robust_tfds.eval.results.workdir import Workdir

_SAME = ("task", "seed", "data.name", "data.split", "data.limit")
_RESAMPLES = 1000


@dataclasses.dataclass(frozen=True)
class Run:
  """What a comparison needs of one model's run.

  Attributes:
    model: its label.
    facts: settings that both runs must share.
    ids: of the videos, in the order of all columns.
    labels: int `[videos]`, their true classes.
    correct: condition -> bool `[videos]`.
    category: of each video's shift; empty where there are none.
  """

  model: str
  facts: Mapping[str, object]
  ids: np.ndarray
  labels: np.ndarray
  correct: Mapping[Condition, np.ndarray]
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


def read(folder: epath.Path, model: str = "") -> Run:
  """One model of a finished run of the task `video`.

  Raises:
    UserError: no workdir, another task, unfinished cells, cells over different
      videos, or a model that is not there or not named among several.
  """
  workdir = Workdir(folder)
  config = workdir.config()
  if config.get("task") != "video":
    raise errors.UserError(
      f"{folder} is of the task {config.get('task')!r}; runs of `video` can be"
      " compared."
    )
  label = _label(workdir, model)
  task = tasks.bind(config)
  cells = {c.condition: c for c in workdir.cells() if c.model == label}
  ids, labels, category = np.empty(0), np.empty(0), []
  correct: dict[Condition, np.ndarray] = {}
  for condition in task.conditions():
    if condition not in cells:
      raise errors.UserError(
        f"{folder}: the cell {label} {condition.config} is not finished. Run"
        " eval.main again to continue it."
      )
    columns = workdir.columns(cells[condition])
    if correct and not np.array_equal(ids, columns["example_id"]):
      raise errors.UserError(
        f"{folder}: {label} {condition.config} is of other videos than the cells"
        " before it."
      )
    if correct and not np.array_equal(labels, columns["label"]):
      raise errors.UserError(
        f"{folder}: {label} {condition.config} has other true classes than the"
        " cells before it."
      )
    ids, labels = columns["example_id"], columns["label"]
    correct[condition] = task.summary_inputs(columns)
    category = list(columns.get("category", ()))
  flat = config_file.plain(config)
  facts = {name: _setting(flat, name) for name in _SAME}
  return Run(label, facts, ids, labels, correct, category)


def _label(workdir: Workdir, model: str) -> str:
  labels = workdir.labels()
  if not labels:
    raise errors.UserError(f"{workdir.path}: its config.json names no model.")
  if not model and len(labels) > 1:
    raise errors.UserError(
      f"{workdir.path} has several models, {', '.join(labels)}: name one."
    )
  label = model or labels[0]
  if label not in labels:
    raise errors.unknown(f"model of {workdir.path}", label, labels)
  return label


def _setting(config: Mapping[str, Any], name: str) -> Any:
  """A config's `data.name` and so on; None where there is none."""
  value: Any = config
  for part in name.split("."):
    value = value.get(part) if isinstance(value, dict) else None
  return value


def compare(first: Run, second: Run) -> list[Difference]:
  """The comparison's lines.

  Raises:
    UserError: runs of different data, seeds, videos or conditions.
  """
  differ = [n for n in _SAME if first.facts[n] != second.facts[n]]
  if differ:
    listed = "; ".join(
      f"{n}: {first.facts[n]!r} and {second.facts[n]!r}" for n in differ
    )
    raise errors.UserError(f"The runs are not comparable ({listed}).")
  if not np.array_equal(first.ids, second.ids):
    unpaired = set(first.ids.tolist()) ^ set(second.ids.tolist())
    raise errors.UserError(
      f"The runs saw different videos: {len(unpaired)} are in one alone, e.g."
      f" {min(unpaired, default='-')}."
    )
  other = np.flatnonzero(first.labels != second.labels)
  if len(other):
    i = other[0]
    raise errors.UserError(
      f"The runs have other true classes: {first.ids[i]} has {first.labels[i]} in"
      f" the first and {second.labels[i]} in the second. Were their classes"
      " numbered alike?"
    )
  for which, run in (("first", first), ("second", second)):
    if len(run.correct) > 1 and not run.correct[Condition()].any():
      raise errors.UserError(
        f"The {which} run, {run.model}: no video is right even without a"
        " perturbation, so nothing can be relative to that. Check its labels and"
        " preprocessing."
      )
  if first.correct.keys() != second.correct.keys():
    alone = [
      c.config
      for c in {**first.correct, **second.correct}
      if (c in first.correct) != (c in second.correct)
    ]
    raise errors.UserError(
      f"{alone[0]} is in one run alone; compare runs of the same conditions."
    )
  if first.category:
    return _by_category(first, second)
  return _by_perturbation(first, second)


def _by_perturbation(first: Run, second: Run) -> list[Difference]:
  sides = [split(run) for run in (first, second)]
  (cells, clean), (others, other_clean) = sides
  weights = np.full(len(clean), 1 / len(clean))
  resamples = np.random.default_rng(0).multinomial(
    len(clean), weights, size=_RESAMPLES
  )
  spread = resamples @ (clean.astype(int) - other_clean) / len(clean)
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
  one, other = (split(run)[1] for run in (first, second))
  names = sorted(set(first.category))
  column = np.array(first.category)
  n = len(one)
  resamples = np.random.default_rng(0).multinomial(
    n, np.full(n, 1 / n), size=_RESAMPLES
  )
  out, means, per_draw = [], [], []
  for name in names:
    inside = column == name
    count = np.maximum(resamples[:, inside].sum(1), 1)
    a, b = (
      resamples[:, inside] @ right[inside] / count for right in (one, other)
    )
    first_mean = float(one[inside].mean())
    second_mean = float(other[inside].mean())
    out.append(
      _line("accuracy", "category", name, first_mean, second_mean, a - b)
    )
    means.append((first_mean, second_mean))
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


def split(
  run: Run,
) -> tuple[dict[tuple[str, int], np.ndarray], np.ndarray]:
  """(perturbation, severity) -> which videos are right, and which clean ones."""
  cells = {
    (c.name, c.level): right for c, right in run.correct.items() if not c.clean
  }
  return cells, run.correct[Condition()]


def _line(
  measure: str,
  scope: str,
  name: str,
  first: float,
  second: float,
  spread: np.ndarray,
) -> Difference:
  lo, hi = np.quantile(spread, [0.025, 0.975])
  a, b = float(first), float(second)
  return Difference(measure, scope, name, a, b, a - b, float(lo), float(hi))


def write(
  lines: Sequence[Difference], models: tuple[str, str], folder: epath.Path
) -> str:
  """Writes the csv, the Markdown table and the figure; returns the table."""
  with disk.writing(folder):
    folder.mkdir(parents=True, exist_ok=True)
    return _write(lines, models, folder)


def _write(
  lines: Sequence[Difference], models: tuple[str, str], folder: epath.Path
) -> str:
  rows = io.StringIO()
  out = csv.writer(rows, lineterminator="\n")
  out.writerow([field.name for field in dataclasses.fields(Difference)])
  out.writerows(
    [formulas.neutral(x) if isinstance(x, str) else x for x in values]
    for values in map(dataclasses.astuple, lines)
  )
  (folder / "comparison.csv").write_text(rows.getvalue(), "utf-8")
  text = _table(lines, models)
  (folder / "comparison.md").write_text(text, "utf-8")
  _figure(lines, models, folder)
  return text


def _table(lines: Sequence[Difference], models: tuple[str, str]) -> str:
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


def _figure(
  lines: Sequence[Difference], models: tuple[str, str], folder: epath.Path
) -> None:
  from robust_tfds.eval.reports.parts import style

  panels = {
    m: [x for x in lines if x.measure == m and math.isfinite(x.difference)]
    for m in dict.fromkeys(x.measure for x in lines)
  }
  longest = max(map(len, panels.values()))
  # A number by itself is in the table.
  panels = {m: x for m, x in panels.items() if len(x) > 1 or longest == 1}
  fig = style.figure(3.8 * len(panels) + 0.6, 0.24 * longest + 1.2)
  grid = style.axes(fig, 1, len(panels))
  for ax, (measure, bars) in zip(grid[0], panels.items()):
    at = np.arange(len(bars))
    value = np.array([100 * x.difference for x in bars])
    ends = np.array([[100 * x.lo, 100 * x.hi] for x in bars]).T
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
    ax.set_yticks(at, [(x.name or x.scope).replace("_", " ") for x in bars])
    ax.tick_params(axis="y", labelsize=7)
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.set_title(measure, loc="left")
    ax.set_xlabel("difference (points)")
  style.save(fig, folder, "comparison", [f"{models[0]} less {models[1]}"])


def define_flags() -> None:
  """The command's flags."""
  flags.DEFINE_string("first", None, "Workdir of one run.")
  flags.DEFINE_string("second", None, "Workdir of the other.")
  flags.DEFINE_string("first_model", "", "Its model's label.")
  flags.DEFINE_string("second_model", "", "Its model's label.")
  flags.DEFINE_string("out", None, "Where the comparison goes.")
  flags.mark_flags_as_required(["first", "second", "out"])


def main(argv: Sequence[str]) -> None:
  """Compares the flags' runs."""
  command.no_arguments(argv)
  settings = flags.FLAGS
  place = paths.of(settings.out, "--out")
  first = read(paths.of(settings.first, "--first"), settings.first_model)
  second = read(paths.of(settings.second, "--second"), settings.second_model)
  models = (first.model, second.model)
  if first.model == second.model:
    models = (f"{first.model} (first)", f"{second.model} (second)")
  lines = compare(first, second)
  with disk.writing(place):
    print(write(lines, models, place))


if __name__ == "__main__":
  command.run(main, define_flags)
