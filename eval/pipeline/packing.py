"""Outputs of a step packed into one array of bytes, for a single transfer to
the host.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from eval.pipeline import programs
from robust_tfds import devices

# Name -> shape of a row, dtype.
Layout = dict[str, tuple[tuple[int, ...], np.dtype]]
_ROWS, _ALL = PartitionSpec("data"), PartitionSpec()


class Outputs:
  """The outputs on their way to the host."""

  def __init__(self, packed: jax.Array, layout: Layout):
    """Start the copy without waiting.

    Args:
      packed: uint8 `[B, bytes]`, sharded.
    """
    self._packed, self._layout = packed, layout
    if not isinstance(packed, jax.ShapeDtypeStruct):
      for shard in packed.addressable_shards:
        shard.data.copy_to_host_async()

  def block_until_ready(self) -> None:
    """Wait until the devices have computed them."""
    self._packed.block_until_ready()

  def fetch(self) -> dict[str, np.ndarray]:
    """Return this host's rows of every output, once they are there."""
    rows = devices.local_rows(self._packed)
    out, place = {}, 0
    for name, (shape, dtype) in self._layout.items():
      width = math.prod(shape) * dtype.itemsize
      part = np.ascontiguousarray(rows[:, place : place + width])
      out[name] = part.view(dtype).reshape(len(rows), *shape)
      place += width
    return out


class Packed:
  """A sharded step whose outputs are `Outputs`."""

  def __init__(
    self,
    step: Callable[..., Mapping[str, jax.Array]],
    where: Mesh,
    variables: Any,
    rows: int,
  ):
    """Create it without compiling.

    Args:
      step: f(variables, *rows) -> {name: array `[B, ...]`}.
      where: the mesh.
      variables: variables that are replicated on the mesh.
      rows: number of sharded arguments.
    """
    self._step = step
    self._layouts: dict[programs.Key, Layout] = {}
    sharded = jax.shard_map(
      self._pack,
      mesh=where,
      in_specs=(_ALL, *[_ROWS] * rows),
      out_specs=_ROWS,
      check_vma=False,
    )
    self._program = programs.Program(sharded, where, (variables,))

  def __call__(self, *rows: Any) -> Outputs:
    """Return the outputs for arrays, or for shapes: see `programs.Program`."""
    packed = self._program(*rows)
    return Outputs(packed, self._layouts[_row_shapes(rows)])

  def _pack(self, variables: Any, *rows: jax.Array) -> jax.Array:
    outputs = self._step(variables, *rows)
    # Of the outputs as they are traced; the same for every device.
    self._layouts[_row_shapes(rows)] = {
      name: (x.shape[1:], np.dtype(x.dtype)) for name, x in outputs.items()
    }
    return jnp.concatenate([_bytes(x) for x in outputs.values()], axis=1)


def _row_shapes(rows: Any) -> programs.Key:
  """Return the shapes of one row of each argument, which the mesh does not cut."""
  return tuple((tuple(x.shape[1:]), str(x.dtype)) for x in rows)


def _bytes(x: jax.Array) -> jax.Array:
  """Convert `[B, ...]` to uint8 `[B, bytes]`."""
  if x.dtype == jnp.bool_:
    x = x.astype(jnp.uint8)
  raw = jax.lax.bitcast_convert_type(x, jnp.uint8)
  return raw.reshape(x.shape[0], math.prod(raw.shape[1:]))
