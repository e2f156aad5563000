"""Compiled steps: compiled in threads ahead of their first use.

A run shows every batch under many conditions to several models, each with its
own program. Called with shapes instead of arrays (`jax.ShapeDtypeStruct`), a
`Program` is compiled in a thread and returns the shapes of its outputs. So a
chain of steps is compiled by calling it with shapes, in the order of use, while
devices run what is ready. Called with arrays, it runs and only waits for its
own compilation.
"""

import concurrent.futures
import functools
import os
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from eval.pipeline import kept_traces
from robust_tfds.corruptions.ops import platforms

Key = tuple[tuple[tuple[int, ...], str], ...]
P = ParamSpec("P")
T = TypeVar("T")


def cached(make: Callable[P, T]) -> Callable[P, T]:
  """Return a thread-safe `functools.cache` that computes each value once."""
  lock, remembered = threading.Lock(), functools.cache(make)

  @functools.wraps(make)
  def locked(*args: P.args, **kwargs: P.kwargs) -> T:
    with lock:
      return remembered(*args, **kwargs)  # type: ignore[arg-type]

  return locked


class Program:
  """A step over sharded rows, compiled once for every set of shapes."""

  def __init__(
    self,
    step: Callable,
    where: Mesh,
    bound: tuple[Any, ...] = (),
    name: str = "",
  ):
    """Create it without compiling.

    Args:
      step: f(*bound, *rows) -> arrays with a leading axis of rows.
      where: the mesh over which the outputs' rows are sharded.
      bound: first arguments of every call, such as weights.
      name: see `kept_traces.lower`.
    """
    self._step, self._bound, self._name = jax.jit(step), bound, name
    self._rows = NamedSharding(where, PartitionSpec("data"))
    self._lock = threading.Lock()
    self._entries: dict[Key, _Entry] = {}

  def __call__(self, *rows: Any) -> Any:
    """Return outputs for arrays, or the shapes of outputs for shapes."""
    key = tuple((tuple(x.shape), str(x.dtype)) for x in rows)
    with self._lock:
      entry = self._entries.get(key)
      if mine := entry is None:
        entry = self._entries[key] = _Entry()
    assert entry is not None
    if mine:
      args = (*self._bound, *rows)
      lower = functools.partial(kept_traces.lower, self._step, self._name, args)
      devices = platforms.assume(self._rows.mesh.devices.flat[0].platform)
      with TRACING, devices:
        entry.trace(lambda: lower(self._rows))
    if any(isinstance(x, jax.ShapeDtypeStruct) for x in rows):
      if mine:
        _compile_in_pool(entry)
      return jax.tree.map(self._shape, entry.lowered.result().out_info)
    if mine:
      entry.compile()
    return entry.compiled.result()(*self._bound, *rows)

  def _shape(self, info: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(info.shape, info.dtype, sharding=self._rows)


class _Entry:
  """One compilation: its traced form, then its program, or its error."""

  def __init__(self) -> None:
    self.lowered: concurrent.futures.Future = concurrent.futures.Future()
    self.compiled: concurrent.futures.Future = concurrent.futures.Future()

  def trace(self, lower: Callable[[], Any]) -> None:
    """Trace; an error is raised to whoever waits for the result."""
    _settle(self.lowered, lower)

  def compile(self) -> None:
    """Compile the traced form."""
    _settle(self.compiled, lambda: self.lowered.result().compile())


def _settle(future: concurrent.futures.Future, make: Callable[[], Any]) -> None:
  try:
    future.set_result(make())
  except BaseException as e:  # raised by `result`
    future.set_exception(e)


def _compile_in_pool(entry: _Entry) -> None:
  """Compile in a thread; wait while all threads of the pool are busy.

  So a run that ends early has few compilations to wait for.
  """
  _ROOM.acquire()
  _pool().submit(entry.compile).add_done_callback(lambda _: _ROOM.release())


# Models and plugins of users need not be ready for two threads at once.
TRACING = threading.RLock()
_WORKERS = min(os.cpu_count() or 1, 8)
_ROOM = threading.Semaphore(_WORKERS)


@cached
def _pool() -> concurrent.futures.ThreadPoolExecutor:
  """Return the compiling threads; XLA releases Python's lock."""
  return concurrent.futures.ThreadPoolExecutor(
    _WORKERS, thread_name_prefix="compile"
  )
