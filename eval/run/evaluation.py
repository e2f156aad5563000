"""`eval.evaluate`: the run of `eval.main` as a function, and its result."""

import dataclasses
import html
import json
import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jax
import ml_collections
import numpy as np

from eval import tasks
from eval.cells import table
from eval.cells.workdir import Workdir
from eval.metrics import definitions
from eval.run import config as config_lib
from eval.run import data as data_lib
from eval.run import dataset_config, runner
from eval.run import plan as plan_lib
from eval.run.model.definitions import ModelObject
from eval.tables import numbers, verdict
from eval.tasks import base
from eval.tasks.headlines import baselines
from models.model import Model
from robust_tfds import errors, missing, own
from robust_tfds.building import own_set
from robust_tfds.building.base import Builder
from robust_tfds.storage import paths

_SEVERITIES = (1, 2, 3, 4, 5)
_FEW = 3  # missing numbers that are named
# Of a model's part of the config: what its spec says where it is an object.
_OF_SPEC = ("dtype", "long_px", "num_classes", "short_px", "train")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
  """The keyword arguments of `eval.evaluate`."""

  conditions: str | Sequence[str] | None = None
  severities: int | Sequence[int] = _SEVERITIES
  limit: int = 0
  workdir: str | os.PathLike[str] | None = None
  batch_size: int = 64
  variables: Any = None
  checkpoint: str | os.PathLike[str] | None = None
  seed: int = 0
  baseline: str | None = None
  name: str = ""
  size: int | None = None
  classes: Any = None
  outputs: str = "auto"
  allow_random: bool = False
  data: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Summary(dict[str, float]):
  """Metric -> value, of those that have one."""

  def __init__(self, values: Mapping[str, float], missing: Mapping[str, str]):
    """`missing` says why others are not here."""
    super().__init__(values)
    self._missing = missing

  def __missing__(self, metric: str) -> float:
    """Raises KeyError with the reason."""
    reason = self._missing.get(metric)
    known = f"it has {', '.join(self) or 'nothing'}"
    raise KeyError(f"{metric}: {reason or known}")


class Result:
  """What a run gave.

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
    """`temporary` is removed with this object."""
    self._run, self._temporary = run, temporary
    self.table = list(rows)
    self.workdir = run.workdir.path
    self.summary = Summary({}, {})
    self.missing: dict[str, str] = {}
    self._shown: dict[str, table.Row] = {}
    for label in run.plan.models:
      self._add(run.plan.task, label, f"{label}/" * (len(run.plan.models) > 1))

  def _add(self, task: base.Task, label: str, start: str) -> None:
    """Adds a model's numbers; their names begin with `start`."""
    rows = [r for r in self.table if r.model == label]
    whole = [
      row
      for row in rows
      if not row.corruption and not row.config and _is_first(row)
    ]
    missing = {r.metric: r.note for r in whole if not r.has_value}
    missing |= _without_baseline(task, whole)
    shown = {r.metric: r for r in whole if r.has_value}
    shown |= _by_corruption(task, rows, shown)
    values = {start + name: row.value for name, row in shown.items()}
    self.missing |= {start + name: why for name, why in missing.items()}
    self.summary = Summary({**self.summary, **values}, self.missing)
    self._shown |= {start + name: row for name, row in shown.items()}

  def report(self, folder: str | os.PathLike[str]) -> None:
    """Writes the reports, `report.html` among them, and `table.csv`.

    Args:
      folder: made where it is not there; files of the same names are replaced.

    Raises:
      UserError: no folder can be there.
    """
    place = paths.of(folder, "report")
    if paths.is_file(place):
      raise errors.UserError(
        f"{folder} is a file, expected a folder or a new name."
      )
    self._run.report(place)
    table.write(self.table, place / "table.csv")

  def __str__(self) -> str:
    """A sentence a model, a line a number, a line of what is missing."""
    task = self._run.plan.task
    lines = verdict.sentences(task.facts, task.family, self.table)
    lines += ["", *(_line(k, row) for k, row in self._shown.items())]
    names = list(dict.fromkeys(k.rpartition("/")[2] for k in self.missing))
    if names:
      more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
      listed = ", ".join(names[:_FEW])
      lines += ["", f"not measured: {listed}{more}; why: result.missing"]
    return "\n".join(lines)

  def _repr_html_(self) -> str:
    """The same, for notebooks."""
    return f"<pre>{html.escape(str(self))}</pre>"


def _line(name: str, row: table.Row) -> str:
  """A number with its interval, and what else is to be known of it."""
  form = numbers.BRACKETS
  text = numbers.with_ends("{:.4f}".format, row.value, row.lo, row.hi, form)
  return f"{name:32} {text}  {row.note}".rstrip()


def _is_first(row: table.Row) -> bool:
  """Whether a number over severities is of no difficulty, or of the first."""
  return row.severity in (None, 1)


def _by_corruption(
  task: base.Task, rows: Sequence[table.Row], shown: Collection[str]
) -> dict[str, table.Row]:
  """`mean_error/fog` and so on, where no mean of the whole benchmark is known.

  Args:
    shown: the benchmark's metrics that have a value.
  """
  if any(metric in shown for metric in task.facts.ranked):
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
  """Normalised metrics that nothing normalises."""
  known = {row.metric for row in rows}
  return {
    metric.name: (f"needs a baseline, e.g. model:LABEL; it has {task.baseline}")
    for metric in task.facts.headlines
    if metric.normalises
    and not metric.name.startswith(definitions.HELD_OUT)
    and not {metric.name, metric.part_of} & known
  }


def evaluate(predict: Any, dataset: Any, options: Options) -> Result:
  """See `eval.evaluate`."""
  try:
    return _evaluate(predict, dataset, options)
  except missing.MissingError as e:
    again = _typed(predict, dataset, options, e.lacks)
    raise missing.MissingError(*e.lacks, again=again) from e


def _evaluate(predict: Any, dataset: Any, options: Options) -> Result:
  config, objects = config_of(predict, dataset, options)
  _check_read(config_lib.parse(config).written.data, options.data)
  place = (
    Workdir(paths.of(options.workdir, "workdir")) if options.workdir else None
  )
  plan = data_lib.plan_of(config, objects, place)
  temporary, folder = None, options.workdir
  if folder is None:
    temporary = tempfile.TemporaryDirectory(prefix="robust_tfds_")
    folder = temporary.name
  run = runner.Runner(plan, paths.of(folder, "workdir"), report=False)
  return Result(run.run(), run, temporary)


def _typed(
  predict: Any, dataset: Any, options: Options, lacks: Sequence[missing.Lack]
) -> str:
  """The call with what it lacks, as one types it; objects by what they are."""
  given = {}
  for field in dataclasses.fields(options):
    value = getattr(options, field.name)
    kind = type(field.default)  # arrays are compared item by item
    if field.name != "data" and not (
      isinstance(value, kind) and value == field.default
    ):
      given[field.name] = value
  given |= {**options.data, **missing.arguments(lacks)}
  words = [_plainly("predict", predict), _plainly("dataset", dataset)]
  words += [f"{name}={_plainly(name, value)}" for name, value in given.items()]
  return f"evaluate({', '.join(words)})"


def _plainly(name: str, value: Any) -> str:
  """A value as one types it; of what is no plain one its name."""
  if isinstance(value, (str, os.PathLike)):
    return json.dumps(os.fspath(value), ensure_ascii=False)
  plain = isinstance(value, (int, float, list, tuple))
  return repr(value) if plain else name


def _check_read(
  data: ml_collections.ConfigDict, given: Mapping[str, Any]
) -> None:
  """Refuses keys of data that say something, and that the set has no use for."""
  for key, value in given.items():
    if value and key not in data and key not in dataset_config.OF_SOURCES:
      raise errors.UserError(
        f"{key}={value!r}: {data.name} is read without it. Leave it out; it has"
        f" {', '.join(k for k in data if k not in ('name', 'own'))}."
      )


def config_of(
  predict: Any, dataset: Any, options: Options
) -> tuple[ml_collections.ConfigDict, dict[str, ModelObject]]:
  """The config that the command would have; label -> model, where it is an object."""
  config = _config(dataset, options)
  example = ml_collections.ConfigDict(config.get("model") or {})
  for key in ("model", "models"):
    if key in config:
      del config[key]
  if not isinstance(predict, Mapping):
    given, config.model = _model(predict, "", example, config, options)
    label = config.model.label or config.model.name
    return config.lock(), {label: given} if given else {}
  if not predict:
    raise errors.UserError("predict: got no model, expected one or several.")
  config.models, objects = ml_collections.ConfigDict(), {}
  for label, each in predict.items():
    given, config.models[label] = _model(each, label, example, config, options)
    if given:
      objects[label] = given
  return config.lock(), objects


def _model(
  predict: Any,
  label: str,
  example: ml_collections.ConfigDict,
  config: ml_collections.ConfigDict,
  options: Options,
) -> tuple[ModelObject | None, ml_collections.ConfigDict]:
  """A model where it is an object, and its part of the config.

  Args:
    predict: what was handed over.
    label: its name where several are; empty of one.
    example: a model's part of the data set's config.
  """
  given = _given(predict, label, config, options)
  return given, _entry(predict, given, example, options)


def _config(dataset: Any, options: Options) -> ml_collections.ConfigDict:
  """The benchmark's config with the options, but for the models."""
  config = dataset_config.of(dataset)
  data = config.data
  with config.ignore_type():  # the schema refuses what they must not be
    data.limit, config.seed = _plain(options.limit), _plain(options.seed)
  config.baseline = _baseline(dataset, options)
  with config.ignore_type():
    for key, value in options.data.items():
      data[key] = os.fspath(value) if isinstance(value, os.PathLike) else value
    if options.name:
      _check_own(dataset, options.name)
      data.set_name = options.name
    builder = dataset_config.builder_class(config)
    data.name = builder if builder.OWN else dataset  # lists files once
  task = tasks.get(config.task or dataset_config.task_of(builder))
  config.batch_size = _batch_size(task, options.batch_size)
  _set_conditions(data, builder, options)
  return config


def _check_own(dataset: Any, name: str) -> None:
  if isinstance(dataset, str) and not own.is_source(dataset):
    raise errors.UserError(
      f"name={name!r}: {dataset} has its name; name= is of data of your own."
      " Leave it out."
    )


def _plain(value: Any) -> Any:
  return value.item() if isinstance(value, np.generic) else value


def _set_conditions(
  data: ml_collections.ConfigDict, builder: type[Builder], options: Options
) -> None:
  """Which conditions, under the names that the data set's config has."""
  dataset, family = builder.set_name(), builder.FAMILY
  keys = (f"{family.noun}s" if family else "", "corruptions", "perturbations")
  key = next((k for k in keys if k in data), "")
  asked = options.conditions is not None
  if key and (asked or data[key] != "none" and key not in options.data):
    usual = dataset_config.default_conditions(builder)
    with data.ignore_type():
      data[key] = options.conditions if asked else usual
  elif asked:
    raise errors.UserError(
      f"conditions={options.conditions!r}: {dataset} is natural data, shown as it"
      " is. Leave conditions out."
    )
  if "severities" in data:
    with data.ignore_type():
      data.severities = options.severities
  elif options.severities != _SEVERITIES:
    remedy = " Use difficulties=." if "difficulties" in data else ""
    raise errors.UserError(
      f"severities={options.severities!r}: {dataset} has none.{remedy}"
    )


def _baseline(dataset: str, options: Options) -> str:
  """The papers' where its numbers are of these pictures."""
  if options.baseline is not None:
    return options.baseline
  geometry = options.data.get("geometry", "")
  if geometry not in ("", "imagenet"):
    return ""
  return baselines.default(dataset)


def _batch_size(task: type[base.Task], pictures: int) -> int:
  """Examples at once: a multiple of the devices."""
  if not isinstance(pictures, int) or pictures < 1:
    raise errors.UserError(
      f"batch_size: got {pictures!r}, expected a whole number from 1."
    )
  examples = dataset_config.batch_size(task.set_kind, pictures)
  count = len(jax.devices())
  return -(-examples // count) * count


def _given(
  predict: Any, label: str, config: ml_collections.ConfigDict, options: Options
) -> ModelObject | None:
  """The model as an object; None where it is a name without variables."""
  size = options.size
  if size is not None and (not isinstance(size, int) or size < 1):
    raise errors.UserError(
      f"size={options.size!r}: expected a whole number of px from 1."
    )
  if options.size and (isinstance(predict, (str, Model))):
    raise errors.UserError(
      f"size={options.size}: {predict} says its size itself; size= is of a plain"
      " function. Leave it out."
    )
  if isinstance(predict, str):
    if options.variables is None:
      return None
    import models

    return ModelObject(models.get(predict), options.variables)
  if isinstance(predict, Model):
    return _of_model(predict, options)
  if options.variables is not None or options.checkpoint is not None:
    raise errors.UserError(
      "variables= and checkpoint= are for models of the catalogue; a function"
      " has its own weights."
    )
  parsed = config_lib.parse(config)
  classes = options.classes
  return ModelObject(
    plan_lib.of_function(
      parsed,
      predict,
      options.size,
      None if classes is None else _plain_classes(classes),
      label,
    )
  )


def _of_model(model: Model, options: Options) -> ModelObject:
  if model.is_external and options.checkpoint is not None:
    raise errors.UserError(
      f"checkpoint={options.checkpoint}: {model.name} brings its own weights."
    )
  return ModelObject(model, options.variables)


def _plain_classes(classes: Any) -> Any:
  """As a config has them: a path, names, or (name, numbers of its outputs).

  Raises:
    UserError: without an order, as a set.
  """
  if isinstance(classes, (str, os.PathLike)) and paths.is_file(
    paths.of(classes, "classes")
  ):
    return os.fspath(classes)
  if isinstance(classes, str) and classes in own_set.ORDERS:
    return classes
  plain: list[Any] = []
  if isinstance(classes, Mapping):
    plain = [[str(k), np.atleast_1d(v).tolist()] for k, v in classes.items()]
    whole = all(type(o) is int for _, outputs in plain for o in outputs)
    plain = plain if whole else []
  elif isinstance(classes, (list, tuple, np.ndarray)):
    plain = [str(name) for name in classes]
  if not plain:
    raise errors.UserError(
      f"classes={classes!r}: expected a file of names that is there, a list of names"
      " in the order of the outputs, name -> the numbers of its outputs, or, where"
      " the names are numbers, 'textual' or 'numeric' for their order."
    )
  return plain


def _entry(
  predict: Any,
  given: ModelObject | None,
  example: ml_collections.ConfigDict,
  options: Options,
) -> ml_collections.ConfigDict:
  """The model's part of the config."""
  entry = example.copy_and_resolve_references()
  of_name = isinstance(predict, str) and ":" not in predict
  for key in ("train",) if of_name and not given else _OF_SPEC:
    if key in entry:
      del entry[key]
  name = given.model.name if given else predict
  entry.name = predict if isinstance(predict, str) else name
  entry.label = "" if entry.name == name else name
  entry.checkpoint = ""
  if options.checkpoint is not None:
    entry.checkpoint = os.fspath(options.checkpoint)
  if options.classes is not None:
    entry.classes = _plain_classes(options.classes)
  if options.allow_random:
    entry.allow_random = True
  if options.outputs != "auto":
    entry.spec = {**entry.get("spec", {}), "outputs": options.outputs}
  return entry
