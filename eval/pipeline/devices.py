"""Devices: one `('data',)` mesh over all accelerators of all hosts."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from jax.sharding import AxisType
from jax.sharding import Mesh
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec

from robust_tfds import errors


def mesh(chosen: Sequence[jax.Device] | None = None) -> Mesh:
  """Devices in one axis, `data`: all of all hosts, or some."""
  # Auto axes: with the explicit default a replicated operand cannot be
  # concatenated with a sharded one (jax 0.10).
  devices = jax.devices() if chosen is None else chosen
  return jax.make_mesh(
    (len(devices),), ("data",), axis_types=(AxisType.Auto,), devices=devices
  )


def check_batch_size(batch_size: int, where: Mesh) -> None:
  """ValueError unless every device gets the same number of examples."""
  devices = where.size
  if batch_size < 1 or batch_size % devices:
    below = max(batch_size // devices, 1) * devices
    raise errors.UserError(
      f"batch_size {batch_size} does not divide over {devices} devices;"
      f" use a multiple of {devices}, e.g. --config.batch_size={below}."
    )


def put_batch(array: np.ndarray, where: Mesh) -> jax.Array:
  """A host's part of a batch onto its devices; rows of all hosts together."""
  sharding = NamedSharding(where, PartitionSpec("data"))
  return jax.make_array_from_process_local_data(sharding, array)


def put_replicated(tree: object, where: Mesh) -> object:
  """The same values on every device."""
  sharding = NamedSharding(where, PartitionSpec())
  return jax.tree.map(
    lambda x: jax.make_array_from_process_local_data(sharding, np.asarray(x)),
    tree,
  )


def local_rows(array: jax.Array) -> np.ndarray:
  """This host's rows of a batch-sharded array, in order."""
  shards = sorted(array.addressable_shards, key=lambda s: s.index[0].start or 0)
  return np.concatenate([np.asarray(s.data) for s in shards])
