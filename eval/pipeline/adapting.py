"""A model that adapts to the batches that it is shown, with its states.

Unlike `predict.Predictor` the whole batch is one computation over all devices, so
that statistics are of the whole batch, and without what pads it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from eval.pipeline import predict, programs
from robust_tfds import devices
from robust_tfds.conditions import Condition

# Of a state: what never changes.
_FIXED = ("variables", "source", "fisher")
_STREAM, _BATCHES = "stream", "batches"
Arrays = dict[str, np.ndarray]
State = dict[str, Any]


class Outputs:
  """Outputs of a batch on their way to the host, like `packing.Outputs`."""

  def __init__(self, arrays: Mapping[str, jax.Array]):
    """Start the copies without waiting."""
    self._arrays = arrays
    for array in arrays.values():
      array.copy_to_host_async()

  def block_until_ready(self) -> None:
    """Wait until the devices have computed them."""
    jax.block_until_ready(dict(self._arrays))

  def fetch(self) -> dict[str, np.ndarray]:
    """Return every output, once it is there."""
    return {name: np.asarray(array) for name, array in self._arrays.items()}


class AdaptingPredictor:
  """A method with its states, with the interface of `predict.Predictor`.

  Attributes:
    method: adapts the model.
    shared: whether all conditions are one stream, with one state.
    devices: how many compute a batch.
    clean: number of clean pictures that the method was shown.
    least: pictures that a batch needs.
  """

  def __init__(
    self,
    method: Any,
    variables: Any,
    where: Mesh,
    *,
    clean: Any = None,
    seed: int = 0,
    shared: bool = False,
    episodic: bool = False,
    least: int = 1,
  ):
    """Compute the first state.

    Args:
      method: from `models.adaptation.get`: has `init`, `step`, `reset`, `renew`.
      variables: the model's.
      where: the mesh.
      clean: pictures for `Method.init`.
      seed: of what the method draws.
      shared: see the class.
      episodic: whether each batch begins anew.
      least: see the class.
    """
    self.method, self.shared, self._episodic = method, shared, episodic
    self.least = least
    self.devices, self.clean = where.size, 0 if clean is None else len(clean)
    state = method.init(variables, clean)
    fixed = {k: v for k, v in state.items() if k in _FIXED}
    moving = {k: v for k, v in state.items() if k not in _FIXED}
    self._fixed: Any = devices.put_replicated(fixed, where)
    self._first: Any = devices.put_replicated(moving, where)
    self._everywhere = NamedSharding(where, PartitionSpec())
    self._key = jax.random.key(seed)
    self._states: dict[str, tuple[Any, int]] = {}
    self._slot = _STREAM
    self._program = programs.cached(self._new_program)

  def enter(self, condition: Condition) -> None:
    """Go to the state of a condition: the next batch is of it."""
    self._slot = _STREAM if self.shared else condition.config

  def begin(self) -> None:
    """Forget all states: each stream begins with the first."""
    self._states = {}

  def reset(self, *, new: bool = False) -> None:
    """Reset the stream's state as the method's authors do between conditions.

    Args:
      new: as of a new object, whatever the authors keep.
    """
    if _STREAM in self._states:
      moving, number = self._states[_STREAM]
      renew = new or self.method.renewed
      reset = self.method.renew if renew else self.method.reset
      state = reset({**self._fixed, **moving})
      self._states[_STREAM] = {k: state[k] for k in moving}, number

  def save(self) -> dict[str, Any]:
    """Return all states as arrays, which may be on the devices."""
    out: dict[str, Any] = {}
    for slot, (moving, number) in self._states.items():
      leaves = enumerate(jax.tree.leaves(moving))
      out |= {f"{slot}/{i}": leaf for i, leaf in leaves}
      out[f"{slot}/{_BATCHES}"] = np.asarray(number)
    return out

  def restore(self, arrays: Arrays) -> None:
    """Go on with the states of `save`."""
    first, structure = jax.tree.flatten(self._first)
    ends = (name.rpartition("/") for name in arrays)
    for slot in {slot for slot, _, end in ends if end == _BATCHES}:
      # Files have no arrays without dimensions.
      leaves = [
        arrays[f"{slot}/{i}"].reshape(x.shape) for i, x in enumerate(first)
      ]
      moving = jax.tree.unflatten(structure, leaves)
      moving = jax.device_put(moving, self._everywhere)
      number = int(arrays[f"{slot}/{_BATCHES}"].item())
      self._states[slot] = moving, number

  def __call__(
    self,
    images: jax.Array,
    labels: jax.Array,
    reduce: predict.Reduce,
    sizes: jax.Array | None = None,
    count: int | None = None,
  ) -> Outputs:
    """Answer a batch and adapt to it, see `predict.Predictor`.

    Returns:
      The result of `reduce`; `finite`, bool `[B]`, which is False everywhere once
      a weight is not; and `backward`, float32 `[B]`, the backward passes of the
      batch a picture.
    """
    del sizes
    moving, number = self._states.get(self._slot, (self._first, 0))
    count = len(images) if count is None else count
    key = jax.random.fold_in(self._key, number)
    step = self._program(reduce, count)
    with programs.TRACING:  # the first call traces
      outputs, after = step(self._fixed, moving, images, labels, key)
    kept = self._first if self._episodic else after
    self._states[self._slot] = kept, number + 1
    return Outputs(outputs)

  def give_up(self) -> None:
    """Do nothing: devices finish what they were given."""

  def _new_program(self, reduce: predict.Reduce, count: int) -> Callable:
    step = functools.partial(self._step, reduce, count)
    return jax.jit(step, out_shardings=self._everywhere)

  def _step(
    self,
    reduce: predict.Reduce,
    count: int,
    fixed: State,
    moving: State,
    images: jax.Array,
    labels: jax.Array,
    key: jax.Array,
  ) -> tuple[dict[str, jax.Array], State]:
    before = moving.get("backward", 0)
    state = {**fixed, **moving}
    logits, after = self.method.step(state, images[:count], key)
    rows = len(images)
    padding = [(0, rows - count), (0, 0)]
    logits = jnp.pad(logits.astype(jnp.float32), padding)
    outputs = dict(predict.reduce_logits(reduce, logits, labels))
    whole = [jnp.isfinite(x).all() for x in jax.tree.leaves(after["weights"])]
    outputs["finite"] &= jnp.stack([jnp.array(True), *whole]).all()
    passes = (after.get("backward", 0) - before) / count
    outputs["backward"] = jnp.full(rows, passes, jnp.float32)
    return outputs, {k: after[k] for k in moving}
