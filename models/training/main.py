"""Train a network by a recipe.

  robust-tfds train --config=train_standard --workdir=/tmp/standard
  robust-tfds train --config=train_standard --plan
  robust-tfds run --config=quickstart:digits_c --workdir=/tmp/run \\
      --config.models.digits_cnn.checkpoint=/tmp/standard

The same command continues a stopped training. `--plan` shows what the command would
do, and writes nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import ml_collections
from absl import flags

from robust_tfds import command, errors, kept_programs, multihost
from robust_tfds.storage import disk, paths


def define_flags() -> None:
  """Define the command's flags."""
  from robust_tfds import config_flag

  config_flag.define(_defaults, trains=True)
  flags.DEFINE_string(
    "workdir",
    None,
    "Folder of the training, on this machine or in a bucket. It gets checkpoints,"
    " numbers and, at the end, the weights.",
  )
  flags.DEFINE_bool(
    "plan",
    False,
    "Print data, steps, memory, disclosure and, with --workdir, whether a training"
    " would begin or continue there; write nothing.",
  )
  flags.DEFINE_bool(
    "list", False, "List the shipped configs, one per line, and exit."
  )
  multihost.define_flags()


def _defaults(
  config: ml_collections.ConfigDict, groups: Sequence[str]
) -> Mapping[str, Any]:
  """Return the defaults of keys that a training's file leaves out."""
  from models.training import config as config_lib

  return config_lib.defaults(config, groups)


def main(argv: Sequence[str]) -> None:
  """Plan a training, or run it."""
  command.no_arguments(argv)
  settings = flags.FLAGS
  if settings.list:
    from robust_tfds import config_flag

    print(config_flag.listing(trains=True))
    return
  if settings.config is None:
    raise errors.UserError("Say what is trained: --config=train_standard.")
  multihost.check(settings)
  from models.training import config as config_lib
  from models.training import plan, run
  from models.training import workdir as workdir_lib
  from robust_tfds import hosts

  config = config_lib.parse(settings.config)
  workdir = paths.optional(settings.workdir, "--workdir")
  if settings.plan:
    print(plan.describe(config))
    if workdir:
      print(plan.describe_workdir(config, workdir))
    return
  if not workdir:
    raise errors.UserError("Say where the training lives: --workdir=FOLDER.")
  multihost.join(settings)
  if not hosts.this_host().index:  # before data are prepared there
    workdir_lib.check(workdir, workdir_lib.facts(config))
    disk.make_folder(workdir)
  if where := kept_programs.keep():
    print(where)
  prepared = run.prepare(config, data_dir=str(workdir / "data"))
  run.train(prepared, workdir)


if __name__ == "__main__":
  command.run(main, define_flags, fail=multihost.fail)
