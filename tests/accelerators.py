"""What accelerators run, on the CPU: for tests of equal bytes."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import jax

from robust_tfds.corruptions.ops import platforms


def _default(*arrays: Any, default: Callable[..., Any], **of_platforms: Any):
  del of_platforms
  return default(*arrays)


@contextlib.contextmanager
def branches() -> Iterator[None]:
  """Wherever platforms differ the `default` is taken; compiled anew."""
  jax.clear_caches()
  with (
    mock.patch.object(jax.lax, "platform_dependent", _default),
    mock.patch.object(platforms, "assume", contextlib.nullcontext),
  ):
    yield
  jax.clear_caches()
