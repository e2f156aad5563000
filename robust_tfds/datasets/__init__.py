"""The benchmarks' TFDS builders: one folder each, the folder is the registry."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Sequence
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds import errors
from robust_tfds.conditions import Family
from robust_tfds.datasets import base

PUBLISHED = base.PUBLISHED
_FORMATS = ("tfrecord", "array_record")
_LOSSY = ("jpeg85", "h264")


def names() -> tuple[str, ...]:
  """Names of all datasets of this package."""
  return tuple(
    m.name
    for m in pkgutil.iter_modules(__path__)
    if m.ispkg and _holds_builder(m.name)
  )


def register() -> None:
  """Imports every builder, which registers it with TFDS."""
  for name in names():
    builder_class(name)


def builder_class(name: str) -> type[base.Builder]:
  """The class of a dataset's builder: its edition, codecs, classes and so on.

  Raises:
    UserError: unknown dataset, with a suggestion.
  """
  if not isinstance(name, str) or name not in names():
    raise errors.unknown("dataset", name, names())
  module = importlib.import_module(f"{__name__}.{name}.{name}_dataset_builder")
  return module.Builder


def edition(name: str, geometry: str = "") -> str:
  """Edition of a dataset's corruptions, e.g. `cifar10`; empty if it has none.

  Args:
    name: dataset.
    geometry: a crop, where the dataset has another edition for one.
  """
  return builder_class(name).edition_of(geometry)


def family(name: str) -> Family | None:
  """The conditions of a dataset's kind of data; None if it has clean data alone."""
  return builder_class(name).FAMILY


def published_codec(name: str) -> str:
  """The lossy codec that a dataset's published files went through.

  Empty where they are lossless, where there are none, and for names that are no
  dataset of this package.

  >>> published_codec("imagenet_c"), published_codec("cifar10_c")
  ('jpeg85', '')
  """
  listed = codecs(name) if name in names() else ()
  lossy = [c for c in listed if c in _LOSSY]
  return lossy[0] if lossy and PUBLISHED in listed else ""


def codecs(name: str) -> tuple[str, ...]:
  """The codecs of a dataset, its default first; empty if it has no configs."""
  return builder_class(name).CODECS


def conditions(name: str) -> list[str]:
  """Config names of a dataset under its default options, clean first."""
  return builder_class(name).condition_names()


def builder(
  name: str,
  config: str = "",
  *,
  data_dir: str | os.PathLike | None = None,
  file_format: str | None = None,
  **options: Any,
) -> base.Builder:
  """A dataset's builder, not yet prepared.

  Args:
    name: dataset, e.g. `digits_c`.
    config: `clean`, `gaussian_noise_3` or `gaussian_noise/3`; empty for the
      default.
    data_dir: TFDS data folder.
    file_format: `tfrecord` (the default) or `array_record`.
    **options: `seed` of the corruptions (0: those of the dataset's version;
      another one is built apart, in a config with the suffix `_seed<n>`);
      `codec` of corrupted datasets and `geometry` of some (which of them, see
      the dataset's README).

  Raises:
    UserError: unknown name, config or option, with a suggestion.
  """
  cls = builder_class(name)
  if not isinstance(config, str):
    raise errors.unknown("config", config, cls.builder_configs)
  text = config.replace("/", "_") or cls.DEFAULT_BUILDER_CONFIG_NAME or ""
  if file_format not in (None, *_FORMATS):
    raise errors.unknown("file format", file_format, _FORMATS)
  config_of = functools.partial(cls.config_of, text, **options)
  there = cls(config=config_of(), data_dir=data_dir)
  if file_format in (None, there.info.file_format.value):
    return there
  if there.data_path.exists():
    raise errors.UserError(
      f"{there.data_dir}: the set is there as {there.info.file_format.value}, got"
      f" file_format={file_format}. Leave it out, or use another data_dir."
    )
  return cls(config=config_of(), data_dir=data_dir, file_format=file_format)


def prepare(
  name: str,
  config: str = "",
  *,
  data_dir: str | os.PathLike | None = None,
  manual_dir: str | os.PathLike | None = None,
  workers: int = 1,
  beam: bool = False,
  beam_options: Sequence[str] = (),
  limit: int | None = None,
  **options: Any,
) -> base.Builder:
  """A dataset's builder, prepared if it was not yet.

  Args:
    name: dataset.
    config: as in `builder`.
    data_dir: TFDS data folder.
    manual_dir: where manually downloaded sources lie.
    workers: processes that decode, corrupt and encode.
    beam: make the examples in an Apache Beam pipeline instead.
    beam_options: of the pipeline, e.g. `runner=DirectRunner`.
    limit: build this many examples of each split only (at least 1; None for
      all), in a folder of their own (`data_dir/first_<limit>`), so that they
      never pass for the whole.
    **options: `file_format`, `seed`, `codec`, `geometry`, as in `builder`.

  Raises:
    UserError: as `builder`; broken source files, or no example in them; a
      number of workers or examples below 1; a data_dir that cannot be written;
      a set there that is damaged, or made from other sources than there are
      now; or Beam was asked for and is not installed.
    FileNotFoundError: a source is missing; says what was looked for, where.
  """
  _check_count("workers", workers)
  if limit is not None:
    _check_count("limit", limit)
    parent = data_dir or tfds.core.constants.DATA_DIR
    data_dir = os.path.join(os.fspath(parent), f"first_{limit}")
  unprepared = builder(name, config, data_dir=data_dir, **options)
  _check_manual_dir(manual_dir)
  unprepared.workers, unprepared.beam = workers, beam
  unprepared.limit = limit
  download = tfds.download.DownloadConfig(
    manual_dir=os.path.abspath(manual_dir) if manual_dir else None,
    max_examples_per_split=limit,
    beam_options=_pipeline_options(beam_options) if beam else None,
  )
  unprepared.download_and_prepare(download_config=download)
  return unprepared


def prepared_examples(
  name: str,
  config: str,
  split: str,
  *,
  data_dir: str | os.PathLike | None = None,
  **options: Any,
) -> int | None:
  """Number of examples of a prepared split; None where it is not prepared."""
  splits = builder(name, config, data_dir=data_dir, **options).info.splits
  return splits[split].num_examples if split in splits else None


def load(name: str, **kwargs: Any) -> Any:
  """`tfds.load` that also takes `dataset/corruption/severity`.

  Raises:
    UserError: unknown dataset, corruption or severity, with a suggestion.
  """
  if not isinstance(name, str):
    raise errors.unknown("dataset", name, names())
  dataset, _, text = name.partition("/")
  cls = builder_class(dataset)
  if not text:
    return tfds.load(dataset, **kwargs)
  config = cls.config_of(text.replace("/", "_"))
  if config is None:
    return tfds.load(dataset, **kwargs)
  options = {**(kwargs.pop("builder_kwargs", None) or {}), "config": config}
  return tfds.load(dataset, builder_kwargs=options, **kwargs)


def _check_count(name: str, value: int) -> None:
  if value < 1:
    raise errors.UserError(
      f"{name}={value}: at least 1 expected"
      + ("; leave it out for all examples." if name == "limit" else ".")
    )


def _check_manual_dir(folder: str | os.PathLike | None) -> None:
  if not folder or os.path.isdir(folder):
    return
  if os.path.exists(folder):
    raise errors.UserError(
      f"{folder}: the manual dir is a file; name the folder that it lies in."
    )
  raise FileNotFoundError(f"{folder}: the manual dir does not exist.")


def _pipeline_options(flags: Sequence[str]) -> Any:
  if importlib.util.find_spec("apache_beam") is None:
    raise errors.missing_package(
      "apache-beam", "beam", "Building in a Beam pipeline"
    )
  from apache_beam.options import pipeline_options

  return pipeline_options.PipelineOptions(
    flags=[f"--{flag.removeprefix('--')}" for flag in flags]
  )


def _holds_builder(name: str) -> bool:
  (folder,) = __path__
  return os.path.exists(f"{folder}/{name}/{name}_dataset_builder.py")
