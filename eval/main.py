"""Evaluates models over a robustness benchmark.

  python -m eval.main --config=configs/quickstart.py --workdir=/tmp/quickstart

Run the same command again to continue a run that was stopped. `--plan` prints
what would be done and touches nothing. Each file in `configs/` says in its
docstring what can be set.
"""

import os
import pathlib
import sys
from collections.abc import Sequence

from absl import app
from absl import flags
from absl import logging
from ml_collections import config_flags

_CONFIG = config_flags.DEFINE_config_file(
  "config", None, "A file of configs/, e.g. configs/quickstart.py."
)
_WORKDIR = flags.DEFINE_string(
  "workdir", None, "Folder of the run: everything is written there."
)
_PLAN = flags.DEFINE_bool(
  "plan", False, "Print the cells, the work and an estimate; touch nothing."
)
_MULTIHOST = flags.DEFINE_bool(
  "multihost", False, "One process of many: docs/MULTIHOST.md."
)
# Found by jax.distributed itself on TPU pods, Slurm and Kubernetes.
_COORDINATOR = flags.DEFINE_string(
  "coordinator", None, "host:port of process 0, with --multihost."
)
_PROCESSES = flags.DEFINE_integer(
  "num_processes", None, "How many processes there are, with --multihost."
)
_PROCESS = flags.DEFINE_integer(
  "process_id", None, "This process, from 0, with --multihost."
)


def main(argv: Sequence[str]) -> None:
  """Runs, and says errors in words without a traceback."""
  if len(argv) > 1:
    raise app.UsageError(f"Unexpected arguments: {argv[1:]}")
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
  logging.set_verbosity(logging.WARNING)  # orbax and TFDS narrate every step
  try:
    _run()
  except (ValueError, OSError) as e:
    _fail(f"Error: {e}")
  except KeyboardInterrupt:
    _fail("Stopped. Run the same command again to continue.")


def _fail(text: str) -> None:
  if _MULTIHOST.value:
    # At once, so that the other hosts fail too: jax's own exit waits for them.
    print(text, file=sys.stderr, flush=True)
    os._exit(1)
  sys.exit(text)


def _run() -> None:
  from eval.run import estimate
  from eval.run import plan as plan_lib

  if _MULTIHOST.value:
    import jax

    jax.distributed.initialize(
      _COORDINATOR.value, _PROCESSES.value, _PROCESS.value
    )
  plan = plan_lib.make(_CONFIG.value)
  if _PLAN.value:
    print(estimate.describe(plan))
    return
  if not _WORKDIR.value:
    raise ValueError("Say where the run lives: --workdir=FOLDER.")
  from eval.run import runner

  workdir = pathlib.Path(_WORKDIR.value)
  runner.Runner(plan, workdir).run()
  summary = workdir / "reports" / "summary.txt"
  if summary.exists():
    print(summary.read_text("utf-8"))


if __name__ == "__main__":
  flags.mark_flag_as_required("config")
  app.run(main)
