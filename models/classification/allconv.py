"""AllConv for CIFAR (Springenberg et al. 2015, arXiv:1412.6806), as in AugMix's code.

It has batch norms, GELU as x sigmoid(1.702 x), and two 1 x 1 convolutions with
a padding of 1. Attribute names are those of AugMix's code.
"""

from __future__ import annotations

import dataclasses

import jax
from flax import nnx

from models import layers
from models.classification import wrn
from models.family import Family, Rules
from models.spec import Variant

VARIANTS = {
  "allconv": Variant(
    dataclasses.replace(
      wrn.AUGMIX,
      flexible=False,
      parameters=1_409_674,
      source="google-research/augmix, models/cifar/allconv.py",
    ),
    {"widths": (96, 192)},
  )
}
CHECKPOINTS: dict[str, Rules] = {"augmix": ()}
_MEAN_PX = 8  # of the last map's 10 x 10: the rest, right and below, is unused


def gelu(x: jax.Array) -> jax.Array:
  """Compute GELU by Hendrycks & Gimpel 2016, arXiv:1606.08415, section 2."""
  return x * jax.nn.sigmoid(1.702 * x)


def _halved(x: jax.Array) -> jax.Array:
  return layers.max_pool(x, 2, 2)


class Network(nnx.Module):
  """Nine convolutions, a mean of the top left, and a linear head."""

  def __init__(
    self, *, widths: tuple[int, int], num_classes: int, rngs: nnx.Rngs
  ):
    """Create the module; `widths` are channels before and after the first halving."""
    narrow, wide = widths
    steps: list[layers.Step] = []
    inputs = 3
    # Outputs, kernel and padding of each convolution; None halves the sides.
    for kind in (
      *((narrow, 3, 1),) * 3,
      None,
      *((wide, 3, 1),) * 3,
      None,
      (wide, 3, 0),
      *((wide, 1, 1),) * 2,
    ):
      if kind is None:
        steps += [_halved, layers.Dropout(0.5)]
        continue
      outputs, kernel, padding = kind
      conv = layers.conv(inputs, outputs, kernel, 1, padding, rngs=rngs)
      steps += [conv, layers.BatchNorm(outputs, rngs=rngs), gelu]
      inputs = outputs
    self.features = layers.Stack(steps)
    self.classifier = layers.linear(inputs, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, 32, 32, 3]` to logits `[B, num_classes]`."""
    x = self.features(x)[:, :_MEAN_PX, :_MEAN_PX]
    return self.classifier(layers.global_mean(x))


FAMILY = Family(Network, VARIANTS, CHECKPOINTS)
