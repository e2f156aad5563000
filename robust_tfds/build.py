"""Build a data set on disk, as `tfds build` does but without apache-beam.

  robust-tfds build digits_c --config=gaussian_noise_3 --data_dir=/data
  robust-tfds build imagenet_c --config=all --manual_dir=/data/manual \\
      --data_dir=/data
  robust-tfds build folder:/data/pets --config=fog_3 --data_dir=/data

`--config` is `all` (every condition in the default codec), or names separated by
commas: configs (`fog_3`), corruptions (`fog`: every severity), sets and families
(`common`, `weather`). Several configs share the workers, and the sources are decoded
once. Finished configs are not built again, so the same command continues a build that
was killed. `--shard=2/4` builds every fourth config, beginning with the second, for
machines that work side by side.

All cores work by default. Equal inputs give equal bytes for any number of workers.
With `--beam` an Apache Beam pipeline makes the examples (extra `beam`), for clusters:
docs/SCALE.md.
"""

from collections.abc import Sequence
from typing import Any

from absl import app, flags

from robust_tfds import (
  command,
  conditions,
  datasets,
  errors,
  kept_programs,
  shards,
  user_data,
)
from robust_tfds.building import base, beam_options
from robust_tfds.storage import paths


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_string(
    "config",
    "",
    "all, or names separated by commas: clean, configs (fog_3), corruptions (fog),"
    " sets (common) or families (weather); default: clean data.",
  )
  flags.DEFINE_string(
    "set_name",
    "",
    "Name of a set of your own; default: the last part of its place.",
  )
  flags.DEFINE_string("split", "", "Split, for tfds: sets; default: test.")
  flags.DEFINE_string(
    "images",
    "",
    "Folder of the pictures, for coco:; default: the folder of the file.",
  )
  flags.DEFINE_bool(
    "drop_alpha", False, "Ignore the transparency of pictures of your own."
  )
  flags.DEFINE_string(
    "labels",
    "",
    "Table of path and label, for folder:; default: class folders.",
  )
  flags.DEFINE_bool(
    "skip_errors", False, "Leave out files of your own that cannot be read."
  )
  flags.DEFINE_bool(
    "sequences", False, "Make ImageNet-P's sequences from pictures of your own."
  )
  flags.DEFINE_string(
    "groups",
    "",
    "Pattern that finds a clip's source in its path, for videos:; default: each clip"
    " is its own source.",
  )
  flags.DEFINE_string(
    "data_dir", None, "Folder for the sets; default: TFDS's own folder."
  )
  flags.DEFINE_string(
    "manual_dir",
    None,
    "Folder of the sources; default: downloads/manual below data_dir.",
  )
  flags.DEFINE_integer(
    "workers",
    None,
    "Number of worker processes; default: a thread for each core instead.",
  )
  flags.DEFINE_string(
    "file_format",
    None,
    "array_record or tfrecord; default: array_record, in buckets tfrecord.",
  )
  flags.DEFINE_string(
    "codec",
    None,
    "raw, jpeg85, png, h264 or published, see the README of the set; default: the"
    " set's own.",
  )
  flags.DEFINE_integer(
    "limit", None, "Number of examples of each split; default: all."
  )
  flags.DEFINE_integer(
    "seed",
    0,
    "Seed of the corruptions; default: 0. Others are built under names with the suffix"
    " _seedN.",
  )
  flags.DEFINE_string(
    "shard",
    "1/1",
    "i/n: build every n-th config, beginning with the i-th. Default: 1/1, all.",
  )
  flags.DEFINE_string(
    "scratch_dir",
    None,
    "Folder on a local disk for decoded sources, if several configs are built;"
    " default: the system's folder for temporary files.",
  )
  flags.DEFINE_bool("beam", False, "Make examples in an Apache Beam pipeline.")
  flags.DEFINE_string(
    "beam_pipeline_options",
    "",
    "With --beam: options of the pipeline, k=v separated by commas:"
    " runner=DirectRunner; default: none.",
  )


def main(argv: Sequence[str]) -> None:
  """Build the configs of one dataset."""
  if len(argv) != 2:
    raise app.UsageError("Name one dataset, e.g. digits_c.")
  settings = flags.FLAGS
  options = user_data.Options(
    settings.set_name,
    settings.split,
    settings.sequences,
    settings.data_dir or "",
    groups=settings.groups,
    images=settings.images,
    drop_alpha=settings.drop_alpha,
    labels=settings.labels,
    skip_errors=settings.skip_errors,
    manual_dir=settings.manual_dir or "",
  )
  dataset = datasets.builder_class(argv[1], options)
  names = configs(dataset, settings.config)
  part = shard(names, settings.shard)
  if settings.shard != "1/1":
    print(
      f"shard {settings.shard}: {len(part)} of {len(names)} configs", flush=True
    )
  if where := kept_programs.keep():
    print(where, flush=True)
  for built in datasets.prepare_all(dataset, part, **_options(settings)):
    _report(built)


def _options(settings: flags.FlagValues) -> dict[str, Any]:
  """Return the keyword arguments of `datasets.prepare_all`."""
  listed = beam_options.split(settings.beam_pipeline_options)
  if listed and not settings.beam:
    raise errors.UserError(
      f"--beam_pipeline_options={settings.beam_pipeline_options} without --beam:"
      " add --beam, or leave them out."
    )
  options = {
    "data_dir": paths.optional(settings.data_dir, "--data_dir"),
    "manual_dir": paths.optional(settings.manual_dir, "--manual_dir"),
    "workers": settings.workers,
    "file_format": settings.file_format,
    "limit": settings.limit,
    "seed": settings.seed,
    "scratch_dir": settings.scratch_dir,
    "beam": settings.beam,
    "beam_options": listed,
    "say": lambda text: print(text, flush=True),
  }
  return options | ({"codec": settings.codec} if settings.codec else {})


def _report(built: base.Builder) -> None:
  """Print where one config is."""
  counts = ", ".join(
    f"{built.counted(s.num_examples, n)} {n} examples"
    for n, s in built.info.splits.items()
  )
  before = ""
  if built.found_on_disk:
    words = ("there before, not built again", built.made_otherwise())
    before = f" ({'; '.join(filter(None, words))})"
  print(
    f"{built.info.full_name}: {counts} in {built.data_dir}{before}",
    flush=True,
  )


def configs(name: datasets.Named, selection: str) -> list[str]:
  """List the configs that a `--config` value stands for, each once.

  Raises:
    UserError: a name between two commas is missing; an unknown one is left to the
      builder to refuse.
  """
  if selection == "all":
    return datasets.builder_class(name).condition_names()
  words = selection.split(",")
  if selection and "" in words:
    raise errors.UserError(
      f"--config={selection}: a name between two commas is missing."
    )
  family = datasets.builder_class(name).FAMILY
  names = [n for word in words for n in _named(family, word)]
  return list(dict.fromkeys(names))


def _named(family: conditions.Family | None, word: str) -> list[str]:
  """List the configs that a word names: of a corruption or a set, all levels."""
  if family is None:
    return [word]
  if word in family.known_names and family.kind == "sequences":
    return [word]  # a config's name too: the first difficulty
  if word not in (
    *family.known_names,
    *family.groups,
    *conditions.SETS,
    *family.lists,
  ):
    return [word]
  members = family.resolve(word)
  return [c.config for c in family.known_conditions if c.name in members]


def shard(names: Sequence[str], text: str) -> list[str]:
  """List one machine's share of the configs: every n-th, from the i-th.

  >>> shard(["clean", "fog_1", "fog_2"], "2/2")
  ['fog_1']

  Args:
    names: names of all configs.
    text: `i/n`.

  Raises:
    UserError: not i/n with i from 1 to n.
  """
  return shards.Shard.parse(text).share(names)


if __name__ == "__main__":
  command.run(main, define_flags)
