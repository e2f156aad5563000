"""Evaluate models on a robustness benchmark.

  robust-tfds run --config=quickstart --workdir=/tmp/quickstart
  robust-tfds run --config=quickstart:digits_p --plan
  robust-tfds run --config=imagenet_c:my_module:build --workdir=/runs/mine \\
      --config.data.manual_dir=/data/imagenet --config.data.limit=1000
  robust-tfds run --config=/my/config.py --workdir=/runs/mine
  robust-tfds run --list

The same command continues a stopped run. `--plan` prints which data are missing (then
its exit code is 1), the work, the memory and the disk. `--plan=measure` also compiles
and times the work here. Both write nothing.
"""

from __future__ import annotations

import pathlib
import sys
import webbrowser
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from absl import flags

from robust_tfds import command, errors, missing, multihost
from robust_tfds.storage import paths

if TYPE_CHECKING:
  import ml_collections
  from etils import epath

  from eval.cells.table import Row
  from eval.cells.workdir import Workdir
  from eval.run.plan import Plan
  from robust_tfds.shards import Shard

_MEASURE = "measure"


def define_flags() -> None:
  """Define the command's flags."""
  from robust_tfds import config_flag

  config_flag.define(_defaults)
  flags.DEFINE_bool(
    "list", False, "List the shipped configs, one per line, and exit."
  )
  flags.DEFINE_string(
    "workdir",
    None,
    "Folder that the run writes to, on this machine or in a bucket.",
  )
  flags.DEFINE_flag(
    flags.Flag(
      _PlanParser(),
      flags.ArgumentSerializer(),
      "plan",
      "",
      "Print the missing data, the cells, images, disk and memory; write nothing."
      " --plan=measure also compiles and times here, which takes minutes.",
      boolean=True,  # may stand alone
    )
  )
  flags.DEFINE_bool("open", False, "Open report.html in a browser at the end.")
  flags.DEFINE_bool(
    "break_lock",
    False,
    "Take over a workdir in a bucket whose run was killed. A run that is still alive"
    " stops at its next cell. On a disk, killed runs leave no lock.",
  )
  flags.DEFINE_string(
    "shard",
    "1/1",
    "i/n: make every n-th cell, beginning with the i-th. Each shard needs a workdir"
    " of its own; robust-tfds score merges them. Default: 1/1, all cells.",
  )
  multihost.define_flags()


def _defaults(
  config: ml_collections.ConfigDict, groups: Sequence[str]
) -> Mapping[str, Any]:
  """Return the keys that may be set although the config file does not name them."""
  from eval.run import spec

  return spec.defaults(config, groups)


def main(argv: Sequence[str]) -> None:
  """Plan, run and print the summary."""
  command.no_arguments(argv)
  if flags.FLAGS.list:
    from robust_tfds import config_flag

    print(config_flag.listing())
    return
  _check_flags(flags.FLAGS)
  from eval.cells.workdir import Workdir
  from eval.run import data as data_lib
  from eval.run import plan as plan_lib
  from eval.run.model import load
  from robust_tfds.shards import Shard

  settings = flags.FLAGS
  shard = Shard.parse(settings.shard)
  workdir = (
    paths.parse(settings.workdir, "--workdir") if settings.workdir else None
  )
  multihost.join(settings)
  place = Workdir(workdir) if workdir else None
  if settings.plan:
    plan = plan_lib.make(settings.config, fetch=False)
    plan = data_lib.without_absent_clean(plan, place)
  else:
    plan = data_lib.plan_of(settings.config, workdir=place)
  if workdir and not plan.config.data.data_dir:
    paths.check_records(workdir, "--workdir")  # sets are prepared there
  if settings.plan:
    if place:
      place.check(plan.config.written)
      load.check_trained(plan, place)
    _print_plan(plan, place, shard, settings.plan == _MEASURE)
    return
  if workdir is None:
    raise errors.UserError("Say where the run lives: --workdir=FOLDER.")
  browser = _browser(plan, workdir) if settings.open else None
  from eval.run import runner

  rows = runner.Runner(
    plan,
    workdir,
    break_lock=settings.break_lock,
    shard=shard,
  ).run()
  if rows:
    _say_result(plan, Workdir(workdir), rows)
    if browser:
      report = Workdir(workdir).reports / "report.html"
      browser.open(pathlib.Path(report).absolute().as_uri())


def _browser(plan: Plan, workdir: epath.Path) -> webbrowser.BaseBrowser:
  """Return a browser for the report; refuse the run if there is none."""
  if not plan.config.reports:
    raise errors.UserError(
      "--open: this config makes no report; add --config.reports=True."
    )
  if not paths.is_local(workdir):
    raise errors.UserError(
      f"--open: {workdir} is not on this machine; copy reports/report.html here."
    )
  try:
    return webbrowser.get()
  except webbrowser.Error as e:
    raise errors.UserError(
      "--open: no browser is here. Leave it out: the last lines say where"
      " report.html is, a page that needs no other file."
    ) from e


def _say_result(plan: Plan, workdir: Workdir, rows: Sequence[Row]) -> None:
  """Print the summary, which ends with the verdict, and where the files are."""
  from eval.run import photographs
  from eval.tables import verdict

  task, summary = plan.task, workdir.reports / "summary.txt"
  page = workdir.reports / "photographs.md"  # written for real networks only
  if plan.config.reports and summary.exists():
    print(summary.read_text("utf-8"))
    if page.exists():
      print(page.read_text("utf-8"))
    print(f"report: {workdir.reports / 'report.html'}")
  else:
    print(*verdict.sentences(task.facts, task.family, rows), sep="\n")
  print(f"table:  {workdir.table_path}")
  if plan.config.photographs and not page.exists():
    print(photographs.HINT)


class _PlanParser(flags.ArgumentParser):
  """`--plan`, `--plan=measure` or `--noplan`."""

  syntactic_help = "true, measure or false"

  def parse(self, argument: str | bool) -> str:
    """Return `true`, `measure` or nothing."""
    text = str(argument).lower()
    if text not in ("", "true", "false", _MEASURE):
      raise ValueError(f"expected nothing, or {_MEASURE}")
    return "" if text == "false" else text


def _print_plan(
  plan: Plan, place: Workdir | None, shard: Shard, measure: bool
) -> None:
  """Print the plan, missing data first; exit with 1 if data are missing."""
  from eval.run import data as data_lib
  from eval.run import estimate

  lacks = [*plan.lacks, *data_lib.lacks(plan, place)]
  if lacks:
    print(f"{missing.words(lacks, command.typed_again(lacks))}\n", flush=True)
  for line in data_lib.to_fetch(plan, place):
    print(f"data: {line}")
  print(estimate.describe(plan, place, shard, measure=measure))
  if lacks:
    sys.exit(1)


def _check_flags(settings: flags.FlagValues) -> None:
  """Refuse flags that say nothing, or that contradict each other."""
  if settings.config is None:
    raise errors.UserError(
      "Say what is run: --config=quickstart; --list says what there is."
    )
  workdir = settings.workdir
  if workdir and paths.is_file(paths.parse(workdir, "--workdir")):
    raise errors.UserError(
      f"--workdir={workdir} is a file, expected a folder or a new name."
    )
  multihost.check(settings)


if __name__ == "__main__":
  command.run(main, define_flags, fail=multihost.fail)
