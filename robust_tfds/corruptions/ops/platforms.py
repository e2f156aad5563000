"""What CPUs compute otherwise than accelerators: one program has one of both."""

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import jax

_known: contextvars.ContextVar[str] = contextvars.ContextVar(
  "platform", default=""
)


@contextlib.contextmanager
def known(platform: str) -> Iterator[None]:
  """What is traced inside runs on these devices alone (`jax.Device.platform`).

  Trace under a `shard_map` there: JAX remembers what it traced of an inner `jit`,
  and tells what was traced under a mesh from what was not.
  """
  token = _known.set(platform)
  try:
    yield
  finally:
    _known.reset(token)


def dependent(
  *arrays: Any,
  cpu: Callable[..., jax.Array],
  default: Callable[..., jax.Array],
) -> jax.Array:
  """`jax.lax.platform_dependent`; where devices are `known`, their branch alone.

  Nested ones double what is traced each time: all corruptions take 2.9 CPU s in
  place of 8.2.

  Args:
    *arrays: what either function takes, arrays or trees of them.
    cpu: of CPUs.
    default: of all others.
  """
  platform = _known.get()
  if not platform:
    return jax.lax.platform_dependent(*arrays, cpu=cpu, default=default)
  return (cpu if platform == "cpu" else default)(*arrays)
