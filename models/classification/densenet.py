"""DenseNet 121, 161, 169, 201 (Huang et al. 2017, arXiv:1608.06993)."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from flax import nnx

from robust_tfds.models import layers
from robust_tfds.models.family import Family, Rules
from robust_tfds.models.spec import Spec, Variant


def _variant(
  parameters: int, depths: tuple[int, ...], growth: int = 32, stem: int = 64
) -> Variant:
  spec = Spec(parameters=parameters, source="torchvision 0.28 densenet.py")
  return Variant(spec, {"depths": depths, "growth": growth, "stem": stem})


VARIANTS = {
  "densenet121": _variant(7_978_856, (6, 12, 24, 16)),
  "densenet161": _variant(28_681_000, (6, 12, 36, 24), 48, 96),
  "densenet169": _variant(14_149_480, (6, 12, 32, 32)),
  "densenet201": _variant(20_013_928, (6, 12, 48, 32)),
}
# The published files are older than the module: `norm.1` for `norm1`.
_OLD = (r"(denselayer\d+\.(?:norm|conv))\.(\d)\.", r"\1\2.")
CHECKPOINTS: dict[str, Rules] = {
  "torchvision": (_OLD,),
  "cadene": (_OLD, (r"^last_linear\.", "classifier.")),
}
ORACLES = {name: f"torchvision:{name}" for name in VARIANTS}


class Dense(nnx.Module):
  """norm, relu, 1 x 1, norm, relu, 3 x 3; its output joins its input."""

  def __init__(self, inputs: int, growth: int, *, rngs: nnx.Rngs):
    """`growth` is the channels that it adds."""
    inner = 4 * growth  # section 3, bottleneck layers
    self.norm1 = layers.BatchNorm(inputs, rngs=rngs)
    self.conv1 = layers.conv(inputs, inner, 1, bias=False, rngs=rngs)
    self.norm2 = layers.BatchNorm(inner, rngs=rngs)
    self.conv2 = layers.conv(inner, growth, 3, padding=1, bias=False, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, inputs]` -> `[B, H, W, inputs + growth]`."""
    y = self.conv1(layers.relu(self.norm1(x)))
    y = self.conv2(layers.relu(self.norm2(y)))
    return jnp.concatenate([x, y], axis=-1)


class Block(nnx.Module):
  """Dense layers in a row, named as torchvision names them."""

  def __init__(self, inputs: int, depth: int, growth: int, *, rngs: nnx.Rngs):
    """`depth` layers."""
    self.depth = depth
    for i in range(depth):
      layer = Dense(inputs + i * growth, growth, rngs=rngs)
      setattr(self, f"denselayer{i + 1}", layer)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, inputs]` -> `[B, H, W, inputs + depth * growth]`."""
    for i in range(self.depth):
      x = getattr(self, f"denselayer{i + 1}")(x)
    return x


class Transition(nnx.Module):
  """Halves the channels and the sides."""

  def __init__(self, inputs: int, *, rngs: nnx.Rngs):
    """`inputs` channels in, half of them out."""
    self.norm = layers.BatchNorm(inputs, rngs=rngs)
    self.conv = layers.conv(inputs, inputs // 2, 1, bias=False, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, inputs]` -> `[B, H / 2, W / 2, inputs / 2]`."""
    return layers.avg_pool(self.conv(layers.relu(self.norm(x))), 2, 2)


class Features(nnx.Module):
  """Stem, dense blocks with transitions between them, a last norm."""

  def __init__(
    self, depths: tuple[int, ...], growth: int, stem: int, *, rngs: nnx.Rngs
  ):
    """`depths` are layers per block."""
    self.conv0 = layers.conv(3, stem, 7, 2, 3, bias=False, rngs=rngs)
    self.norm0 = layers.BatchNorm(stem, rngs=rngs)
    channels, self.blocks = stem, len(depths)
    for i, depth in enumerate(depths, start=1):
      block = Block(channels, depth, growth, rngs=rngs)
      setattr(self, f"denseblock{i}", block)
      channels += depth * growth
      if i < len(depths):
        setattr(self, f"transition{i}", Transition(channels, rngs=rngs))
        channels //= 2
    self.norm5 = layers.BatchNorm(channels, rngs=rngs)
    self.outputs = channels

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, 3]` -> `[B, H / 32, W / 32, outputs]`."""
    x = layers.relu(self.norm0(self.conv0(x)))
    x = layers.max_pool(x, 3, 2, 1)
    for i in range(1, self.blocks + 1):
      x = getattr(self, f"denseblock{i}")(x)
      if i < self.blocks:
        x = getattr(self, f"transition{i}")(x)
    return layers.relu(self.norm5(x))


class Network(nnx.Module):
  """Dense features, a mean, a linear head."""

  def __init__(
    self,
    *,
    depths: tuple[int, ...],
    growth: int,
    stem: int,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """The options are `Features`'."""
    self.features = Features(depths, growth, stem, rngs=rngs)
    linear = functools.partial(layers.linear, rngs=rngs)
    self.classifier = linear(self.features.outputs, num_classes)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, 3]` -> logits `[B, num_classes]`."""
    return self.classifier(layers.global_mean(self.features(x)))


FAMILY = Family(Network, VARIANTS, CHECKPOINTS, oracles=ORACLES)
