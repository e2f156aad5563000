"""The config of a data set: a benchmark's file in `configs/`, or a derived one.

A benchmark's builder names its file (`RUN_BY`). Without one, the task and all options
follow from the builder.

A user's set is given by its place (`config.data.name = "folder:/data/pets"`). A run
calls it by its name (`pets`) and keeps the place in `config.data.own`, because the
data may have been moved when the run is continued.
"""

import importlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

import ml_collections

import configs
from eval import tasks
from eval.run import own_metrics
from robust_tfds import datasets, errors, natural_sets, user_data
from robust_tfds.building import base

_OWN = "own_data:model"  # the config of every set that is not a benchmark
# Keys of `data` that are options of a source. They are not stored in config.json.
SOURCE_KEYS = ("set_name", "images", "labels", "classes", "ignore")
# Keys of `data` that choose conditions -> the values that choose all of them.
ALL: Mapping[str, Any] = {
  "corruptions": "all",
  "perturbations": "all",
  "severities": (1, 2, 3, 4, 5),
  "difficulties": (1,),
}
# Keys of `data` in own_data.py that not every task reads: the conditions, and the
# clips and groups of videos.
_TASK_KEYS = (*ALL, "views", "sampling", "groups")
_SWITCHES = ("drop_alpha", "skip_errors")  # in the config only if they are on
# Kinds that are corrupted whole, before a model resizes them.
_UNCROPPED = ("objects", "masks", "videos")
# Kinds whose examples are large or hold several pictures. In the size of a batch one
# example counts as eight pictures.
_LARGE_KINDS, _PICTURES_EACH = ("sequences", "videos", "objects", "masks"), 8


def config_values(dataset: Any) -> dict[str, Any]:
  """Return the values of the config that runs a data set.

  Raises:
    UserError: it is neither a benchmark nor a source; the message names the nearest
      benchmark.
  """
  if user_data.is_source(dataset):
    values = _file_values(_OWN)
    values["data"]["name"] = dataset  # may be a builder
    return values
  builder = _benchmark(dataset)
  if not builder.RUN_BY:
    values = _file_values(_OWN)
    # Clean data without conditions are read and corrupted as any set of TFDS.
    values["data"]["name"] = builder if builder.CODECS else f"tfds:{dataset}"
    return values
  values = add_conditions(_file_values(builder.RUN_BY))
  if values["data"]["name"] != dataset:
    values["data"].update(name=dataset, split=builder.SPLIT)
  return values


def add_conditions(values: dict[str, Any]) -> dict[str, Any]:
  """Return the values of a run; it has all conditions if it names none."""
  task, data = values.get("task", "classification"), values.get("data")
  if task not in tasks.names() or not isinstance(data, Mapping):
    return values  # the schema refuses them
  keys = tasks.get(task).condition_keys()
  return {**values, "data": {**{k: ALL[k] for k in keys}, **data}}


def _benchmark(dataset: Any) -> type[base.Builder]:
  """Return the builder of a benchmark, from this package or another one."""
  if not isinstance(dataset, str):
    raise errors.UserError(
      f"Got a {type(dataset).__name__} as data, expected the name of a benchmark,"
      " a text that says where your own lie, e.g. folder:/data/pets, or a builder"
      " of TFDS (docs/OWN_DATA.md)."
    )
  if not datasets.is_registered(dataset):
    listed = [*datasets.names(), *natural_sets.rows()]
    unknown = errors.unknown_error("benchmark", dataset, listed)
    raise errors.UserError(
      f"{unknown} Pictures of your own: folder:/data/{dataset}, docs/OWN_DATA.md."
    )
  builder = datasets.builder_class(dataset)
  if not builder.CODECS and builder.KIND != "pictures":
    benchmarks = [n for n in datasets.names() if n.startswith(f"{dataset}_")]
    raise errors.UserError(
      f"{dataset} holds clean {builder.KIND} alone. Name a benchmark, e.g."
      f" {', '.join(benchmarks)}, with conditions='none' for its clean data."
    )
  return builder


def _file_values(text: str) -> dict[str, Any]:
  file, _, argument = text.partition(":")
  module = importlib.import_module(f"{configs.__name__}.{file}")
  config = module.get_config(*[argument] if argument else [])
  values: dict[str, Any] = config.to_dict()
  return values


def builder_class(
  data: Mapping[str, Any], own: Mapping[str, Any] | None = None
) -> type[base.Builder]:
  """Return the builder of a config's data; for own data, this lists the files.

  Args:
    own: the values of a run with a custom metric, which needs no classes; None:
      no custom metric.
  """
  if not user_data.is_source(
    data["name"]
  ):  # a benchmark, or a set of a past run
    return datasets.builder_class(data["name"])
  return datasets.builder_class(
    data["name"],
    user_data.Options(
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
      without_classes=bool(own),
      target=own_metrics.tfds_feature(own),
      classes=user_data.class_names(data.get("classes")),
      ignore=data.get("ignore"),
    ),
  )


def resolved(
  values: Mapping[str, Any],
) -> tuple[dict[str, Any], type[base.Builder] | None]:
  """Fill in the values that follow from the user's own data set.

  Args:
    values: a run's values; the name of a user's set is the source's text, or the
      builder's class.

  Returns:
    The values, with the set's name in place of its source, and its builder. For a
    benchmark: the values unchanged, and None.

  Raises:
    UserError: see `datasets.builder_class`.
  """
  data = values.get("data")
  if not isinstance(data, Mapping):
    return {**values}, None  # the schema refuses it
  name = data.get("name")
  if isinstance(name, str) and _needs_config(name, values):
    data, name = {**data, "name": datasets.builder_class(name)}, ""
  continued = isinstance(name, str) and data.get("own")
  if (
    continued
    or not user_data.is_source(name)
    and not isinstance(data.get("name"), type)
  ):
    for key in ("groups", *_SWITCHES):
      if name in datasets.names() and data.get(key):
        raise errors.UserError(
          f"config.data.{key}: got {data[key]!r}; it is an option of your own data,"
          f" and {name} has its own rule. Leave it out."
        )
    return {**values}, None
  builder = builder_class(data, values if values.get("metric") else None)
  _check_runnable(builder)
  task = values.get("task") or task_of(builder)
  task = own_metrics.task_of(task, builder)
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
  if data.get("geometry") == "model" and (
    builder.KIND in _UNCROPPED or not builder.OWN
  ):
    out["data"]["geometry"] = ""
  _leave_out(out, builder)
  return out, builder


def _needs_config(name: str, values: Mapping[str, Any]) -> bool:
  """Return whether the config of a registered set follows from its builder.

  It does if no file in `configs/` runs the set and no earlier run has written one.
  """
  return (
    datasets.is_registered(name)
    and not datasets.builder_class(name).RUN_BY
    and not values.get("task")
  )


def _check_runnable(builder: type[base.Builder]) -> None:
  """Refuse a registered set whose builder does not say what a run needs.

  Raises:
    UserError: says which line to write.
  """
  if builder.OWN:
    return
  name, kind = builder.set_name(), builder.KIND
  listed = list(run_by(kind))
  if not listed:
    raise errors.UserError(
      f"{name}: its builder has KIND = {kind!r}, expected a class of one of the"
      " kinds of robust_tfds/building: pictures.Builder, objects.Builder, ..."
    )
  if len(listed) > 1:
    raise errors.UserError(
      f"{name}: sets of {kind} are run by the tasks {', '.join(listed)}. Write the"
      f' config that runs it into its builder, e.g. RUN_BY = "vid_robust:model".'
    )
  if builder.SUPERVISED and not builder.CLASSES:
    raise errors.UserError(
      f"{name}: its builder does not say which classes there are. Write into it"
      ' CLASSES = ("first", "second", ...), in label order.'
    )


def task_of(builder: type[base.Builder]) -> str:
  """Return the name of the task that measures a data set of this kind."""
  return next(run_by(builder.KIND))


def run_by(kind: str) -> Iterator[str]:
  """Yield the names of the tasks for a kind of data, custom metrics aside."""
  for name in tasks.names():
    task = tasks.get(name)
    if task.set_kind == kind and not task.whole_outputs:
      yield name


def batch_size(kind: str, pictures: int = 64) -> int:
  """Return the batch size of a kind of data, given the size for pictures."""
  return -(-pictures // _PICTURES_EACH) if kind in _LARGE_KINDS else pictures


def _leave_out(values: dict[str, Any], builder: type[base.Builder]) -> None:
  """Remove options of the source, and keys that only other tasks read."""
  data = values["data"]
  rest = {k: v for k, v in values.items() if k not in ("model", "models")}
  task = tasks.bind(ml_collections.ConfigDict(rest))
  read = (*task.condition_keys(), *task.own_keys)
  unread = [k for k in _TASK_KEYS if k not in read]
  off = [k for k in (*_SWITCHES, "label_space") if not data.get(k)]
  for key in (*SOURCE_KEYS, *unread, *off):
    data.pop(key, None)
  for conditions in task.condition_keys()[:1]:
    data[conditions] = data.get(conditions) or default_conditions(builder)


def default_conditions(builder: type[base.Builder]) -> str:
  """Return the conditions of a run that does not name any."""
  return builder.OWN.conditions if builder.OWN else "common"
