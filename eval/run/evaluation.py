"""`eval.evaluate`: the run of `eval.main` as a function, and its result."""

from __future__ import annotations

import dataclasses
import inspect
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import ml_collections
import numpy as np

from robust_tfds import errors
from robust_tfds.eval import tasks
from robust_tfds.eval.cells import table
from robust_tfds.eval.run import config as config_lib
from robust_tfds.eval.run import dataset_config, runner
from robust_tfds.eval.run import plan as plan_lib
from robust_tfds.eval.run.model.definitions import ModelObject
from robust_tfds.eval.tasks import base
from robust_tfds.eval.tasks.parts import baselines
from robust_tfds.models import adapters
from robust_tfds.models.detection.detector import DetectorSpec
from robust_tfds.models.model import Model
from robust_tfds.models.spec import ModelSpec, Spec
from robust_tfds.models.video.spec import VideoSpec
from robust_tfds.storage import paths

_PICTURES = 8  # that a sequence, a video or a scene counts as
_CONDITIONS = "common"
_SEVERITIES = (1, 2, 3, 4, 5)
# Of a model's part of the config: what its spec says where it is an object.
_SIDE_PX = 224
_OF_SPEC = ("dtype", "long_px", "num_classes", "short_px", "train")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
  """The keyword arguments of `eval.evaluate`."""

  conditions: str | Sequence[str] = _CONDITIONS
  severities: int | Sequence[int] = _SEVERITIES
  limit: int = 0
  workdir: str | os.PathLike[str] | None = None
  batch_size: int = 64
  variables: Any = None
  checkpoint: str | os.PathLike[str] | None = None
  seed: int = 0
  baseline: str | None = None
  data: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Summary(dict[str, float]):
  """Metric -> value, of those that are whole."""

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
    summary: metric -> value over the benchmark; only what is whole.
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
    whole = [r for r in rows if not r.corruption and not r.config]
    self.missing = {r.metric: r.note for r in whole if not r.has_value}
    self.missing |= _without_baseline(run.plan.task, whole)
    values = {r.metric: r.value for r in whole if r.has_value}
    self.summary = Summary(values, self.missing)

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
    """The summary, a line a metric."""
    lines = [f"{k:32} {v:.4f}" for k, v in self.summary.items()]
    lines += [f"{k:32} {why}" for k, why in self.missing.items()]
    return "\n".join(lines)


def _without_baseline(
  task: base.Task, rows: Sequence[table.Row]
) -> dict[str, str]:
  """Normalised metrics that nothing normalises."""
  known = {row.metric for row in rows}
  return {
    metric.name: f"needs a baseline; it has {task.baseline}"
    for metric in task.facts.headlines
    if metric.normalises and metric.name not in known
  }


def evaluate(
  predict: str | Model | Callable[..., Any], dataset: str, options: Options
) -> Result:
  """See `eval.evaluate`."""
  config, given = config_of(predict, dataset, options)
  label = config.model.name
  plan = plan_lib.make(config, {} if given is None else {label: given})
  temporary, folder = None, options.workdir
  if folder is None:
    temporary = tempfile.TemporaryDirectory(prefix="robust_tfds_")
    folder = temporary.name
  run = runner.Runner(plan, paths.of(folder, "workdir"), report=False)
  return Result(run.run(), run, temporary)


def config_of(
  predict: Any, dataset: str, options: Options
) -> tuple[ml_collections.ConfigDict, ModelObject | None]:
  """The config that the command would have, and the model where it is an object."""
  config = _config(dataset, options)
  given = _given(predict, config, options)
  config.model = _entry(predict, given, config, options)
  if "models" in config:
    del config["models"]
  return config.lock(), given


def _config(dataset: str, options: Options) -> ml_collections.ConfigDict:
  """The benchmark's config with the options, but for the model."""
  config = dataset_config.of(dataset)
  data = config.data
  task = tasks.get(config.task)
  with config.ignore_type():  # the schema refuses what they must not be
    data.limit, config.seed = _plain(options.limit), _plain(options.seed)
  config.batch_size = _batch_size(task, options.batch_size)
  config.baseline = _baseline(dataset, options)
  _set_conditions(data, dataset, options)
  for key, value in options.data.items():
    data[key] = os.fspath(value) if isinstance(value, os.PathLike) else value
  return config


def _plain(value: Any) -> Any:
  return value.item() if isinstance(value, np.generic) else value


def _set_conditions(
  data: ml_collections.ConfigDict, dataset: str, options: Options
) -> None:
  """Which conditions, under the names that the data set's config has."""
  names = [k for k in ("corruptions", "perturbations") if k in data]
  asked = options.conditions != _CONDITIONS
  if names and (asked or data[names[0]] != "none"):
    with data.ignore_type():
      data[names[0]] = options.conditions
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
  many = task.set_kind in ("sequences", "videos", "objects")
  examples = -(-pictures // _PICTURES) if many else pictures
  count = len(jax.devices())
  return -(-examples // count) * count


def _given(
  predict: Any, config: ml_collections.ConfigDict, options: Options
) -> ModelObject | None:
  """The model as an object; None where it is a name without variables."""
  if isinstance(predict, str):
    if options.variables is None:
      return None
    from robust_tfds import models

    return ModelObject(models.get(predict), options.variables)
  if isinstance(predict, Model):
    return _of_model(predict, options)
  if not callable(predict):
    raise errors.UserError(
      f"Got a {type(predict).__name__} as a model, expected one of"
      " models.adapters or models.get, a name, or a function of a batch of"
      " pictures."
    )
  if options.variables is not None or options.checkpoint is not None:
    raise errors.UserError(
      "variables= and checkpoint= are for models of the catalogue; a function"
      " has its own weights."
    )
  return ModelObject(_of_function(predict, config))


def _of_model(model: Model, options: Options) -> ModelObject:
  if model.is_external and options.checkpoint is not None:
    raise errors.UserError(
      f"checkpoint={options.checkpoint}: {model.name} brings its own weights."
    )
  return ModelObject(model, options.variables)


def _of_function(
  function: Callable[..., Any], config: ml_collections.ConfigDict
) -> Model:
  """A plain function as a model on the host, of the data set's classes."""
  counts = plan_lib.model_classes(config_lib.parse(config))
  kind = tasks.get(config.task).model_kind
  spec: ModelSpec
  if kind == "detection":
    spec = DetectorSpec(num_classes=counts[0], short_px=0, label_space="custom")
  elif kind == "video":
    spec = VideoSpec(num_classes=counts[0], label_space="custom")
  else:
    classes = counts[0] if len(counts) == 1 else _answered(function, counts)
    spec = Spec(num_classes=classes, flexible=True, weights="own")
  return adapters.get("on_host")(function, spec, name=_name(function))


def _name(function: Callable[..., Any]) -> str:
  """What tables call a function."""
  if inspect.isfunction(function) or inspect.ismethod(function):
    return function.__name__.strip("<>")
  return type(function).__name__


def _answered(function: Callable[..., Any], counts: Sequence[int]) -> int:
  """Which of several class counts a function answers with."""
  rng = np.random.default_rng(0)
  pictures = rng.integers(0, 256, (2, _SIDE_PX, _SIDE_PX, 3), np.uint8)
  try:
    shape = np.shape(function(pictures))
  except Exception as error:
    raise errors.UserError(
      f"{_name(function)} fails on uint8 {list(pictures.shape)}:"
      f" {errors.of_user(error)}"
    ) from error
  if len(shape) != 2 or shape[1] not in counts:
    raise errors.UserError(
      f"{_name(function)} answered with shape {shape}, expected [B, classes]"
      f" with {' or '.join(map(str, counts))} classes."
    )
  return shape[1]


def _entry(
  predict: Any,
  given: ModelObject | None,
  config: ml_collections.ConfigDict,
  options: Options,
) -> ml_collections.ConfigDict:
  """The model's part of the config."""
  entry = ml_collections.ConfigDict(config.get("model") or {})
  for key in _OF_SPEC if given else ("train",):
    if key in entry:
      del entry[key]
  entry.name = given.model.name if given else predict
  entry.label = ""
  entry.checkpoint = ""
  if options.checkpoint is not None:
    entry.checkpoint = os.fspath(options.checkpoint)
  return entry
