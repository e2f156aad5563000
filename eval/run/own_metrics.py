"""The custom metrics of a run: from keywords and configs to functions.

A config has texts (`metric`: `nme=my_module:nme`, `better`: `lower`, `targets`);
`evaluate` also takes functions, mappings and arrays, which have names there.
"""

import dataclasses
import os
import pkgutil
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
_FACTS = own_metrics.OwnMetrics.FACTS
# f(builder of the data set) -> the metrics of a run over it.
OfSet = Callable[[type[Builder]], own_metrics.OwnMetrics]


def taken(values: Mapping[str, Any]) -> tuple[dict[str, Any], OfSet | None]:
  """Return a run's values with texts in place of objects, and the objects.

  Raises:
    UserError: a metric that is no function or has no name, no `better`, or keys
      of a metric without one.
  """
  out = {k: v for k, v in values.items() if k not in KEYS}
  given = {k: values[k] for k in KEYS if not _is_empty(values.get(k))}
  if not given.get("metric"):
    if given or out.get("task") in _TASKS.values():
      raise errors.UserError(
        f"{', '.join(given) or 'config.task=own'}: belongs to a custom metric:"
        " set metric to a function, or my_module:function, and better to 'lower' or"
        " 'higher'."
      )
    return out, None
  functions = _functions(given["metric"])
  listed = ",".join(f"{name}={_name(f)}" for name, f in functions.items())
  better, targets = given.get("better") or "", given.get("targets")
  if isinstance(better, Mapping):
    better = ",".join(f"{name}={sense}" for name, sense in better.items())
  own_metrics.senses(listed, better)
  keep = bool(given.get("keep_outputs"))
  out |= {"metric": listed, "better": better, "keep_outputs": keep}
  out["task"] = out.get("task") or "own"
  if targets is not None:
    is_text = isinstance(targets, (str, os.PathLike))
    out["targets"] = os.fspath(targets) if is_text else _name(targets)

  def bind(builder: type[Builder]) -> own_metrics.OwnMetrics:
    digests = {k: targets_lib.source_digest(f) for k, f in functions.items()}
    read = targets_lib.read(targets, builder)
    return own_metrics.OwnMetrics(functions, digests, read, keep)

  return out, bind


def task_of(task: str, builder: type[Builder]) -> str:
  """Return the task's name for the set's kind of data."""
  is_own = task in _TASKS.values()
  return _TASKS.get(builder.KIND, task) if is_own else task


def tfds_feature(values: Mapping[str, Any] | None) -> str:
  """Return the feature of a TFDS set that holds a run's targets; '' if none."""
  targets = (values or {}).get("targets")
  kind, colon, feature = str(targets).partition(":")
  return feature if kind + colon == targets_lib.TFDS else ""


def renew(workdir: Workdir, cells: list[Cell], task: base.Task) -> list[str]:
  """Measure finished cells again if their metric or targets changed.

  Cells with kept answers get new values; the others are removed, to be made anew.

  Returns:
    What was done, in lines for the screen.
  """
  if not isinstance(task, own_values.OwnValues):
    return []
  stale = [cell for cell in cells if _is_stale(workdir, cell)]
  clean = {
    cell.model: _stored(workdir, cell)
    for cell in cells
    if cell.condition.clean and stale and workdir.done(cell)
  }
  again = 0
  for cell in stale:
    split = workdir.note(cell).split.name
    columns = _stored(workdir, cell)
    new = task.measured_again(cell, columns, clean.get(cell.model, {}))
    # Without its note a cell is not finished: a kill leaves no mixture.
    disk.remove(workdir.cell_folder(cell) / note_lib.FILE)
    if new is None:
      disk.remove(workdir.cell_folder(cell))
    else:
      workdir.write_cell(cell, new, split)
      again += 1
  counts = {
    "measured again from kept answers": again,
    "made anew": len(stale) - again,
  }
  why = "the metric or its targets changed, cells"
  return [f"{why} {words}: {count}" for words, count in counts.items() if count]


def _is_stale(workdir: Workdir, cell: Cell) -> bool:
  """Return whether a finished cell differs in its metric or targets alone."""
  note = workdir.note(cell) if workdir.done(cell) else None
  if not note or note.fingerprint == cell.fingerprint:
    return False
  facts = [
    data and {**data.words(), **dict.fromkeys((*_FACTS, "decoders"))}
    for data in (note.data, cell.data)
  ]
  return facts[0] == facts[1] and note.of_model == cell.of_model


def _stored(workdir: Workdir, cell: Cell) -> dict[str, Any]:
  """Return the columns of a finished cell, whatever its metric was."""
  mark = workdir.note(cell).fingerprint
  return workdir.columns(dataclasses.replace(cell, fingerprint=mark))


def _is_empty(value: Any) -> bool:
  return value is None or value is False or isinstance(value, str) and not value


def _functions(metric: Any) -> dict[str, Callable[[Any, Any], Any]]:
  named = {getattr(metric, "__name__", type(metric).__name__): metric}
  if isinstance(metric, str):
    named = own_metrics.named(metric, "metric")
  elif isinstance(metric, Mapping):
    named = {str(name): each for name, each in metric.items()}
  out = {}
  for name, each in named.items():
    try:
      out[name] = pkgutil.resolve_name(each) if isinstance(each, str) else each
    except Exception as e:  # of the user's code
      raise errors.UserError(
        f"metric={each!r} cannot be imported, expected my_module:function:"
        f" {errors.user_fault(e)}."
      ) from e
    if not callable(out[name]):
      raise errors.UserError(
        f"metric: {name} is a {type(each).__name__}, expected a function of an"
        " output and its target, or a dict of functions."
      )
  return out


def _name(thing: Any) -> str:
  """Return an object's name in a config: `my_module:nme`, or its type."""
  name = getattr(thing, "__qualname__", type(thing).__qualname__)
  return f"{getattr(thing, '__module__', 'builtins')}:{name}".replace(",", "")
