"""Hosts of a run: who goes first, and when all wait for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax

from robust_tfds.eval.pipeline import inputs

T = TypeVar("T")


def this_host() -> inputs.Host:
  """This process among those of `jax.distributed`."""
  return inputs.Host(jax.process_index(), jax.process_count())


def barrier(host: inputs.Host, name: str) -> None:
  """Waits until every host is here."""
  if host.count > 1:
    from jax.experimental import multihost_utils

    multihost_utils.sync_global_devices(name)


def on_first_host(host: inputs.Host, name: str, make: Callable[[], T]) -> T:
  """What `make` returns: the first host makes it, the others read it then."""
  if host.index > 0:
    barrier(host, name)
    return make()
  result = make()
  barrier(host, name)
  return result
