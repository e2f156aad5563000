"""The losses of a detector, summed; pictures as they are."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import jax

from robust_tfds.models.training.recipes import base


@dataclasses.dataclass(frozen=True, kw_only=True)
class Detector(base.Recipe):
  """The network brings its losses, already weighted: `apply_train`."""

  KINDS: ClassVar[Sequence[str]] = ("detection",)

  def loss(
    self,
    apply_train: base.ApplyTrain,
    variables: base.Variables,
    batch: base.Batch,
    key: jax.Array,
  ) -> tuple[jax.Array, tuple[base.Variables, base.Numbers]]:
    """See the base; logged are the losses that are summed."""
    losses, variables = apply_train(variables, dict(batch), key)
    return sum(losses.values()), (variables, dict(losses))
