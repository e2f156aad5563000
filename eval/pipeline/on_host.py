"""Models that are called on the host, in a loop parallel to the devices.

This host's rows of a corrupted batch are fetched once; one thread for all such
models calls them in the order of the batches; their answers return to the
devices for the reduction. Meanwhile the devices make the next batches.
"""

from __future__ import annotations

import concurrent.futures
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from eval.pipeline import packing, predict, programs
from robust_tfds import devices

_LOGITS = ("logits",)
# Reduced numbers on the devices, and texts by name.
_Answer = tuple[packing.Outputs, dict[str, np.ndarray]]


def predictor(
  model: Any, variables: Any, where: Mesh
) -> predict.Predictor | HostPredictor:
  """Return what runs a model: on the devices, or on the host if it requires that."""
  if model.on_host:
    return HostPredictor(model, variables, where)
  return predict.Predictor(model, variables, where)


class Outputs:
  """The outputs of a model call in progress, like `packing.Outputs`."""

  def __init__(self, future: concurrent.futures.Future[_Answer]):
    """Create them; `future` holds the reduced outputs and texts."""
    self._future = future

  def block_until_ready(self) -> None:
    """Wait until the model has answered and the answer is reduced."""
    self._future.result()[0].block_until_ready()

  def fetch(self) -> dict[str, np.ndarray]:
    """Return this host's rows of every output, or raise the model's error."""
    outputs, texts = self._future.result()
    return {**outputs.fetch(), **texts}


class HostPredictor:
  """A model on the host with the interface of `predict.Predictor`."""

  def __init__(self, model: Any, variables: Any, where: Mesh):
    """Create the predictor without calling the model.

    Args:
      model: its `apply(variables, uint8 [B, ..., 3])` takes and returns numpy.
      where: the mesh of all hosts.
    """
    self._model, self._variables = model, variables
    # Each host reduces its own rows: nothing crosses hosts.
    self._here = devices.here(where)
    self._reduction = programs.cached(self._new_reduction)
    self._item = model.spec.item_axes
    self._waiting: set[concurrent.futures.Future[_Answer]] = set()

  def __call__(
    self,
    images: Any,
    labels: Any,
    reduce: predict.Reduce,
    sizes: Any = None,
    count: int | None = None,
  ) -> Outputs:
    """Call the model without waiting, see `predict.Predictor`.

    Detectors, which are called picture by picture, only get `count` rows. For
    shapes, the outputs cannot be fetched; the reduction is compiled ahead if
    its shapes are known.
    """
    if isinstance(images, jax.ShapeDtypeStruct):
      if sizes is None:
        shapes = self._shapes_here(images, labels)
        self._reduction(reduce, _LOGITS)(*shapes)
      return Outputs(concurrent.futures.Future())
    rows = [images, labels] if sizes is None else [images, labels, sizes]
    for array in rows:
      for shard in array.addressable_shards:
        shard.data.copy_to_host_async()
    future = thread().submit(self._call, reduce, rows, count)
    self._waiting.add(future)
    future.add_done_callback(self._waiting.discard)
    return Outputs(future)

  def give_up(self) -> None:
    """Cancel waiting calls: the run ends."""
    for future in list(self._waiting):
      future.cancel()

  def _call(
    self, reduce: predict.Reduce, rows: Sequence[jax.Array], count: int | None
  ) -> _Answer:
    """Call the model; this runs in the thread."""
    images, labels, *sizes = (devices.local_rows(array) for array in rows)
    if sizes:
      answer = self._detections(images, sizes[0], count)
      # Masks as run lengths; detections are in the order of their scores.
      texts = {k: v for k, v in answer.items() if v.dtype == np.object_}
      numbers = {k: v for k, v in answer.items() if k not in texts}
      return self._reduced(reduce, labels, numbers), texts
    flat = images.reshape(-1, *images.shape[-self._item :])
    logits = self._model.apply(self._variables, flat)
    logits = logits.reshape(*images.shape[: -self._item], -1)
    return self._reduced(reduce, labels, {"logits": logits}), {}

  def _detections(
    self, images: np.ndarray, sizes: np.ndarray, count: int | None
  ) -> Mapping[str, np.ndarray]:
    """Return the outputs of a detector for a batch, from its first `count` rows."""
    rows = len(images)
    shown = max(rows if count is None else count, 1)  # none: shapes of answers
    answer = self._model.apply(self._variables, images[:shown], sizes[:shown])
    # What fills a batch repeats its first picture (`inputs`).
    places = np.where(np.arange(rows) < shown, np.arange(rows), 0)
    return {name: array[places] for name, array in answer.items()}

  def _reduced(
    self,
    reduce: predict.Reduce,
    labels: np.ndarray,
    answer: Mapping[str, np.ndarray],
  ) -> packing.Outputs:
    rows = (labels, *answer.values())
    arrays = [devices.put_batch(x, self._here) for x in rows]
    return self._reduction(reduce, tuple(answer))(*arrays)

  def _shapes_here(
    self, images: jax.ShapeDtypeStruct, labels: jax.ShapeDtypeStruct
  ) -> list[jax.ShapeDtypeStruct]:
    """Return the shapes of this host's labels and logits, for a batch of all hosts."""
    rows = images.shape[0] // jax.process_count()
    inner = images.shape[1 : -self._item]
    logits = (rows, *inner, self._model.spec.num_classes)
    sharding = devices.rows(self._here)
    return [
      jax.ShapeDtypeStruct((rows,), labels.dtype, sharding=sharding),
      jax.ShapeDtypeStruct(logits, np.float32, sharding=sharding),
    ]

  def _new_reduction(
    self, reduce: predict.Reduce, names: tuple[str, ...]
  ) -> packing.Packed:
    step = functools.partial(_reduce, reduce, names)
    return packing.Packed(step, self._here, (), 1 + len(names))


def _reduce(
  reduce: predict.Reduce,
  names: Sequence[str],
  _: Any,
  labels: jax.Array,
  *arrays: jax.Array,
) -> Mapping[str, jax.Array]:
  answer = dict(zip(names, arrays, strict=True))
  if names == _LOGITS:
    return predict.reduce_logits(reduce, answer["logits"], labels)
  return predict.reduce_detections(reduce, answer, labels)


@programs.cached
def thread() -> concurrent.futures.ThreadPoolExecutor:
  """Return one thread for all models: their frameworks may not support several."""
  return concurrent.futures.ThreadPoolExecutor(
    1, thread_name_prefix="models on the host"
  )
