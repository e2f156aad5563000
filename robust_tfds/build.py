"""Builds a dataset on disk: `tfds build` without apache-beam.

  python -m robust_tfds.build digits_c --config=gaussian_noise_3 --data_dir=/data
  python -m robust_tfds.build imagenet_c --config=all --manual_dir=/data/manual \\
      --data_dir=/data --workers=8 --file_format=array_record

`--config=all` builds every condition under the default codec. Equal inputs give
equal bytes for any number of workers. With `--beam` examples are made in an
Apache Beam pipeline (extra `beam`), for clusters.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from absl import app
from absl import flags

from robust_tfds import command
from robust_tfds import datasets
from robust_tfds import errors


def define_flags() -> None:
  """The command's flags."""
  flags.DEFINE_string(
    "config", "", "clean, <corruption>_<severity>, several with commas, or all."
  )
  flags.DEFINE_string("data_dir", None, "Where TFDS keeps datasets.")
  flags.DEFINE_string("manual_dir", None, "Where sources lie.")
  flags.DEFINE_integer("workers", 1, "Processes to corrupt with.")
  flags.DEFINE_string("file_format", None, "tfrecord or array_record.")
  flags.DEFINE_string(
    "codec",
    None,
    "raw, jpeg85, png, h264 or published: see the README of a set.",
  )
  flags.DEFINE_integer("limit", None, "Examples of each split; default all.")
  flags.DEFINE_integer(
    "seed", 0, "Of the corruptions; another than 0 is built apart."
  )
  flags.DEFINE_bool("beam", False, "Make examples in an Apache Beam pipeline.")


def main(argv: Sequence[str]) -> None:
  """Builds the configs of one dataset."""
  if len(argv) != 2:
    raise app.UsageError("Name one dataset, e.g. digits_c.")
  names = configs(argv[1], flags.FLAGS.config)
  options = _options(flags.FLAGS)
  for config in names:  # all of them, before the first is built
    datasets.builder(argv[1], config, **options)
  for config in names:
    _build(argv[1], config, flags.FLAGS, options)


def _options(settings: flags.FlagValues) -> dict[str, Any]:
  """What `datasets.builder` takes."""
  options = {
    "data_dir": settings.data_dir,
    "seed": settings.seed,
    "file_format": settings.file_format,
  }
  return options | ({"codec": settings.codec} if settings.codec else {})


def _build(
  name: str,
  config: str,
  settings: flags.FlagValues,
  options: Mapping[str, Any],
) -> None:
  """Builds one config and prints where it is."""
  builder = datasets.prepare(
    name,
    config,
    manual_dir=settings.manual_dir,
    workers=settings.workers,
    beam=settings.beam,
    limit=settings.limit,
    **options,
  )
  counts = ", ".join(
    f"{builder.counted(s.num_examples)} {n} examples"
    for n, s in builder.info.splits.items()
  )
  before = " (there before, not built again)" if builder.was_there else ""
  print(
    f"{builder.info.full_name}: {counts} in {builder.data_dir}{before}",
    flush=True,
  )


def configs(name: str, selection: str) -> list[str]:
  """Config names that a `--config` value stands for."""
  if selection != "all":
    names = selection.split(",")
    if selection and "" in names:
      raise errors.UserError(
        f"--config={selection}: a name between two commas is missing."
      )
    return names
  return datasets.conditions(name)


if __name__ == "__main__":
  command.run(main, define_flags)
