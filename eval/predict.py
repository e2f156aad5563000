"""The device side: corrupt, preprocess, run the model, reduce; sharded.

Two jitted steps with the pixels staying on the devices between them: one per
corruption (severity is data), one per (model, image shape). So 19 corruptions x
5 severities x M models compile 19 + M programs, not 95 M. Both run under
`shard_map` over the `('data',)` mesh: each device works on its own rows and
nothing crosses devices, so the number of devices cannot change a result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec

from eval import devices

Reduce = Callable[[jax.Array], Mapping[str, jax.Array]]
_ROWS, _ALL = PartitionSpec("data"), PartitionSpec()


class Predictor:
  """A model with its weights on the mesh."""

  def __init__(self, model: Any, variables: Any, where: Mesh, reduce: Reduce):
    """Puts the weights on every device.

    Args:
      model: has `.apply(variables, uint8 [B, H, W, 3]) -> logits [B, classes]`.
      variables: its weights.
      where: the mesh.
      reduce: logits -> what is kept of them, all with a leading axis of B.
    """
    self.model = model
    self._variables = devices.put_replicated(variables, where)

    def step(variables, images):
      logits = model.apply(variables, images).astype(jnp.float32)
      finite = jnp.isfinite(logits).all(axis=-1)
      return {**reduce(logits), "finite": finite}

    self._step = jax.jit(
        jax.shard_map(
            step,
            mesh=where,
            in_specs=(_ALL, _ROWS),
            out_specs=_ROWS,
            check_vma=False,
        )
    )

  def __call__(self, images: jax.Array) -> Mapping[str, jax.Array]:
    """Reduced outputs of a sharded uint8 batch; does not wait for them."""
    return self._step(self._variables, images)


class Corruptor:
  """Corrupts sharded batches on their devices."""

  def __init__(self, where: Mesh, edition: str, codec: str):
    """`codec` is `raw`, or `jpeg85` for the published sets' last JPEG."""
    self._where, self._edition, self._codec = where, edition, codec

  def __call__(
      self, images: jax.Array, name: str, severity: int, keys: np.ndarray
  ) -> jax.Array:
    """uint8 `[B, H, W, 3]` -> uint8 `[B, H, W, 3]`; `keys` uint32 `[B, 2]`.

    An empty name leaves the pixels as they are but for the codec.
    """
    if name:
      step = _corrupt_step(self._where, name, self._edition)
      images = step(
          images,
          np.int32(severity),
          devices.put_batch(keys, self._where),
      )
    if self._codec == "jpeg85":
      images = _jpeg_step(self._where, 85)(images)
    return images


@functools.cache
def _corrupt_step(where: Mesh, name: str, edition: str) -> Callable:
  from robust_tfds import corruptions

  def step(images, severity, keys):
    return corruptions.corrupt_batch(
        images, name, severity, edition=edition, keys=keys
    )

  return jax.jit(
      jax.shard_map(
          step,
          mesh=where,
          in_specs=(_ROWS, _ALL, _ROWS),
          out_specs=_ROWS,
          check_vma=False,
      )
  )
