"""Devices: one `('data',)` mesh over all accelerators of all hosts."""

import glob
import importlib.util
import re
import shutil
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from robust_tfds import errors, hosts

_GPUS, _PLUGIN = "/dev/nvidia[0-9]*", "jax_cuda12_plugin"


def mesh(chosen: Sequence[jax.Device] | None = None) -> Mesh:
  """Return a mesh with the axis `data`: all devices (`hosts.alone`) or some."""
  # Auto axes: with the explicit default a replicated operand cannot be
  # concatenated with a sharded one (jax 0.10).
  everywhere = jax.local_devices()[:1] if hosts.is_alone() else jax.devices()
  devices = everywhere if chosen is None else chosen
  return jax.make_mesh(
    (len(devices),), ("data",), axis_types=(AxisType.Auto,), devices=devices
  )


def description() -> str:
  """Return what is computed on: `8 × H100 (cuda12), jax 0.10.2`.

  Says too that a GPU is not used, unless the user chose the CPU (`JAX_PLATFORMS`).
  """
  devices, jax_version = jax.devices(), f"jax {jax.__version__}"
  first, count = devices[0], len(devices)
  if first.platform != "cpu":
    kind = re.sub(r"^NVIDIA | \d+GB.*", "", first.device_kind)  # H100 80GB HBM3
    cuda = re.search(r"cuda (\d+)\d{3}\b", first.client.platform_version)
    return (
      f"{count} × {kind}{f' (cuda{cuda[1]})' if cuda else ''}, {jax_version}"
    )
  text = f"{count} CPU{'s' * (count > 1)}"
  platforms = jax.config.jax_platforms  # type: ignore[attr-defined]
  chosen = "cpu" in (platforms or "")
  if chosen or not (glob.glob(_GPUS) or shutil.which("nvidia-smi")):
    return f"{text}, {jax_version}"
  text += "; a GPU is here but jax cannot use it: "
  if importlib.util.find_spec(_PLUGIN):
    return f"{text}{_PLUGIN} is installed; its driver may be too old for it"
  return f"{text}pip install 'robust_tfds[cuda12]'"


def check_batch_size(batch_size: int, where: Mesh) -> None:
  """Raise UserError unless every device gets equally many examples."""
  devices = where.size
  if batch_size < 1 or batch_size % devices:
    below = max(batch_size // devices, 1) * devices
    raise errors.UserError(
      f"batch_size {batch_size} does not divide over {devices} devices;"
      f" use a multiple of {devices}, e.g. --config.batch_size={below}."
    )


def put_batch(array: np.ndarray, where: Mesh) -> jax.Array:
  """Put a host's part of a batch onto its devices; return all hosts' rows."""
  return jax.make_array_from_process_local_data(rows(where), array)


def batch_shape(array: np.ndarray, where: Mesh) -> jax.ShapeDtypeStruct:
  """Return the shape of what `put_batch` gives of a host's part."""
  shape = (len(array) * jax.process_count(), *array.shape[1:])
  return jax.ShapeDtypeStruct(shape, array.dtype, sharding=rows(where))


def rows(where: Mesh) -> NamedSharding:
  """Return how batches lie on a mesh."""
  return NamedSharding(where, PartitionSpec("data"))


def here(where: Mesh) -> Mesh:
  """Return this host's devices of a mesh; on one host the mesh itself."""
  if jax.process_count() == 1:
    return where
  index = jax.process_index()
  return mesh([d for d in where.devices.flat if d.process_index == index])


def join_hosts(array: Any, where: Mesh) -> Any:
  """Return this host's rows as a part of all hosts' rows; move nothing.

  Args:
    array: over `here(where)`, or its shape.
    where: the mesh.
  """
  if jax.process_count() == 1:
    return array
  shape = (array.shape[0] * jax.process_count(), *array.shape[1:])
  if isinstance(array, jax.ShapeDtypeStruct):
    return jax.ShapeDtypeStruct(shape, array.dtype, sharding=rows(where))
  return jax.make_array_from_single_device_arrays(
    shape, rows(where), [s.data for s in _shards(array)]
  )


def put_replicated(tree: object, where: Mesh) -> object:
  """Return the same values on every device."""
  sharding = NamedSharding(where, PartitionSpec())
  return jax.tree.map(
    lambda x: jax.make_array_from_process_local_data(sharding, np.asarray(x)),
    tree,
  )


def local_rows(array: jax.Array) -> np.ndarray:
  """Return this host's rows of a batch-sharded array, in order."""
  return np.concatenate([np.asarray(s.data) for s in _shards(array)])


def _shards(array: jax.Array) -> list[Any]:
  """Return this host's shards in the order of their rows, each once.

  An array that two threads ask for its shards at the same time may list them
  twice from then on (seen in JAX 0.10.2: once in some thousand times).
  """
  by_row = {s.index[0].start or 0: s for s in array.addressable_shards}
  return [by_row[row] for row in sorted(by_row)]
