"""The linear baseline of the quickstart: one matrix on all RGB pixels."""

from __future__ import annotations

import dataclasses

import jax
from flax import nnx

from models import layers
from models.classification import digits_cnn
from models.family import Family
from models.spec import Variant

SPEC = dataclasses.replace(digits_cnn.SPEC, parameters=30_730)
VARIANTS = {
  "digits_linear": Variant(SPEC),
  "signs_linear": Variant(
    dataclasses.replace(digits_cnn.SIGNS, parameters=147_468), {"side": 64}
  ),
}


class Network(nnx.Module):
  """A multinomial logistic regression."""

  def __init__(self, *, num_classes: int, side: int = 32, rngs: nnx.Rngs):
    """Create one linear layer from all pixels of a square picture with this side."""
    self.head = layers.linear(side * side * 3, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, S, S, 3]` to logits `[B, num_classes]`."""
    return self.head(x.reshape(x.shape[0], -1))


FAMILY = Family(Network, VARIANTS)
