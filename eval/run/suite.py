"""A suite: models through many benchmarks, each run in a workdir of its own.

out/<label>/<run>/    a run's workdir: `imagenet_c+bn+tent`
out/suite.csv         the rows of all tables, with the step before them
out/index.html        every headline, with links to the runs' reports
out/timm/<step>.csv   on request, in the form of timm's results

A step is a data set, or a data set under an adaptation method: `imagenet_c+tent`. The
steps of one data set are one run, which reads its files once.
What is not here is left out and said; finished runs are read again, not made again.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from etils import epath

from eval.cells import names as names_lib
from eval.cells import table
from eval.cells.workdir import Workdir
from eval.run import costs, estimate, keywords, runner, timm_results
from eval.run import data as data_lib
from eval.run import plan as plan_lib
from eval.run.execution.progress import say
from eval.run.model import adapted
from eval.tables import csv_text, verdict
from robust_tfds import errors, natural_sets, reading
from robust_tfds.building.sources import known_files
from robust_tfds.storage import disk

_MODEL_LINE = "NAME,CHECKPOINT or NAME,CHECKPOINT,LABEL"
_CORRUPTED = (
  "imagenet_c",
  "imagenet_c+bn",
  "imagenet_c+tent",
  "imagenet_c_bar",
  "imagenet_p",
)


def default_steps() -> tuple[str, ...]:
  """Return the steps of a suite that names none: ImageNet's benchmarks."""
  natural = [n for n, row in natural_sets.rows().items() if not row.has_boxes]
  return (*_CORRUPTED, *natural)


@dataclasses.dataclass(frozen=True)
class Entry:
  """A model of a suite.

  Attributes:
    name: as `models.get` takes it, or `my_module:build`.
    checkpoint: its weights, as `models.convert.load` takes them; empty: none.
    label: what tables call it.
    problem: why a list's line names no model; empty if it does.
  """

  name: str
  checkpoint: str
  label: str
  problem: str = ""


@dataclasses.dataclass(frozen=True)
class Step:
  """A data set of a suite, and the method that adapts to it; empty: none."""

  dataset: str
  method: str = ""

  @classmethod
  def parse(cls, text: str) -> Step:
    """Return the step that a text names, e.g. `imagenet_c+tent`."""
    return cls(*text.split("+", 1))

  @property
  def name(self) -> str:
    """The step in one word, e.g. `imagenet_c+tent`."""
    return "+".join(filter(None, (self.dataset, self.method)))

  @property
  def folder(self) -> str:
    """The step's name as a folder's."""
    return self.name.replace("/", "_")


@dataclasses.dataclass(frozen=True)
class Outcome:
  """What a model's run of a step gave.

  Attributes:
    entry: the model.
    step: the data set and the method.
    folder: of the run, below the model's.
    rows: of its table, of the model itself; none if the run was left out.
    plan: of the run; None if it could not be planned.
    reason: why the run was left out; empty if it was not.
  """

  entry: Entry
  step: Step
  folder: str = ""
  rows: Sequence[table.Row] = ()
  plan: plan_lib.Plan | None = None
  reason: str = ""

  @property
  def label(self) -> str:
    """The label of the model in the run, where its source is beside it."""
    return " ".join(filter(None, (self.entry.label, self.step.method)))

  @property
  def title(self) -> str:
    """The model and the step."""
    return _title(self.entry, [self.step])

  @property
  def report(self) -> str:
    """The path of the run's report, from the suite's folder."""
    folder = names_lib.folder_name(self.entry.label)
    return f"{folder}/{self.folder}/reports/report.html"

  @functools.cached_property
  def whole(self) -> Mapping[str, table.Row]:
    """Metric -> its row over the whole benchmark, where it has a value."""
    return {
      row.metric: row for row in self.rows if row.has_value and row.is_summary
    }


def read_models(path: str | os.PathLike[str]) -> list[Entry]:
  """Read a list of models: a CSV without a header, a line a model.

  A line of another form, or with a label that is there already, becomes an entry
  with a `problem`.

  Args:
    path: of the file; lines that begin with # are comments.

  Raises:
    UserError: no such file, or one without lines.
  """
  entries: dict[str, Entry] = {}
  lines = reading.text_file(path).splitlines()
  for number, line in enumerate(lines, 1):
    if not line.strip() or line.lstrip().startswith("#"):
      continue
    place = f"line {number} of {epath.Path(path).name}"
    try:
      entry = _entry(line, entries)
    except errors.UserError as e:
      entry = Entry("", "", place, str(e))
    entries[entry.label] = entry
  if not entries:
    raise errors.UserError(
      f"{path}: it names no model; expected {_MODEL_LINE}."
    )
  return list(entries.values())


def _entry(line: str, known: Collection[str]) -> Entry:
  """Return the model that a line names, whose label is not known."""
  ((_, cells),) = reading.csv_text(line, repr(line))
  words = [cell.strip() for cell in cells]
  if len(words) not in (2, 3) or not words[0]:
    raise errors.UserError(f"got {line!r}, expected {_MODEL_LINE}.")
  label = words[2] if len(words) == 3 and words[2] else words[0]
  if label in known:
    raise errors.UserError(
      f"the label {label} is there already. Add another one:"
      f" {words[0]},{words[1]},LABEL."
    )
  return Entry(words[0], words[1], label)


class Suite:
  """Models, steps, and the folder of their runs."""

  def __init__(
    self,
    entries: Sequence[Entry],
    steps: Sequence[str],
    out: epath.Path,
    options: Mapping[str, Any],
  ):
    """Prepare nothing yet.

    Args:
      entries: the models.
      steps: names, e.g. `imagenet_c`, `imagenet_c+tent`.
      out: the suite's folder.
      options: keywords of `evaluate` for every run that has a use for them.

    Raises:
      UserError: a step twice.
    """
    self.steps = [Step.parse(text) for text in steps]
    counts = collections.Counter(step.name for step in self.steps)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
      raise errors.UserError(f"sets: {', '.join(twice)} is named twice.")
    self.entries, self.out = list(entries), out
    self._options = {"data_dir": os.fspath(out / "data"), **options}

  def describe(self, *, measure: bool = False) -> Iterator[str]:
    """Yield a line about the work of every run, and what is not here.

    Args:
      measure: compile and time what it needs.
    """
    for entry, steps in self._runs():
      if row := self._downloaded(steps[0]):
        yield (
          f"{_title(entry, steps)}: {int(row.pictures):,} images in the set; not"
          " prepared: a run lets TFDS download it"
        )
        continue
      steps, refused = self._usable(entry, steps)
      yield from (f"{o.title}: left out: {o.reason}" for o in refused)
      if not steps:
        continue
      title = _title(entry, steps)
      try:
        plan = self._plan(entry, steps, fetch=False)
        place = self._workdir(entry, steps)
        lacks = [*plan.lacks, *data_lib.lacks(plan, place)]
      except errors.UserError as e:
        yield f"{title}: left out: {_first_line(e)}"
        continue
      find = costs.measure if measure and not lacks else costs.count
      cost = find(plan, place, plan.cells)
      work = estimate.work(plan, cost, plan.cells, measure and not lacks)
      absent = f"; left out: {lacks[0].what}: not here" if lacks else ""
      yield f"{title}: {len(plan.conditions)} conditions; {work}{absent}"
    yield from self._shared_files()

  def _downloaded(self, step: Step) -> natural_sets.Row | None:
    """Return the row of a natural set that planning would let TFDS download."""
    name, _, config = step.dataset.partition("/")
    row = natural_sets.rows().get(name)
    if not row or not row.source or row.layout:
      return None
    if config and config not in row.configs.split(","):
      return None
    folder = epath.Path(self._options["data_dir"]) / row.source
    ends = ("*/dataset_info.json", "*/*/dataset_info.json")
    prepared = any(True for end in ends for _ in folder.glob(end))
    return None if prepared else row

  def run(self) -> list[Outcome]:
    """Run everything that is here; write the page and the CSV after every run."""
    outcomes: list[Outcome] = []
    runs = list(self._runs())
    for number, (entry, steps) in enumerate(runs, 1):
      say(f"[{number}/{len(runs)}] {_title(entry, steps)}")
      outcomes += self._outcomes(entry, steps)
      self.write(outcomes)
    if all(outcome.reason for outcome in outcomes):
      raise errors.UserError(
        f"Nothing could be run: {outcomes[0].title}: {outcomes[0].reason}"
      )
    return outcomes

  def _runs(self) -> Iterator[tuple[Entry, list[Step]]]:
    """Yield each model with the steps of one data set, which one pass serves."""
    of_set: dict[str, list[Step]] = {}
    for step in self.steps:
      of_set.setdefault(step.dataset, []).append(step)
    for entry in self.entries:
      for steps in of_set.values() if not entry.problem else [[Step("")]]:
        yield entry, steps

  def _workdir(self, entry: Entry, steps: Sequence[Step]) -> Workdir:
    folder = names_lib.folder_name(entry.label)
    return Workdir(self.out / folder / _run_folder(steps))

  def _plan(
    self, entry: Entry, steps: Sequence[Step], *, fetch: bool = True
  ) -> plan_lib.Plan:
    """Return the plan of the run of a data set's steps.

    Raises:
      UserError: it cannot be run, or something is not here.
    """
    if entry.problem:
      raise errors.UserError(entry.problem)
    given = {**keywords.DEFAULTS, **self._options}
    given["checkpoint"] = entry.checkpoint or None
    if methods := [step.method for step in steps if step.method]:
      given["adapt"] = {"method": methods[0], "beside": ",".join(methods[1:])}
    predict = {entry.label: entry.name}
    spec, objects = keywords.spec_of(predict, steps[0].dataset, given)
    if not fetch:
      return plan_lib.make(spec, objects, fetch=False)
    return data_lib.plan_of(spec, objects, self._workdir(entry, steps))

  def _usable(
    self, entry: Entry, steps: Sequence[Step]
  ) -> tuple[list[Step], list[Outcome]]:
    """Return the steps whose methods can adapt the model, and the others' refusals."""
    usable, refused = [], []
    for step in steps:
      outcome = Outcome(entry, step)
      try:
        if step.method:
          plan = self._plan(entry, [step], fetch=False)
          adapted.check(plan, outcome.label)
        usable.append(step)
      except errors.UserError as e:
        refused.append(dataclasses.replace(outcome, reason=_first_line(e)))
    return usable, refused

  def _outcomes(self, entry: Entry, steps: Sequence[Step]) -> list[Outcome]:
    """Run a data set's steps; a refusal is a reason, and the next run goes on."""
    usable, refused = self._usable(entry, steps)
    outcomes = {outcome.step: outcome for outcome in refused}
    try:
      if usable:
        plan = self._plan(entry, usable)
        rows = runner.Runner(plan, self._workdir(entry, usable).path).run()
    except errors.UserError as e:
      reason = _first_line(e)
      outcomes |= {s: Outcome(entry, s, reason=reason) for s in usable}
    for step in steps:
      if step in outcomes:
        say(f"{outcomes[step].title}: left out: {outcomes[step].reason}")
        continue
      outcome = Outcome(entry, step, _run_folder(usable), plan=plan)
      own = [row for row in rows if row.model == outcome.label]
      outcomes[step] = dataclasses.replace(outcome, rows=own)
      for sentence in verdict.sentences(plan.task.facts, plan.task.family, own):
        say(sentence)
    return [outcomes[step] for step in steps]

  def _shared_files(self) -> Iterator[str]:
    """Yield a line for each file that several runs of a model read."""
    names = {step.dataset for step in self.steps}
    for row in known_files.rows():
      of_file = [name for name in row.sets.split(",") if name in names]
      if len(of_file) > 1:
        yield (
          f"{row.file} is read {len(of_file)} times a model: {', '.join(of_file)}."
          " Their pixels depend on the set's name, its crop or its sequences; all"
          " conditions and adapted twins of one set share its pass."
        )

  def write(self, outcomes: Sequence[Outcome]) -> None:
    """Write the page and the CSV of what is finished."""
    from eval.report.pages import suite_page

    lines = [
      [o.step.name, *dataclasses.astuple(row)]
      for o in outcomes
      for row in o.rows
    ]
    with disk.writing(self.out):
      self.out.mkdir(parents=True, exist_ok=True)
      text = csv_text.text(["step", *table.COLUMNS], lines)
      disk.write_text(self.out / "suite.csv", text)
      disk.write_text(self.out / "index.html", suite_page.html(outcomes))

  def write_timm(self, outcomes: Sequence[Outcome]) -> None:
    """Write a CSV in the form of timm's results for every step of pictures."""
    for step in self.steps:
      rows = [
        timm_results.row(o.plan, o.label, o.rows)
        for o in outcomes
        if o.step == step and o.plan and timm_results.fits(o.plan)
      ]
      if rows:
        folder = self.out / "timm"
        folder.mkdir(parents=True, exist_ok=True)
        text = csv_text.text(timm_results.COLUMNS, rows)
        disk.write_text(folder / f"{step.folder}.csv", text)


def _title(entry: Entry, steps: Sequence[Step]) -> str:
  """Return a run in words; a line that names no model has no step."""
  return ", ".join(filter(None, (entry.label, *[step.name for step in steps])))


def _run_folder(steps: Sequence[Step]) -> str:
  """Return the name of the folder of the run of a data set's steps."""
  methods = [step.method for step in steps if step.method]
  return "+".join((Step(steps[0].dataset).folder, *methods))


def _first_line(error: Exception) -> str:
  """Return the first line of an error."""
  return str(error).splitlines()[0]
