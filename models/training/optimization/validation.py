"""Validation: a network's numbers on the held-out examples, which choose the best one.

Classifiers have an error and a cross-entropy, each the mean over the examples;
segmenters the same over the pixels that count.
Detectors have the sum of their training losses on each example by itself: the
boxes that the losses draw follow the example's key, so that the result does not
depend on the time of the validation or on batches.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from models.checks import arguments
from models.model import NetworkModel
from models.segmentation import inference
from models.training.config import Config
from models.training.data import source as source_lib
from models.training.recipes import base
from robust_tfds import devices, errors, hosts

LOSS, ERROR = "validation_loss", "validation_error"
_KEY, _MASK = "key", "mask"


def score(numbers: Mapping[str, float]) -> float:
  """Return the number that ranks networks, lower is better."""
  return numbers.get(ERROR, numbers[LOSS])


class Validation:
  """The validation of a network on the held-out examples."""

  def __init__(
    self,
    config: Config,
    model: NetworkModel,
    source: source_lib.Source,
    mesh: Mesh,
    recipe: base.Recipe | None = None,
  ):
    """Prepare the validation.

    Nothing is compiled yet. With `recipe=None` pictures are shown as they are.

    Raises:
      UserError: there are fewer examples than hosts.
    """
    self._test_inputs = (recipe or base.Recipe()).test_inputs
    self._config, self._model, self._source = config, model, source
    self._mesh, self._host = mesh, hosts.this_host()
    if config.data.validation:
      self._check(source.steps(1, source_lib.VALIDATION, source_lib.KEEP))
    kind_sums = {
      "detection": self._object_sums,
      "segmentation": self._pixel_sums,
    }.get(model.kind, self._label_sums)
    whole = NamedSharding(mesh, PartitionSpec())
    self._sums = jax.jit(kind_sums, out_shardings=whole)

  def _check(self, examples: int) -> None:
    if examples < self._host.count:
      raise errors.UserError(
        f"config.data.validation: got {self._config.data.validation}, which leaves"
        f" {examples} examples to choose on, fewer than the {self._host.count} hosts."
        " Name a larger fraction."
      )

  def __call__(self, variables: Any) -> dict[str, float]:
    """Return `validation_loss` and, but for detectors, `validation_error`."""
    size, split = self._config.batch_size, source_lib.VALIDATION
    count = self._source.steps(size, split, source_lib.KEEP)
    batches = self._source.batches(
      batch_size=size,
      seed=self._config.seed,
      epoch=0,
      host=(self._host.index, self._host.count),
      split=split,
    )
    sums = collections.Counter[str]()
    last = None
    for _ in range(count):
      rows = size // self._host.count
      last = batch = _padded(next(batches, None), last, rows)
      got = self._sums(variables, put(batch, self._mesh))
      sums.update({name: float(np.asarray(x)) for name, x in got.items()})
    total = sums.pop("count")
    return {name: x / total for name, x in sums.items()}

  def _label_sums(self, variables: Any, batch: Mapping[str, Any]) -> Any:
    """Return sums of a classifier's numbers over the rows of a batch."""
    logits = self._model.apply(
      variables, self._test_inputs(base.pictures(batch))
    )
    label, mask = batch["label"], batch[_MASK]
    chosen = jax.nn.log_softmax(logits)[jnp.arange(len(label)), label]
    wrong = jnp.argmax(logits, -1) != label
    return {
      LOSS: -jnp.sum(jnp.where(mask, chosen, 0.0)),
      ERROR: jnp.sum(wrong & mask),
      "count": jnp.sum(mask),
    }

  def _pixel_sums(self, variables: Any, batch: Mapping[str, Any]) -> Any:
    """Return sums of a segmenter's numbers over the pixels of a batch."""
    model: Any = self._model
    images = self._test_inputs(batch["image"])
    sizes = jnp.asarray(arguments.whole_sizes(images))
    logits, valid = model.logits(variables, images, sizes)
    logits = inference.enlarged(
      logits,
      images.shape[1:3],
      valid=valid,
      align_corners=model.spec.align_corners,
    )
    each = base.pixel_sums(logits, batch["class_map"])
    names = {"loss": LOSS, "error": ERROR, "count": "count"}
    return {
      names[name]: jnp.sum(jnp.where(batch[_MASK], each[name], 0.0))
      for name in names
    }

  def _object_sums(self, variables: Any, batch: Mapping[str, Any]) -> Any:
    """Return sums of a detector's losses, each row by itself."""

    def loss(row: Mapping[str, jax.Array]) -> jax.Array:
      key = jax.random.wrap_key_data(row[_KEY], impl="threefry2x32")
      one = {k: x[None] for k, x in row.items() if k not in (_KEY, _MASK)}
      losses, _ = self._model.apply_train(
        variables, one, key, frozen_norms=True
      )
      return sum(losses.values(), jnp.zeros(()))

    each, mask = jax.vmap(loss)(batch), batch[_MASK]
    return {
      LOSS: jnp.sum(jnp.where(mask, each, 0.0)),
      "count": jnp.sum(mask),
    }


def put(batch: Mapping[str, Any], mesh: Mesh) -> dict[str, jax.Array]:
  """Put a host's rows onto its devices."""
  return {k: devices.put_batch(np.asarray(x), mesh) for k, x in batch.items()}


def _padded(
  batch: Mapping[str, Any] | None, before: Mapping[str, Any] | None, rows: int
) -> dict[str, Any]:
  """Pad a batch with unused rows, and add `mask`."""
  chosen = batch or before
  assert chosen is not None  # a part of the data has at least one batch
  arrays = {
    k: np.asarray(v) for k, v in chosen.items() if k not in ("id", _MASK)
  }
  there = len(arrays[_KEY])
  count = there if batch else 0
  fill = np.arange(rows) % max(there, 1)
  fill[:count] = np.arange(count)
  out = {k: v[fill] for k, v in arrays.items()}
  return {**out, _MASK: np.arange(rows) < count}
