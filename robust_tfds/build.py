"""Builds a dataset on disk: `tfds build` without apache-beam.

  python -m robust_tfds.build digits_c --config=gaussian_noise_3 --data_dir=/data
  python -m robust_tfds.build imagenet_c --config=all --manual_dir=/data/manual \\
      --data_dir=/data --workers=8 --file_format=array_record

`--config=all` builds every condition under the default codec. Equal inputs give
equal bytes for any number of workers. `--seed=7` draws the corruptions anew, in
configs with the suffix `_seed7`. With `--beam` examples are made in an
Apache Beam pipeline (extra `beam`), for clusters.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from absl import app
from absl import flags
from absl import logging

from robust_tfds import datasets

# Overridable: other commands define flags of these names, and tests import all.
_CONFIG = flags.DEFINE_string(
  "config",
  "",
  "clean, <corruption>_<severity>, several with commas, or all.",
  allow_override=True,
)
_DATA_DIR = flags.DEFINE_string("data_dir", None, "Where TFDS keeps datasets.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Where sources lie.")
_WORKERS = flags.DEFINE_integer(
  "workers", 1, "Processes to corrupt with.", allow_override=True
)
_FORMAT = flags.DEFINE_string("file_format", None, "tfrecord or array_record.")
_CODEC = flags.DEFINE_string(
  "codec", None, "raw, jpeg85, png, h264 or published: see the README of a set."
)
_LIMIT = flags.DEFINE_integer(
  "limit", None, "Examples of each split; default all."
)
_SEED = flags.DEFINE_integer(
  "seed", 0, "Of the corruptions; another than 0 is built apart."
)
_BEAM = flags.DEFINE_bool(
  "beam", False, "Make examples in an Apache Beam pipeline."
)


def main(argv: Sequence[str]) -> None:
  """Builds, and says errors in words without a traceback."""
  if len(argv) != 2:
    raise app.UsageError("Name one dataset, e.g. digits_c.")
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
  logging.set_verbosity(logging.WARNING)
  try:
    for config in configs(argv[1], _CONFIG.value):
      options = {"codec": _CODEC.value} if _CODEC.value else {}
      built = datasets.prepare(
        argv[1],
        config,
        data_dir=_DATA_DIR.value,
        manual_dir=_MANUAL_DIR.value,
        workers=_WORKERS.value,
        beam=_BEAM.value,
        limit=_LIMIT.value,
        seed=_SEED.value,
        file_format=_FORMAT.value,
        **options,
      )
      counts = ", ".join(
        f"{s.num_examples:,} {n}" for n, s in built.info.splits.items()
      )
      print(f"{built.info.full_name}: {counts} in {built.data_dir}", flush=True)
  except (ValueError, OSError, ImportError) as e:
    sys.exit(f"Error: {e}")


def configs(name: str, wanted: str) -> list[str]:
  """Config names that a `--config` value stands for."""
  if wanted != "all":
    return wanted.split(",")
  return datasets.conditions(name)


if __name__ == "__main__":
  app.run(main)
