"""Refuses to compute in a process that was forked from one that uses JAX.

JAX's threads do not live on in a forked process, and its first computation there
would wait for them for ever. PyTorch's DataLoader forks its workers on Linux. No
client that is made anew in there works: XLA's own locks stay held.
"""

import os
import sys

from robust_tfds import errors

_stale: list[int] = []  # this process, where its parent had begun to use JAX


def check() -> None:
  """Refuse a process that was forked from one that had used JAX.

  Raises:
    UserError: says how workers are started otherwise.
  """
  if _stale:
    raise errors.UserError(
      "This process was forked from one that uses JAX, whose threads a fork loses:"
      " corruptions would wait for ever. Start workers without a fork:"
      " DataLoader(..., multiprocessing_context='spawn'), or 'forkserver'; without"
      " PyTorch multiprocessing.get_context('spawn')."
    )


def _mark() -> None:
  bridge = sys.modules.get("jax._src.xla_bridge")  # no public function says it
  begun = getattr(bridge, "backends_are_initialized", lambda: True)
  _stale[:] = [os.getpid()] * bool(bridge and begun())


if hasattr(os, "register_at_fork"):  # not on Windows, which never forks
  os.register_at_fork(after_in_child=_mark)
