"""Hosts of a run: who goes first, and when all wait for all."""

import contextlib
import contextvars
import dataclasses
from collections.abc import Callable, Iterator
from typing import TypeVar

import jax
import numpy as np

T = TypeVar("T")
_TEXT_BYTES = 128
_ALONE = contextvars.ContextVar("alone", default=False)


@dataclasses.dataclass(frozen=True)
class Host:
  """This process and the number of processes, which share the examples."""

  index: int = 0
  count: int = 1


def this_host() -> Host:
  """Return this process among those of `jax.distributed`; see `alone`."""
  if is_alone():
    return Host()
  return Host(jax.process_index(), jax.process_count())


def is_alone() -> bool:
  """Return whether this thread is inside `alone`."""
  return _ALONE.get()


@contextlib.contextmanager
def alone() -> Iterator[None]:
  """Let this be the only host inside, and its first device the only one."""
  before = _ALONE.set(True)
  try:
    yield
  finally:
    _ALONE.reset(before)


def barrier(host: Host, name: str) -> None:
  """Wait until every host is here."""
  if host.count > 1:
    from jax.experimental import multihost_utils

    multihost_utils.sync_global_devices(name)


def text_of_first_host(host: Host, text: str) -> str:
  """Return the first host's text, on all of them.

  Args:
    host: this one.
    text: ASCII, up to `_TEXT_BYTES`; that of the other hosts does not matter.
  """
  if host.count == 1:
    return text
  from jax.experimental import multihost_utils

  own = np.frombuffer(text.encode("ascii").ljust(_TEXT_BYTES), np.uint8)
  first = np.asarray(multihost_utils.broadcast_one_to_all(own))
  return first.astype(np.uint8).tobytes().decode("ascii").rstrip()


def first_host_first(host: Host, name: str, make: Callable[[], T]) -> T:
  """Call `make` on the first host, then on the others, which read it."""
  if host.index > 0:
    barrier(host, name)
    return make()
  result = make()
  barrier(host, name)
  return result
