"""A data set's config: the file of `configs/` that runs it; one of one's own.

A benchmark's builder says its file (`RUN_BY`). A set of somebody's own is named by
where it lies (`config.data.name = "folder:/data/pets"`), which is no fact of it: so a
run knows it by its name (`pets`), and where it was stands in `config.data.own`, which
may be another place when the run is continued.
"""

import importlib
import os
from collections.abc import Mapping
from typing import Any

import ml_collections

import configs
from eval import tasks
from robust_tfds import datasets, errors, natural_sets, own
from robust_tfds.building import base

_OWN = "own_data:model"  # the config of all sets that are no benchmarks
# Keys of `data` that are options of a source, and no facts of the run.
OF_SOURCES = ("set_name", "images", "labels")
# Keys of `data` that name the conditions -> the values that stand for all of them.
ALL: Mapping[str, Any] = {
  "corruptions": "all",
  "perturbations": "all",
  "severities": (1, 2, 3, 4, 5),
  "difficulties": (1,),
}
# Keys of `data` that own_data.py has and not every task reads: the conditions, by
# family, and the clips and groups of videos.
_OF_TASKS = (*ALL, "views", "sampling", "groups")
_SWITCHES = ("drop_alpha", "skip_errors")  # facts of the run where they are on
_UNCROPPED = ("objects", "videos")  # models resize what was corrupted whole
# Kinds whose examples count as so many pictures each in a batch.
_MANY, _PICTURES = ("sequences", "videos", "objects"), 8


def of(dataset: Any) -> dict[str, Any]:
  """Return the values of the config that runs a data set.

  Raises:
    UserError: no benchmark of that name, with the nearest one, and no source.
  """
  if own.is_source(dataset):
    values = _values(_OWN)
    values["data"]["name"] = dataset  # may be a builder
    return values
  values = with_conditions(_values(_run_by(dataset)))
  if values["data"]["name"] != dataset:
    split = datasets.builder_class(dataset).SPLIT
    values["data"].update(name=dataset, split=split)
  return values


def with_conditions(values: dict[str, Any]) -> dict[str, Any]:
  """Return the values of a run with all conditions where it names none."""
  task, data = values.get("task", "classification"), values.get("data")
  if task not in tasks.names() or not isinstance(data, Mapping):
    return values  # the schema refuses them
  keys = tasks.get(task).condition_keys()
  return {**values, "data": {**{k: ALL[k] for k in keys}, **data}}


def _run_by(dataset: Any) -> str:
  """Return the config that runs a benchmark; others are imported in errors alone."""
  if not isinstance(dataset, str):
    raise errors.UserError(
      f"Got a {type(dataset).__name__} as data, expected the name of a benchmark,"
      " a text that says where your own lie, e.g. folder:/data/pets, or a builder"
      " of TFDS (docs/OWN_DATA.md)."
    )
  names = datasets.names()
  run_by = datasets.builder_class(dataset).RUN_BY if dataset in names else ""
  if not run_by:
    known = [n for n in names if datasets.builder_class(n).RUN_BY]
    unknown = errors.unknown_error(
      "benchmark", dataset, [*known, *natural_sets.rows()]
    )
    raise errors.UserError(
      f"{unknown} Pictures of your own: folder:/data/{dataset}, docs/OWN_DATA.md."
    )
  return run_by


def _values(text: str) -> dict[str, Any]:
  file, _, argument = text.partition(":")
  module = importlib.import_module(f"{configs.__name__}.{file}")
  config = module.get_config(*[argument] if argument else [])
  values: dict[str, Any] = config.to_dict()
  return values


def builder_class(data: Mapping[str, Any]) -> type[base.Builder]:
  """Return the builder of a config's data; of one's own, which lists its files."""
  if not own.is_source(data["name"]):  # also of what was made before
    return datasets.builder_class(data["name"])
  return datasets.builder_class(
    data["name"],
    own.Options(
      name=data.get("set_name") or "",
      split=data.get("split") or "",
      images=data.get("images") or "",
      sequences=bool(data.get("perturbations")),
      data_dir=os.fspath(data.get("data_dir") or ""),
      manual_dir=os.fspath(data.get("manual_dir") or ""),
      groups=data.get("groups") or "",
      drop_alpha=bool(data.get("drop_alpha")),
      labels=os.fspath(data.get("labels") or ""),
      skip_errors=bool(data.get("skip_errors")),
    ),
  )


def resolved(
  values: Mapping[str, Any],
) -> tuple[dict[str, Any], type[base.Builder] | None]:
  """Fill in what follows from a data set of somebody's own.

  Args:
    values: of a run; the name of somebody's own set is the source's text, or the
      builder's class.

  Returns:
    The values by the set's name, and its builder. Of a benchmark the values as
    they are, and None.

  Raises:
    UserError: see `datasets.builder_class`.
  """
  data = values.get("data")
  if not isinstance(data, Mapping):
    return {**values}, None  # the schema refuses it
  name = data.get("name")
  before = isinstance(name, str) and data.get("own")  # by the set's name then
  if before or not own.is_source(name) and not isinstance(name, type):
    for key in ("groups", *_SWITCHES):
      if name in datasets.names() and data.get(key):
        raise errors.UserError(
          f"config.data.{key}: got {data[key]!r}; it is of data of your own, and"
          f" {name} has its rule. Leave it out."
        )
    return {**values}, None
  builder = builder_class(data)
  task = values.get("task") or task_of(builder)
  codecs = tasks.get(task).fly_codecs
  out = {
    **values,
    "task": task,
    "batch_size": values.get("batch_size") or batch_size(builder.KIND),
    "data": {
      **data,
      "name": builder.set_name(),
      "split": builder.SPLIT,
      "own": builder.OWN.where if builder.OWN else "",
      "codec": data.get("codec") or ("" if "" in codecs else builder.CODECS[0]),
    },
  }
  if builder.KIND in _UNCROPPED and data.get("geometry") == "model":
    out["data"]["geometry"] = ""
  _leave_out(out, builder)
  return out, builder


def task_of(builder: type[base.Builder]) -> str:
  """Return the name of the task of a data set's kind of data."""
  (task,) = (t for t in tasks.names() if tasks.get(t).set_kind == builder.KIND)
  return task


def batch_size(kind: str, pictures: int = 64) -> int:
  """Examples at once of a kind of data, by how many pictures a batch may show."""
  return -(-pictures // _PICTURES) if kind in _MANY else pictures


def _leave_out(values: dict[str, Any], builder: type[base.Builder]) -> None:
  """Remove options of the source, and what other tasks read."""
  data = values["data"]
  rest = {k: v for k, v in values.items() if k not in ("model", "models")}
  task = tasks.bind(ml_collections.ConfigDict(rest))
  read = (*task.condition_keys(), *task.own_keys)
  unread = [k for k in _OF_TASKS if k not in read]
  off = [k for k in (*_SWITCHES, "label_space") if not data.get(k)]
  for key in (*OF_SOURCES, *unread, *off):
    data.pop(key, None)
  conditions = task.condition_keys()[0]
  data[conditions] = data.get(conditions) or default_conditions(builder)


def default_conditions(builder: type[base.Builder]) -> str:
  """Which conditions a run shows where none are asked for."""
  return builder.OWN.conditions if builder.OWN else "common"
