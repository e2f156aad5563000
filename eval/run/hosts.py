"""Hosts of a run: who goes first, and when all wait for all."""

from collections.abc import Callable
from typing import TypeVar

import jax
import numpy as np

from robust_tfds.eval.pipeline import inputs

T = TypeVar("T")
_TEXT_BYTES = 128


def this_host() -> inputs.Host:
  """This process among those of `jax.distributed`."""
  return inputs.Host(jax.process_index(), jax.process_count())


def barrier(host: inputs.Host, name: str) -> None:
  """Waits until every host is here."""
  if host.count > 1:
    from jax.experimental import multihost_utils

    multihost_utils.sync_global_devices(name)


def text_of_first_host(host: inputs.Host, text: str) -> str:
  """The first host's text, on all of them.

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


def on_first_host(host: inputs.Host, name: str, make: Callable[[], T]) -> T:
  """What `make` returns: the first host makes it, the others read it then."""
  if host.index > 0:
    barrier(host, name)
    return make()
  result = make()
  barrier(host, name)
  return result
