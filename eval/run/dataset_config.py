"""A data set's config: the file of `configs/` that runs it; one of one's own.

A benchmark's builder says its file (`RUN_BY`). A set of somebody's own is named by
where it lies (`config.data.name = "folder:/data/pets"`), which is no fact of it: so a
run knows it by its name (`pets`), and where it was stands in `config.data.own`, which
may be another place when the run is continued.
"""

import importlib
import os
from typing import Any

import ml_collections

import configs
from eval import tasks
from robust_tfds import datasets, errors, natural_sets, own
from robust_tfds.building import base

_OWN = "own_data:model"  # the config of all sets that are no benchmarks
# Keys of `data` that are options of a source, and no facts of the run.
OF_SOURCES = ("set_name", "images", "labels")
# Keys of `data` that own_data.py has and not every task reads: the conditions, by
# family, and the clips and groups of videos.
_OF_TASKS = (
  "corruptions",
  "severities",
  "perturbations",
  "difficulties",
  "views",
  "sampling",
  "groups",
)
_SWITCHES = ("drop_alpha", "skip_errors")  # facts of the run where they are on
_UNCROPPED = ("objects", "videos")  # models resize what was corrupted whole
# Kinds whose examples count as so many pictures each in a batch.
_MANY, _PICTURES = ("sequences", "videos", "objects"), 8


def of(dataset: Any) -> ml_collections.ConfigDict:
  """The config, unlocked; its models are examples of others.

  Raises:
    UserError: no benchmark of that name, with the nearest one, and no source.
  """
  config = _config(_OWN if own.is_source(dataset) else _run_by(dataset))
  if own.is_source(dataset):
    with config.ignore_type():  # may be a builder
      config.data.name = dataset
  elif config.data.name != dataset:
    config.data.name = dataset
    config.data.split = datasets.builder_class(dataset).SPLIT
  return config


def _run_by(dataset: Any) -> str:
  known = {n: datasets.builder_class(n).RUN_BY for n in datasets.names()}
  known = {name: text for name, text in known.items() if text}
  if not isinstance(dataset, str):
    raise errors.UserError(
      f"Got a {type(dataset).__name__} as data, expected the name of a benchmark,"
      " a text that says where your own lie, e.g. folder:/data/pets, or a builder"
      " of TFDS (docs/OWN_DATA.md)."
    )
  if dataset not in known:
    unknown = errors.unknown(
      "benchmark", dataset, [*known, *natural_sets.rows()]
    )
    raise errors.UserError(
      f"{unknown} Pictures of your own: folder:/data/{dataset}, docs/OWN_DATA.md."
    )
  return known[dataset]


def _config(text: str) -> ml_collections.ConfigDict:
  file, _, argument = text.partition(":")
  module = importlib.import_module(f"{configs.__name__}.{file}")
  config: ml_collections.ConfigDict = module.get_config(
    *[argument] if argument else []
  )
  return config.unlock()


def builder_class(config: ml_collections.ConfigDict) -> type[base.Builder]:
  """The class of a config's data set; of one's own made here, of its files."""
  data = config.data
  if not own.is_source(data.name):  # also of what was made before
    return datasets.builder_class(data.name)
  return datasets.builder_class(
    data.name,
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
  config: ml_collections.ConfigDict,
) -> tuple[ml_collections.ConfigDict, type[base.Builder] | None]:
  """The config by the set's name, with what follows from the set; its builder.

  Args:
    config: of a run; of somebody's own set its name is the source's text, or the
      builder's class.

  Returns:
    Of a benchmark the config as it is, and None.

  Raises:
    UserError: see `datasets.builder_class`.
  """
  data = config.get("data")
  if not isinstance(data, ml_collections.ConfigDict):
    return config, None  # the schema refuses it
  name = data.get("name")
  before = isinstance(name, str) and data.get("own")  # by the set's name then
  if before or not own.is_source(name) and not isinstance(name, type):
    for key in ("groups", *_SWITCHES):
      if name in datasets.names() and data.get(key):
        raise errors.UserError(
          f"config.data.{key}: got {data[key]!r}; it is of data of your own, and"
          f" {name} has its rule. Leave it out."
        )
    return config, None
  made, builder = config.copy_and_resolve_references(), builder_class(config)
  made.unlock()
  data = made.data
  with made.ignore_type():
    data.name, data.split = builder.set_name(), builder.SPLIT
    data.own = builder.OWN.where if builder.OWN else ""
    made.task = made.get("task") or task_of(builder)
    made.batch_size = made.get("batch_size") or batch_size(builder.KIND)
    codecs = tasks.get(made.task).fly_codecs
    data.codec = data.get("codec") or (
      "" if "" in codecs else builder.CODECS[0]
    )
    if builder.KIND in _UNCROPPED and data.get("geometry") == "model":
      data.geometry = ""
    _leave_out(made, builder)
  return made.lock(), builder


def task_of(builder: type[base.Builder]) -> str:
  """Name of the task of a kind of data."""
  (task,) = (t for t in tasks.names() if tasks.get(t).set_kind == builder.KIND)
  return task


def batch_size(kind: str, pictures: int = 64) -> int:
  """Examples at once of a kind of data, by how many pictures a batch may show."""
  return -(-pictures // _PICTURES) if kind in _MANY else pictures


def _leave_out(
  config: ml_collections.ConfigDict, builder: type[base.Builder]
) -> None:
  """Removes options of the source, and what other tasks read."""
  data: Any = config.data
  task = tasks.bind(config)
  read = (*task.condition_keys, *task.own_keys)
  unread = [k for k in _OF_TASKS if k not in read]
  for key in (
    *OF_SOURCES,
    *unread,
    *(key for key in (*_SWITCHES, "label_space") if not data.get(key)),
  ):
    if key in data:
      del data[key]
  conditions = task.condition_keys[0]
  data[conditions] = data.get(conditions) or default_conditions(builder)


def default_conditions(builder: type[base.Builder]) -> str:
  """Which conditions a run shows where none are asked for."""
  return builder.OWN.conditions if builder.OWN else "common"
