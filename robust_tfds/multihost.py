"""`--multihost`: the flags of a command that is one of several processes."""

import os
import sys

from absl import flags

from robust_tfds import errors, stopping


def define_flags() -> None:
  """Define `--multihost` and the arguments of `jax.distributed`."""
  flags.DEFINE_bool(
    "multihost", False, "Run as one of several processes, see docs/SCALE.md."
  )
  # jax.distributed knows these itself on TPU pods, Slurm and Kubernetes.
  flags.DEFINE_string(
    "coordinator",
    None,
    "With --multihost: host:port of process 0; default: found by jax.distributed.",
  )
  flags.DEFINE_integer(
    "num_processes",
    None,
    "With --multihost: number of processes; default: found by jax.distributed.",
  )
  flags.DEFINE_integer(
    "process_id",
    None,
    "With --multihost: number of this process, from 0; default: found by"
    " jax.distributed.",
  )


def join(settings: flags.FlagValues) -> None:
  """Join the other processes if the command is one of several."""
  if settings.multihost:
    import jax

    jax.distributed.initialize(
      settings.coordinator, settings.num_processes, settings.process_id
    )
    stopping.listen()  # jax.distributed took TERM for itself


def check(settings: flags.FlagValues) -> None:
  """Refuse flags that have no effect or contradict each other."""
  count, index = settings.num_processes, settings.process_id
  given = {
    "coordinator": settings.coordinator,
    "num_processes": count,
    "process_id": index,
  }
  for name, value in given.items():
    if value is not None and not settings.multihost:
      raise errors.UserError(f"--{name}={value} needs --multihost.")
  if count is not None and count < 1:
    raise errors.UserError(f"--num_processes={count}: expected at least 1.")
  if index is not None and not 0 <= index < (count or index + 1):
    raise errors.UserError(
      f"--process_id={index}: expected 0 to {(count or 1) - 1}, of"
      f" --num_processes={count}."
    )


def fail(text: str) -> None:
  """End a command with a text; one of many does not wait for the others."""
  if flags.FLAGS.is_parsed() and flags.FLAGS.multihost:
    # At once, so that the other hosts fail too: jax's own exit waits for them.
    print(text, file=sys.stderr, flush=True)
    os._exit(1)
  sys.exit(text)
