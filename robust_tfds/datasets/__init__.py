"""The benchmarks' TFDS builders: one folder each, the folder is the registry."""

import collections
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds import errors, missing, registration, user_data
from robust_tfds.building import base, file_formats
from robust_tfds.building import beam_options as beam_options_lib
from robust_tfds.building.build_session import BuildSession
from robust_tfds.storage import paths

PUBLISHED = base.PUBLISHED
names = registration.names
_LOSSY = ("jpeg85", "h264")
Named = str | type[base.Builder]


def register() -> None:
  """Import every builder: `tfds.list_builders()` names those that are imported."""
  for name in names():
    builder_class(name)


def builder_class(
  name: Named, options: user_data.Options = user_data.NO_OPTIONS
) -> type[base.Builder]:
  """Return the class of a dataset's builder: its edition, codecs, classes and so on.

  Args:
    name: dataset, or a source of the user's (`folder:/data/pets`, see
      `robust_tfds/user_data`); a class passes through.
    options: options of such a source.

  Raises:
    UserError: unknown dataset, with a suggestion; or a source that is none.
  """
  if isinstance(name, type):
    return name
  if user_data.is_source(name):
    return _not_ours(user_data.builder_class(name, options))
  if name in names():
    registration.builder_class(name)
  if is_registered(name):
    return base.REGISTERED[name]
  from robust_tfds.datasets import training  # the readers of all sources

  if isinstance(name, str) and name in training.ROWS:
    return training.builder_class(name)
  raise errors.unknown_error("dataset", name, [*names(), *base.REGISTERED])


def is_registered(name: object) -> bool:
  """Return whether a name is registered: by this package or by an imported builder
  of another package, on a kind of `robust_tfds/building`.
  """
  return isinstance(name, str) and (name in names() or name in base.REGISTERED)


class Unknown(base.Builder, skip_registration=True):
  """The stand-in for a set that is not part of this package."""

  @classmethod
  def config_of(cls, name: str, **options: Any) -> None:
    """Return None, because its configs are unknown."""
    del name, options

  @classmethod
  def known_group(cls, example_id: str, frame: int = 0) -> None:
    """Return None, because its ids imply no group."""
    del example_id, frame


def class_or_unknown(name: str) -> type[base.Builder]:
  """Return a set's builder class; `Unknown` for a set of others."""
  return builder_class(name) if name in names() else Unknown


def spelled(name: str) -> str:
  """Return the dataset whose name differs only in signs and case; else ''.

  >>> spelled("ImageNet-C"), spelled("pets")
  ('imagenet_c', '')
  """
  return _name_by_letters().get(letters(name), "")


@functools.cache
def _name_by_letters() -> dict[str, str]:
  return {letters(name): name for name in names()}


def letters(name: str) -> str:
  """Return a name in small letters, without signs.

  >>> letters("ImageNet-C")
  'imagenetc'
  """
  return "".join(filter(str.isalnum, name.casefold()))


def _not_ours(made: type[base.Builder]) -> type[base.Builder]:
  """Refuse a user's set that has the name of a benchmark."""
  name = made.set_name()
  if spelled(name):
    raise errors.UserError(
      f"{name!r} is the name of a benchmark; call data of your own otherwise:"
      " name= of evaluate, --config.data.set_name, --set_name of"
      " robust-tfds build."
    )
  return made


def classes(name: str) -> int:
  """Return the number of classes of a dataset; 0 if it is not part of this package.

  >>> classes("imagenet_c"), classes("mine")
  (1000, 0)
  """
  listed = class_or_unknown(name).CLASSES
  return listed if isinstance(listed, int) else len(listed)


def published_codec(name: str) -> str:
  """Return the lossy codec of a dataset's published files.

  Empty where they are lossless, where there are none, and for names that are no
  dataset of this package.

  >>> published_codec("imagenet_c"), published_codec("cifar10_c")
  ('jpeg85', '')
  """
  listed = class_or_unknown(name).CODECS
  lossy = [c for c in listed if c in _LOSSY]
  return lossy[0] if lossy and PUBLISHED in listed else ""


def builder(
  name: Named,
  config: str = "",
  *,
  data_dir: str | os.PathLike | None = None,
  file_format: str | None = None,
  **options: Any,
) -> base.Builder:
  """Return a dataset's builder without preparing it.

  Args:
    name: dataset, e.g. `digits_c`.
    config: `clean`, `gaussian_noise_3` or `gaussian_noise/3`; empty for the
      default.
    data_dir: TFDS data folder.
    file_format: `array_record` (the default but in buckets) or `tfrecord`.
    **options: `seed` of the corruptions (0: those of the dataset's version;
      another one is built apart, in a config with the suffix `_seed<n>`);
      `codec` of corrupted datasets and `geometry` of some (which of them, see
      the dataset's README).

  Raises:
    UserError: unknown name, config or option, with a suggestion; a data_dir
      where TensorFlow opens no file, or ArrayRecord in a bucket.
  """
  cls = builder_class(name)
  if data_dir is not None:
    paths.check_records(data_dir)
  if not isinstance(config, str):
    raise errors.unknown_error("config", config, cls.builder_configs)
  text = config.replace("/", "_") or cls.DEFAULT_BUILDER_CONFIG_NAME or ""
  if file_format not in (None, *file_formats.FORMATS):
    raise errors.unknown_error("file format", file_format, file_formats.FORMATS)
  if file_format == file_formats.ARRAY_RECORD and not paths.is_local(
    data_dir or ""
  ):
    raise errors.UserError(
      f"{data_dir}: file_format=array_record: its library opens files of this"
      " machine alone. Use tfrecord, or another data_dir."
    )
  config_of = functools.partial(cls.config_of, text, **options)
  there = cls(config=config_of(), data_dir=data_dir)
  found = there.data_path.exists()
  if found and file_format in (None, there.info.file_format.value):
    return there
  if found:
    raise errors.UserError(
      f"{there.data_dir}: the set is there as {there.info.file_format.value}, got"
      f" file_format={file_format}. Leave it out, or use another data_dir."
    )
  file_format = file_format or file_formats.default_format(data_dir)
  return cls(config=config_of(), data_dir=data_dir, file_format=file_format)


def prepare(name: Named, config: str = "", **options: Any) -> base.Builder:
  """Return a dataset's builder, and prepare it if necessary.

  Args:
    name: dataset.
    config: as in `builder`.
    **options: as in `prepare_all`.

  Raises:
    UserError: as `prepare_all`.
    FileNotFoundError: a source is missing; says what was looked for, where.
  """
  (prepared,) = prepare_all(name, [config], **options)
  return prepared


def prepare_all(
  name: Named,
  configs: Sequence[str],
  *,
  data_dir: str | os.PathLike | None = None,
  manual_dir: str | os.PathLike | None = None,
  workers: int | None = None,
  beam: bool = False,
  beam_options: Sequence[str] = (),
  limit: int | None = None,
  scratch_dir: str | os.PathLike | None = None,
  say: Callable[[str], None] | None = None,
  **options: Any,
) -> Iterator[base.Builder]:
  """Yield the builders of several configs, each prepared if necessary.

  The worker processes stay for all of them, and the sources are decoded once (by a
  Beam pipeline: once a config).

  Args:
    name: dataset.
    configs: each as in `builder`.
    data_dir: TFDS data folder.
    manual_dir: where manually downloaded sources lie.
    workers: processes that decode, corrupt and encode; None: a thread for each
      core.
    beam: make the examples in an Apache Beam pipeline instead.
    beam_options: options of the pipeline, e.g. `runner=DirectRunner`.
    limit: build this many examples of each split only (at least 1; None for
      all), in a folder of their own (`data_dir/first_<limit>`), so that they
      never pass for the whole.
    scratch_dir: where decoded sources are kept during a build of several configs;
      the system's folder for temporary files by default.
    say: what is done with lines of progress; None: TFDS shows its own.
    **options: `file_format`, `seed`, `codec`, `geometry`, as in `builder`.

  Yields:
    The builder of each config in turn, when it is prepared.

  Raises:
    UserError: as `builder`, of any config before the first is built; broken source
      files, or no example in them; a number of workers or examples below 1; a
      data_dir that cannot be written; a set there that is damaged, or made from
      other sources than there are now; or Beam was asked for and is not installed,
      or has no such option.
    FileNotFoundError: a source is missing; says what was looked for, where.
  """
  if workers is not None:
    _check_count("workers", workers)
  if limit is not None:
    _check_count("limit", limit)
    parent = os.fspath(data_dir or tfds.core.constants.DATA_DIR)
    data_dir = os.path.join(parent, f"first_{limit}")
  builders = [builder(name, c, data_dir=data_dir, **options) for c in configs]
  _check_manual_dir(manual_dir)
  download = tfds.download.DownloadConfig(
    manual_dir=os.fspath(paths.parse(manual_dir).resolve())
    if manual_dir
    else None,
    max_examples_per_split=limit,
    beam_options=beam_options_lib.parse(beam_options) if beam else None,
  )
  for unprepared in builders:
    unprepared.beam, unprepared.limit = beam, limit
  with _session(builders, workers, scratch_dir, say) as session:
    for unprepared in builders:
      unprepared.session = session
      try:
        unprepared.download_and_prepare(download_config=download)
      except errors.UserError:
        if unprepared.OWN:
          unprepared.OWN.check_decoded()  # names all that cannot be read
        raise
      unprepared.session = None
      yield unprepared
      if not unprepared.found_on_disk:
        splits = unprepared.info.splits.values()
        session.clock.built(sum(split.num_examples for split in splits))


def _session(
  builders: Sequence[base.Builder],
  workers: int | None,
  scratch_dir: str | os.PathLike | None,
  say: Callable[[str], None] | None,
) -> BuildSession:
  """Return the session of builders whose configs are not built yet."""
  absent = [b for b in builders if not b.data_path.exists()]
  decoding = [b.group() for b in absent if b.config.codec != PUBLISHED]
  return BuildSession(
    workers=workers,
    groups=collections.Counter(decoding),
    configs=len(absent),
    scratch_dir=scratch_dir,
    say=say,
  )


def lacks(
  name: Named,
  configs: Sequence[str],
  *,
  data_dir: str | os.PathLike | None = None,
  manual_dir: str | os.PathLike | None = None,
  split: str | None = None,
  **options: Any,
) -> list[missing.Lack]:
  """Return the missing sources of sets that are not built; build nothing.

  Args:
    name: dataset.
    configs: each as in `builder`.
    data_dir: TFDS data folder.
    manual_dir: where manually downloaded sources lie.
    split: split that has to be among them; None: any.
    **options: as in `builder`.

  Returns:
    Once of sets with the same sources.
  """
  _check_manual_dir(manual_dir)
  out: list[missing.Lack] = []
  seen: set[Any] = set()
  for config in configs:
    each = builder(name, config, data_dir=data_dir, **options)
    published = each.config.codec == PUBLISHED
    group = each.config.condition.name if published else each.group()
    if group not in seen and not each.data_path.exists():
      seen.add(group)
      with missing.collected(out):
        each.check_sources(manual_dir, split)
  return missing.merged(out)


def prepared_examples(
  name: Named,
  config: str,
  split: str,
  *,
  data_dir: str | os.PathLike | None = None,
  **options: Any,
) -> int | None:
  """Return the number of examples of a split; None if it is not prepared."""
  splits = builder(name, config, data_dir=data_dir, **options).info.splits
  return splits[split].num_examples if split in splits else None


@errors.without_traceback
def load(name: str, **kwargs: Any) -> Any:
  """Load a set like `tfds.load`; `dataset/corruption/severity` works too.

  Raises:
    UserError: unknown dataset, corruption or severity, with a suggestion.
    MissingPackageError: TensorFlow is not installed; names `tfds.data_source`.
  """
  if not isinstance(name, str):
    raise errors.unknown_error("dataset", name, names())
  dataset, _, text = name.partition("/")
  cls = builder_class(dataset)
  config = cls.config_of(text.replace("/", "_")) if text else None
  file_formats.check_loadable(f"{dataset}/{config.name}" if config else dataset)
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
  if folder and paths.is_file(paths.parse(folder)):
    raise errors.UserError(
      f"{folder}: the manual dir is a file; name the folder that it lies in."
    )
