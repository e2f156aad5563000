"""DenseNet 121, 161, 169, 201 (Huang et al. 2017, arXiv:1608.06993).

For CIFAR there are `densenet40_12`, as in AugMix's code (no bottleneck,
transitions that keep the channels), and the paper's `densenet_bc_100_12`, which
AugMix's paper names.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.classification import wrn
from models.family import Family, Rules
from models.spec import Spec, Variant


def _variant(
  parameters: int, depths: tuple[int, ...], growth: int = 32, stem: int = 64
) -> Variant:
  spec = Spec(parameters=parameters, source="torchvision 0.28 densenet.py")
  return Variant(spec, {"depths": depths, "growth": growth, "stem": stem})


def _cifar(parameters: int, depth: int, **options: Any) -> Variant:
  spec = dataclasses.replace(wrn.AUGMIX, parameters=parameters)
  sizes = {"depths": (depth,) * 3, "growth": 12, "stem": 24, "small": True}
  return Variant(spec, {**sizes, **options})


VARIANTS = {
  "densenet121": _variant(7_978_856, (6, 12, 24, 16)),
  "densenet161": _variant(28_681_000, (6, 12, 36, 24), 48, 96),
  "densenet169": _variant(14_149_480, (6, 12, 32, 32)),
  "densenet201": _variant(20_013_928, (6, 12, 48, 32)),
  "densenet40_12": _cifar(1_059_298, 12, bottleneck=False, reduction=1.0),
  "densenet_bc_100_12": _cifar(769_162, 16),
}
# The published files are older than the module: `norm.1` for `norm1`.
_OLD = (r"(denselayer\d+\.(?:norm|conv))\.(\d)\.", r"\1\2.")
CHECKPOINTS: dict[str, Rules] = {
  "torchvision": (_OLD,),
  "cadene": (_OLD, (r"^last_linear\.", "classifier.")),
  "augmix": (
    (r"^conv1\.", "features.conv0."),
    (r"^trans(\d)\.bn1\.", r"features.transition\1.norm."),
    (r"^trans(\d)\.conv1\.", r"features.transition\1.conv."),
    (r"^(dense\d\.\d+)\.bn", r"\1.norm"),
    *(
      (rf"^dense(\d)\.{i}\.", rf"features.denseblock\1.denselayer{i + 1}.")
      for i in range(16)
    ),
    (r"^bn1\.", "features.norm5."),
    (r"^fc\.", "classifier."),
  ),
  "pytorchcv": (
    (r"^features\.init_block\.", "features.conv0."),
    (r"^features\.post_activ\.bn\.", "features.norm5."),
    *(
      (rf"^features\.stage\d\.trans{i + 1}\.conv\.", f"features.transition{i}.")
      for i in (1, 2)
    ),
    (
      r"^features\.stage(\d)\.unit(\d+)\.",
      r"features.denseblock\1.denselayer\2.",
    ),
    (r"\.conv(\d)\.conv\.", r".conv\1."),
    (r"\.conv(\d)\.bn\.", r".norm\1."),
    (r"\.bn\.", ".norm."),
    (r"^output\.", "classifier."),
  ),
}
ORACLES = {
  name: f"torchvision:{name}"
  for name, variant in VARIANTS.items()
  if variant.spec.weights == "torchvision"
} | {
  "densenet_bc_100_12": "pytorchcv:densenet_cifar.get_densenet_cifar"
  ":blocks=100,growth_rate=12,bottleneck=1"
}


class Dense(nnx.Module):
  """A dense layer: norm, relu, 1 x 1, norm, relu, 3 x 3; its output joins its input."""

  def __init__(
    self, inputs: int, growth: int, bottleneck: bool, *, rngs: nnx.Rngs
  ):
    """Create the layer, which adds `growth` channels; without a `bottleneck` by
    3 x 3 alone.
    """
    conv = functools.partial(layers.conv, bias=False, rngs=rngs)
    self.norm1 = layers.BatchNorm(inputs, rngs=rngs)
    self.bottleneck = bottleneck
    if not bottleneck:
      self.conv1 = conv(inputs, growth, 3, padding=1)
      return
    inner = 4 * growth  # section 3, bottleneck layers
    self.conv1 = conv(inputs, inner, 1)
    self.norm2 = layers.BatchNorm(inner, rngs=rngs)
    self.conv2 = conv(inner, growth, 3, padding=1)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H, W, inputs + growth]`."""
    y = self.conv1(layers.relu(self.norm1(x)))
    if self.bottleneck:
      y = self.conv2(layers.relu(self.norm2(y)))
    return jnp.concatenate([x, y], axis=-1)


class Block(nnx.Module):
  """A block of dense layers in a row, named as in torchvision."""

  def __init__(
    self,
    inputs: int,
    depth: int,
    growth: int,
    bottleneck: bool,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the block with `depth` layers."""
    self.depth = depth
    for i in range(depth):
      layer = Dense(inputs + i * growth, growth, bottleneck, rngs=rngs)
      setattr(self, f"denselayer{i + 1}", layer)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H, W, inputs + depth * growth]`."""
    for i in range(self.depth):
      x = getattr(self, f"denselayer{i + 1}")(x)
    return x


class Transition(nnx.Module):
  """A transition: it halves the sides, and usually the channels."""

  def __init__(self, inputs: int, outputs: int, *, rngs: nnx.Rngs):
    """Create the transition, by a 1 x 1 convolution."""
    self.norm = layers.BatchNorm(inputs, rngs=rngs)
    self.conv = layers.conv(inputs, outputs, 1, bias=False, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / 2, W / 2, outputs]`."""
    return layers.avg_pool(self.conv(layers.relu(self.norm(x))), 2, 2)


class Features(nnx.Module):
  """The stem, dense blocks with transitions between them, and a last norm."""

  def __init__(
    self,
    depths: tuple[int, ...],
    growth: int,
    stem: int,
    *,
    small: bool,
    bottleneck: bool,
    reduction: float,
    rngs: nnx.Rngs,
  ):
    """Create the layers; the arguments are those of `Network`."""
    self.small = small
    size = (3, 1, 1) if small else (7, 2, 3)
    self.conv0 = layers.conv(3, stem, *size, bias=False, rngs=rngs)
    if not small:
      self.norm0 = layers.BatchNorm(stem, rngs=rngs)
    channels, self.blocks = stem, len(depths)
    for i, depth in enumerate(depths, start=1):
      block = Block(channels, depth, growth, bottleneck, rngs=rngs)
      setattr(self, f"denseblock{i}", block)
      channels += depth * growth
      if i < len(depths):
        outputs = int(channels * reduction)
        transition = Transition(channels, outputs, rngs=rngs)
        setattr(self, f"transition{i}", transition)
        channels = outputs
    self.norm5 = layers.BatchNorm(channels, rngs=rngs)
    self.outputs = channels

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to `[B, H / 32, W / 32, outputs]`, a quarter if small."""
    x = self.conv0(x)
    if not self.small:
      x = layers.max_pool(layers.relu(self.norm0(x)), 3, 2, 1)
    for i in range(1, self.blocks + 1):
      x = getattr(self, f"denseblock{i}")(x)
      if i < self.blocks:
        x = getattr(self, f"transition{i}")(x)
    return layers.relu(self.norm5(x))


class Network(nnx.Module):
  """A network of dense features, a mean, and a linear head."""

  def __init__(
    self,
    *,
    depths: tuple[int, ...],
    growth: int,
    stem: int,
    small: bool = False,
    bottleneck: bool = True,
    reduction: float = 0.5,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the blocks.

    Args:
      depths: layers of each block.
      growth: channels that a layer adds.
      stem: channels of the first convolution.
      small: whether to build a 3 x 3 stem that keeps the sides, for 32 px
        pictures.
      bottleneck: whether a layer has a 1 x 1 convolution first.
      reduction: share of the channels that a transition keeps.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    self.features = Features(
      depths,
      growth,
      stem,
      small=small,
      bottleneck=bottleneck,
      reduction=reduction,
      rngs=rngs,
    )
    linear = functools.partial(layers.linear, rngs=rngs)
    self.classifier = linear(self.features.outputs, num_classes)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    return self.classifier(layers.global_mean(self.features(x)))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  oracles=ORACLES,
  stages=(
    r"features/(?:conv|norm)0",
    r"features/(?:denseblock|transition)(\d)",
  ),
)
