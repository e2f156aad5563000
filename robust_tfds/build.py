"""Builds a dataset on disk: `tfds build` without apache-beam.

  python -m robust_tfds.build digits_c --config=gaussian_noise_3 --data_dir=/data
  python -m robust_tfds.build imagenet_c --config=all --manual_dir=/data/manual \\
      --data_dir=/data --workers=8 --file_format=array_record

`--config=all` builds every condition under the default codec. Equal inputs give
equal bytes for any number of workers. With `--beam` examples are made in an
Apache Beam pipeline (extra `beam`), for clusters.
"""

from __future__ import annotations

from collections.abc import Sequence

from absl import app
from absl import flags

from robust_tfds import command
from robust_tfds import datasets


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
  for config in configs(argv[1], flags.FLAGS.config):
    _build(argv[1], config, flags.FLAGS)


def _build(name: str, config: str, options: flags.FlagValues) -> None:
  """Builds one config and prints where it is."""
  codec = {"codec": options.codec} if options.codec else {}
  builder = datasets.prepare(
    name,
    config,
    data_dir=options.data_dir,
    manual_dir=options.manual_dir,
    workers=options.workers,
    beam=options.beam,
    limit=options.limit,
    seed=options.seed,
    file_format=options.file_format,
    **codec,
  )
  counts = ", ".join(
    f"{builder.counted(s.num_examples)} {n} examples"
    for n, s in builder.info.splits.items()
  )
  print(f"{builder.info.full_name}: {counts} in {builder.data_dir}", flush=True)


def configs(name: str, selection: str) -> list[str]:
  """Config names that a `--config` value stands for."""
  if selection != "all":
    return selection.split(",")
  return datasets.conditions(name)


if __name__ == "__main__":
  command.run(main, define_flags)
