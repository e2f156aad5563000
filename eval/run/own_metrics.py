"""The metrics of one's own of a run: from keywords and configs to functions.

A config has texts (`metric`: `nme=my_module:nme`, `better`: `lower`, `targets`);
`evaluate` also takes functions, mappings and arrays, which are known by names there.
"""

import dataclasses
import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any

from eval.cells.cell import Cell
from eval.cells.files import note as note_lib
from eval.cells.workdir import Workdir
from eval.run import targets as targets_lib
from eval.tasks import base
from eval.tasks.parts import own_metrics, own_values
from robust_tfds import errors
from robust_tfds.building.base import Builder
from robust_tfds.storage import disk

KEYS = ("metric", "targets", "better", "keep_outputs")
_TASKS = {"pictures": "own", "videos": "own_videos"}  # by kind of data


@dataclasses.dataclass(frozen=True)
class Given:
  """Metrics and targets as they were given, which may be objects."""

  functions: Mapping[str, Callable[[Any, Any], Any]]
  targets: Any
  keep_outputs: bool

  def read(self, builder: type[Builder]) -> own_metrics.OwnMetrics:
    """Return the metrics of a run over a data set."""
    digests = {
      name: targets_lib.source_digest(function)
      for name, function in self.functions.items()
    }
    targets = targets_lib.read(self.targets, builder)
    return own_metrics.OwnMetrics(
      self.functions, digests, targets, bool(self.keep_outputs)
    )


def taken(values: Mapping[str, Any]) -> tuple[dict[str, Any], Given | None]:
  """Return a run's values with texts in place of objects, and the objects.

  Raises:
    UserError: a metric that is no function or has no name, no `better`, or keys
      of a metric without one.
  """
  out = dict(values)
  metric = out.get("metric")
  if metric is None or isinstance(metric, (str, Mapping)) and not metric:
    for key in KEYS:
      if out.get(key) not in (None, "", False):
        raise errors.UserError(
          f"{key}={out[key]!r} belongs to a metric of one's own: name it, metric="
          " a function, or my_module:function."
        )
      out.pop(key, None)
    if out.get("task") in _TASKS.values():
      raise errors.UserError(
        "config.task=own needs config.metric=my_module:function and"
        " config.better=lower or higher."
      )
    return out, None
  functions = _functions(metric)
  out["metric"] = ",".join(
    f"{name}={_name(function)}" for name, function in functions.items()
  )
  out["better"] = _better(out.get("better"))
  own_metrics.senses(out["metric"], out["better"])
  targets = out.pop("targets", None)
  if text := _text(targets):
    out["targets"] = text
  out.setdefault("task", "own")
  return out, Given(functions, targets, out.get("keep_outputs", False))


def task_of(task: str, builder: type[Builder]) -> str:
  """Return the task's name for the set's kind of data."""
  is_own = task in _TASKS.values()
  return _TASKS.get(builder.KIND, task) if is_own else task


def tfds_feature(targets: Any) -> str:
  """Return the feature of a TFDS set that holds the targets; '' of others."""
  kind, colon, feature = str(targets).partition(":")
  return feature if kind + colon == targets_lib.TFDS else ""


def renew(workdir: Workdir, cells: list[Cell], task: base.Task) -> list[str]:
  """Measure finished cells anew whose metric or targets changed.

  Cells with answers get new values; the others are removed, to be made anew.

  Returns:
    What was done, in lines for the screen.
  """
  if not isinstance(task, own_values.OwnValues):
    return []
  stale = [cell for cell in cells if _is_stale(workdir, cell)]
  clean = {
    cell.model: _stored(workdir, cell)
    for cell in cells
    if stale and cell.condition.clean and workdir.done(cell)
    if task.own_metrics.targets is None
  }
  again = removed = 0
  for cell in stale:
    columns = _stored(workdir, cell)
    split = workdir.note(cell).split.name
    new = task.measured_again(cell, columns, clean.get(cell.model, {}))
    # A cell without its note is not finished: a kill leaves no mixture.
    disk.remove(workdir.cell_folder(cell) / note_lib.FILE)
    if new is None:
      disk.remove(workdir.cell_folder(cell))
      removed += 1
    else:
      workdir.write_cell(cell, new, split)
      again += 1
  why = "the metric or its targets changed"
  return [
    *[f"{why}: {again} cells measured again from kept answers"] * bool(again),
    *[f"{why}: {removed} cells are made anew"] * bool(removed),
  ]


def _is_stale(workdir: Workdir, cell: Cell) -> bool:
  """Return whether a finished cell differs in its metric or targets alone."""
  if not workdir.done(cell):
    return False
  note = workdir.note(cell)
  if note.fingerprint == cell.fingerprint or not (note.data and cell.data):
    return False
  settings = [
    {
      k: v
      for k, v in facts.settings.items()
      if k not in own_metrics.OwnMetrics.KEYS
    }
    for facts in (note.data, cell.data)
  ]
  before, now = (
    facts.model_copy(update={"settings": {}, "decoders": None})
    for facts in (note.data, cell.data)
  )
  same_model = note.of_model == cell.of_model
  return same_model and settings[0] == settings[1] and before == now


def _stored(workdir: Workdir, cell: Cell) -> dict[str, Any]:
  """Return the columns of a finished cell, whatever its metric was."""
  note = workdir.note(cell)
  return workdir.columns(
    dataclasses.replace(cell, fingerprint=note.fingerprint)
  )


def _functions(metric: Any) -> dict[str, Callable[[Any, Any], Any]]:
  if isinstance(metric, str):
    return {
      k: _loaded(v) for k, v in own_metrics.named(metric, "metric").items()
    }
  if isinstance(metric, Mapping):
    named = {str(name): each for name, each in metric.items()}
  else:
    named = {getattr(metric, "__name__", type(metric).__name__): metric}
  out = {k: _loaded(v) if isinstance(v, str) else v for k, v in named.items()}
  for name, each in out.items():
    if not callable(each):
      raise errors.UserError(
        f"metric: {name} is a {type(each).__name__}, expected a function of an"
        " output and its target, or a dict of functions."
      )
  return out


def _loaded(text: str) -> Callable[[Any, Any], Any]:
  """Return the function of `my_module:function`."""
  module, colon, name = text.partition(":")
  if not colon or not module or not name:
    raise errors.UserError(
      f"metric={text!r}: expected a function as my_module:function."
    )
  try:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
      found = getattr(found, part)
  except Exception as e:  # of somebody's code
    raise errors.UserError(
      f"metric={text!r} cannot be imported: {errors.user_fault(e)}."
    ) from e
  function: Callable[[Any, Any], Any] = found
  return function


def _name(function: Any) -> str:
  """Return what a config calls a function: `my_module:nme`."""
  module = getattr(function, "__module__", type(function).__module__)
  name = getattr(function, "__qualname__", type(function).__qualname__)
  return f"{module}:{name}".replace(",", "").replace("=", "")


def _better(better: Any) -> str:
  if isinstance(better, Mapping):
    return ",".join(f"{name}={sense}" for name, sense in better.items())
  return better if isinstance(better, str) else ""


def _text(targets: Any) -> str:
  """Return what a config says of targets: a path, or what they are."""
  if isinstance(targets, (str, os.PathLike)):
    return os.fspath(targets)
  if targets is None:
    return ""
  return "a mapping" if isinstance(targets, Mapping) else _name(targets)
