"""The benchmarks' TFDS builders: one folder each, the folder is the registry."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds import errors


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
    _builder_class(name)


def edition(name: str) -> str:
  """Edition of a dataset's corruptions, e.g. `cifar10` for `digits_c`.

  Raises:
    ValueError: unknown dataset, or one without corruptions.
  """
  found = getattr(_builder_class(name), "EDITION", None)
  if found is None:
    raise ValueError(
      f"{name} has no corruptions; datasets that have:"
      f" {', '.join(n for n in names() if hasattr(_builder_class(n), 'EDITION'))}."
    )
  return found


def builder(
  name: str,
  config: str = "",
  *,
  data_dir: str | os.PathLike | None = None,
  **options: Any,
) -> tfds.core.DatasetBuilder:
  """A dataset's builder, not yet prepared.

  Args:
    name: dataset, e.g. `digits_c`.
    config: `clean`, `gaussian_noise_3` or `gaussian_noise/3`; empty for the
      default.
    data_dir: TFDS data folder.
    **options: `codec` of corrupted datasets and `geometry` of some (which of
      them, see the dataset's README), `file_format` of any.

  Raises:
    ValueError: unknown name, config or option, with a suggestion.
  """
  cls = _builder_class(name)
  file_format = options.pop("file_format", None)
  chosen: Any = config.replace("/", "_") or None
  if hasattr(cls, "config_of"):
    chosen = cls.config_of(chosen or "clean", **options)
  elif options:
    raise ValueError(f"{name} takes no options, got {', '.join(options)}.")
  return cls(config=chosen, data_dir=data_dir, file_format=file_format)


def prepare(
  name: str,
  config: str = "",
  *,
  data_dir: str | os.PathLike | None = None,
  manual_dir: str | os.PathLike | None = None,
  workers: int = 1,
  beam: bool = False,
  limit: int | None = None,
  **options: Any,
) -> tfds.core.DatasetBuilder:
  """A dataset's builder, prepared if it was not yet.

  Args:
    name: dataset.
    config: as in `builder`.
    data_dir: TFDS data folder.
    manual_dir: where manually downloaded sources lie.
    workers: processes that decode, corrupt and encode.
    beam: make the examples in an Apache Beam pipeline instead.
    limit: build this many examples of each split only, in a folder of their
      own (`data_dir/first_<limit>`), so that they never pass for the whole.
    **options: as in `builder`.

  Raises:
    ValueError: as `builder`, or broken source files.
    FileNotFoundError: a source is missing; says what was looked for, where.
    ImportError: Beam was asked for and is not installed.
  """
  if limit:
    parent = data_dir or tfds.core.constants.DATA_DIR
    data_dir = os.path.join(os.fspath(parent), f"first_{limit}")
  found = builder(name, config, data_dir=data_dir, **options)
  if beam and importlib.util.find_spec("apache_beam") is None:
    raise ImportError(
      "apache-beam is not installed: pip install 'robust_tfds[beam]', or build"
      " without --beam (--workers uses several processes)."
    )
  if manual_dir and not os.path.isdir(manual_dir):
    raise FileNotFoundError(f"The manual dir {manual_dir} does not exist.")
  if hasattr(found, "workers"):
    found.workers, found.beam = workers, beam
  download = tfds.download.DownloadConfig(
    manual_dir=os.fspath(manual_dir) if manual_dir else None,
    max_examples_per_split=limit,
  )
  try:
    found.download_and_prepare(download_config=download)
  except AssertionError as e:  # TFDS's way to say that the manual dir is empty
    if "manual directory" not in str(e).lower():
      raise
    raise FileNotFoundError(str(e)) from e
  return found


def conditions(name: str) -> list[str]:
  """Config names of a dataset under its default codec, clean first."""
  cls = _builder_class(name)
  if hasattr(cls, "conditions"):
    return cls.conditions()
  return [c.name for c in cls.BUILDER_CONFIGS] or [""]


def prepared_examples(
  name: str,
  config: str,
  split: str,
  *,
  data_dir: str | os.PathLike | None = None,
  **options: Any,
) -> int | None:
  """Number of examples of a prepared split; None where it is not prepared."""
  found = builder(name, config, data_dir=data_dir, **options)
  splits = found.info.splits
  return splits[split].num_examples if split in splits else None


def load(name: str, **kwargs: Any) -> Any:
  """`tfds.load` that also takes `dataset/corruption/severity`.

  Raises:
    ValueError: unknown dataset, corruption or severity, with a suggestion.
  """
  dataset, _, config = name.partition("/")
  config = config.replace("/", "_")
  cls = _builder_class(dataset)
  if config:
    known = [c.name for c in cls.BUILDER_CONFIGS]
    if hasattr(cls, "config_of"):
      config = cls.config_of(config).name  # raises with the reason
    elif config not in known:
      raise errors.unknown(f"config of {dataset}", config, known)
    return tfds.load(f"{dataset}/{config}", **kwargs)
  return tfds.load(dataset, **kwargs)


def _holds_builder(name: str) -> bool:
  (folder,) = __path__
  return os.path.exists(f"{folder}/{name}/{name}_dataset_builder.py")


def _builder_class(name: str) -> Any:
  if name not in names():
    raise errors.unknown("dataset", name, names())
  module = importlib.import_module(f"{__name__}.{name}.{name}_dataset_builder")
  return module.Builder
