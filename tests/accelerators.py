"""What accelerators run, on the CPU: for tests of equal bytes."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import jax


def _default(*arrays: Any, default: Callable[..., Any], **of_platforms: Any):
  del of_platforms
  return default(*arrays)


@contextlib.contextmanager
def branches() -> Iterator[None]:
  """`jax.lax.platform_dependent` takes its `default`; compiled anew."""
  jax.clear_caches()
  with mock.patch.object(jax.lax, "platform_dependent", _default):
    yield
  jax.clear_caches()
