"""MobileNetV2 (Sandler et al. 2018, arXiv:1801.04381), torchvision's weights."""

from __future__ import annotations

import functools

import jax
from flax import nnx

from robust_tfds.models import layers
from robust_tfds.models.classification import inverted
from robust_tfds.models.family import Family
from robust_tfds.models.spec import Spec
from robust_tfds.models.spec import Variant

_SPEC = Spec(
  parameters=3_504_872,
  gflops=0.301,
  source="torchvision 0.28 models/mobilenetv2.py, IMAGENET1K_V1",
)
VARIANTS = {"mobilenet_v2": Variant(_SPEC)}
ORACLES = {"mobilenet_v2": "torchvision:mobilenet_v2"}
# Table 2: expansion, channels, blocks, stride of the first of them.
_STAGES = (
  (1, 16, 1, 1),
  (6, 24, 2, 2),
  (6, 32, 3, 2),
  (6, 64, 4, 2),
  (6, 96, 3, 1),
  (6, 160, 3, 2),
  (6, 320, 1, 1),
)


class Block(nnx.Module):
  """Expand, filter each channel, project; added where the shape stays."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    stride: int,
    expand: int,
    *,
    rngs: nnx.Rngs,
  ):
    """`expand` is the inner channels per input channel."""
    curved = functools.partial(
      inverted.conv_norm, activation=jax.nn.relu6, rngs=rngs
    )
    inner = inputs * expand
    steps = [curved(inputs, inner, 1)] if expand != 1 else []
    self.conv = layers.Stack(
      (
        *steps,
        curved(inner, inner, 3, stride, groups=inner),
        layers.conv(inner, outputs, 1, bias=False, rngs=rngs),
        layers.BatchNorm(outputs, rngs=rngs),
      )
    )
    self.adds = stride == 1 and inputs == outputs

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, inputs]` -> `[B, H / stride, W / stride, outputs]`."""
    y = self.conv(x)
    return x + y if self.adds else y


class Network(nnx.Module):
  """A 3 x 3 stem, seventeen blocks, a 1 x 1, a mean, a linear head."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """`num_classes` logits."""
    curved = functools.partial(
      inverted.conv_norm, activation=jax.nn.relu6, rngs=rngs
    )
    features, inputs = [curved(3, 32, 3, 2)], 32
    for expand, outputs, depth, first in _STAGES:
      for i in range(depth):
        stride = 1 if i else first
        features.append(Block(inputs, outputs, stride, expand, rngs=rngs))
        inputs = outputs
    features.append(curved(inputs, 1280, 1))
    self.features = layers.Stack(features)
    head = layers.linear(1280, num_classes, rngs=rngs)
    self.classifier = layers.Stack((layers.identity, head))

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, 3]` -> logits `[B, num_classes]`."""
    return self.classifier(layers.global_mean(self.features(x)))


FAMILY = Family(Network, VARIANTS, oracles=ORACLES)
