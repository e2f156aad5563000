"""`eval.evaluate`: the run of `eval.main` as a function, and its result."""

import html
import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from eval.cells import table
from eval.cells.workdir import Workdir
from eval.metrics import definitions
from eval.run import ccc, runner
from eval.run import data as data_lib
from eval.run import keywords as keywords_lib
from eval.tables import numbers, verdict
from eval.tasks import base
from robust_tfds import conditions, errors, missing
from robust_tfds.storage import paths

_FEW = 3  # missing numbers that are named
_CLASS, _CLASSES = "/class=", 30  # numbers of classes that are printed


class Summary(dict[str, float]):
  """The metrics that have a value: metric -> value."""

  def __init__(self, values: Mapping[str, float], missing: Mapping[str, str]):
    """Create it; `missing` says why other metrics have no value."""
    super().__init__(values)
    self._missing = missing

  def __missing__(self, metric: str) -> float:
    """Raise KeyError with the reason."""
    reason = self._missing.get(metric)
    known = f"it has {', '.join(self) or 'nothing'}"
    raise KeyError(f"{metric}: {reason or known}")


class Result:
  """The result of a run.

  Attributes:
    table: the tidy rows, as in `table.csv`.
    summary: metric -> value over the benchmark; of a part of its conditions
      under names of their own (`part_mean_corruption_error`), and by corruption
      (`mean_error/fog`). Of several models under their labels: `a/clean_error`.
    missing: metric -> why it is not in `summary`.
    workdir: the run's folder.
  """

  def __init__(
    self,
    rows: Sequence[table.Row],
    run: runner.Runner,
    temporary: tempfile.TemporaryDirectory[str] | None,
  ):
    """Create it; `temporary` is removed with this object."""
    self._run, self._temporary = run, temporary
    self.table = list(rows)
    self.workdir = run.workdir.path
    self.summary = Summary({}, {})
    self.missing: dict[str, str] = {}
    self._shown: dict[str, table.Row] = {}
    for label in run.plan.models:
      self._add(run.plan.task, label, f"{label}/" * (len(run.plan.models) > 1))

  def _add(self, task: base.Task, label: str, start: str) -> None:
    """Add a model's numbers; their names begin with `start`."""
    rows = [r for r in self.table if r.model == label]
    whole = [row for row in rows if row.is_summary]
    missing = {r.metric: r.note for r in whole if not r.has_value}
    missing |= _without_baseline(task, whole)
    shown = {r.metric: r for r in whole if r.has_value}
    shown |= _condition_rows(task, rows, shown)
    values = {start + name: row.value for name, row in shown.items()}
    self.missing |= {start + name: why for name, why in missing.items()}
    self.summary = Summary({**self.summary, **values}, self.missing)
    self._shown |= {start + name: row for name, row in shown.items()}

  def report(self, folder: str | os.PathLike[str]) -> None:
    """Write the reports, `report.html` among them, and `table.csv`.

    Args:
      folder: made where it is not there; files of the same names are replaced.

    Raises:
      UserError: no folder can be there.
    """
    place = paths.parse(folder, "report")
    if paths.is_file(place):
      raise errors.UserError(
        f"{folder} is a file, expected a folder or a new name."
      )
    self._run.report(place)
    table.write(self.table, place / "table.csv")

  def __str__(self) -> str:
    """Return a verdict for each model, a line for each number, and what is missing."""
    task = self._run.plan.task
    lines = verdict.sentences(task.facts, task.family, self.table)
    shown = {k: v for k, v in self._shown.items() if _CLASS not in k}
    classes = len(self._shown) - len(shown)
    if classes <= _CLASSES:
      shown, classes = self._shown, 0
    lines += ["", *(_line(k, row) for k, row in shown.items())]
    if classes:
      lines += [f"and {classes} numbers of classes: result.summary"]
    names = list(dict.fromkeys(k.rpartition("/")[2] for k in self.missing))
    if names:
      more = ", ..." * (len(names) > _FEW)
      listed = ", ".join(names[:_FEW])
      lines += ["", f"not measured: {listed}{more}; why: result.missing"]
    return "\n".join(lines)

  def _repr_html_(self) -> str:
    """Return the same as HTML, for notebooks."""
    return f"<pre>{html.escape(str(self))}</pre>"


def _line(name: str, row: table.Row) -> str:
  """Return a number with its interval and its note."""
  form = numbers.BRACKETS
  text = numbers.interval_text("{:.4f}".format, row.value, row.lo, row.hi, form)
  return f"{name:32} {text}  {row.note}".rstrip()


def _is_first(row: table.Row) -> bool:
  """Return whether a row has no difficulty, or the first."""
  return row.severity in (None, 1)


def _condition_rows(
  task: base.Task, rows: Sequence[table.Row], metrics: Collection[str]
) -> dict[str, table.Row]:
  """Return rows like `mean_error/fog` if the whole benchmark has no mean.

  Args:
    metrics: the benchmark's metrics that have a value.
  """
  if any(metric in metrics for metric in task.facts.ranked):
    return {}
  details = {metric.name for metric in task.facts.details}
  return {
    f"{r.metric}/{r.corruption}": r
    for r in rows
    if r.corruption and r.metric in details and r.has_value and _is_first(r)
  }


def _without_baseline(
  task: base.Task, rows: Sequence[table.Row]
) -> dict[str, str]:
  """Return the normalised metrics that lack a baseline: name -> what to do."""
  published = conditions.family(task.family.kind).names("common")
  if task.family.names("common") != published:
    return {}  # a C-bar set, of which nothing is normalised
  known = {row.metric for row in rows}
  return {
    metric.name: (f"needs a baseline, e.g. model:LABEL; it has {task.baseline}")
    for metric in task.facts.headlines
    if metric.normalises
    and not metric.name.startswith(definitions.HELD_OUT)
    and not {metric.name, metric.part_of} & known
  }


def evaluate(predict: Any, dataset: Any, keywords: Mapping[str, Any]) -> Result:
  """Run `eval.evaluate`; its docstring describes the arguments."""
  try:
    return _evaluate(predict, dataset, keywords)
  except missing.MissingError as e:
    again = keywords_lib.typed(predict, dataset, keywords, e.lacks)
    raise missing.MissingError(*e.lacks, next_command=again) from e


def _evaluate(predict: Any, dataset: Any, keywords: Mapping[str, Any]) -> Any:
  if isinstance(dataset, str) and dataset in ccc.NAMES:
    from eval.run.ccc import evaluation as ccc_evaluation

    return ccc_evaluation.evaluate(predict, dataset, keywords)
  for name, default in keywords_lib.OF_STREAMS.items():
    if keywords[name] != default:
      raise errors.UserError(
        f"{name}={keywords[name]!r} is only for the streams"
        f" {', '.join(ccc.NAMES)}. Leave it out."
      )
  spec, objects = keywords_lib.spec_of(predict, dataset, keywords)
  temporary, folder = None, keywords["workdir"]
  place = Workdir(paths.parse(folder, "workdir")) if folder else None
  plan = data_lib.plan_of(spec, objects, place)
  if not folder:
    temporary = tempfile.TemporaryDirectory(prefix="robust_tfds_")
    folder = temporary.name
  run = runner.Runner(plan, paths.parse(folder, "workdir"), report=False)
  return Result(run.run(), run, temporary)
