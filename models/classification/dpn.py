"""Dual path networks (Chen et al. 2017, arXiv:1707.01629).

A residual path that is added to and a dense path that is appended to run side
by side; a block reads both, concatenated.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

_SPEC = Spec(
  mean=(124 / 255, 117 / 255, 104 / 255),
  std=(1 / (0.0167 * 255),) * 3,
  weights="cadene",
  source="pretrainedmodels 0.7.4 dpn.py",
)


def _variant(parameters: int, **options: Any) -> Variant:
  return Variant(dataclasses.replace(_SPEC, parameters=parameters), options)


_SMALL: dict[str, Any] = {
  "stem": 10,
  "base": 128,
  "groups": 32,
  "depths": (3, 4, 12, 3),
  "growths": (16, 32, 32, 64),
  "small": True,
}
# Table 1 of the paper and its code.
VARIANTS = {
  "dpn68": _variant(12_611_602, **_SMALL),
  "dpn68b": _variant(12_611_602, split=True, **_SMALL),
  "dpn92": _variant(
    37_668_392,
    stem=64,
    base=96,
    groups=32,
    depths=(3, 4, 20, 3),
    growths=(16, 32, 24, 128),
  ),
  "dpn98": _variant(
    61_570_728,
    stem=96,
    base=160,
    groups=40,
    depths=(3, 6, 20, 3),
    growths=(16, 32, 32, 128),
  ),
  "dpn107": _variant(
    86_917_800,
    stem=128,
    base=200,
    groups=50,
    depths=(4, 8, 20, 3),
    growths=(20, 64, 64, 128),
  ),
  "dpn131": _variant(
    79_254_504,
    stem=128,
    base=160,
    groups=40,
    depths=(4, 8, 28, 3),
    growths=(16, 32, 32, 128),
  ),
}
CHECKPOINTS: dict[str, Rules] = {
  "cadene": (),
  "timm": ((r"^classifier\.", "last_linear."),),
}
ORACLES = {name: f"pretrainedmodels:{name}" for name in VARIANTS}
_EPSILON = 1e-3  # epsilon of every norm


class NormConv(nnx.Module):
  """A norm, a relu, and a convolution."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    kernel: int = 1,
    stride: int = 1,
    *,
    groups: int = 1,
    rngs: nnx.Rngs,
  ):
    """Create the layers; padding keeps the sides, except for the stride."""
    self.bn = layers.BatchNorm(inputs, _EPSILON, rngs=rngs)
    self.conv = layers.conv(
      inputs,
      outputs,
      kernel,
      stride,
      kernel // 2,
      groups=groups,
      bias=False,
      rngs=rngs,
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H', W', outputs]`."""
    return self.conv(layers.relu(self.bn(x)))


class NormRelu(nnx.Module):
  """A norm and a relu."""

  def __init__(self, inputs: int, *, rngs: nnx.Rngs):
    """Create the layers for `inputs` channels."""
    self.bn = layers.BatchNorm(inputs, _EPSILON, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to the same shape."""
    return layers.relu(self.bn(x))


class Stem(nnx.Module):
  """A stem: convolution, norm, relu, pooling."""

  def __init__(self, outputs: int, kernel: int, *, rngs: nnx.Rngs):
    """Create the module; `kernel` is 3 for the small networks, else 7."""
    self.conv = layers.conv(
      3, outputs, kernel, 2, kernel // 2, bias=False, rngs=rngs
    )
    self.bn = layers.BatchNorm(outputs, _EPSILON, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to `[B, H / 4, W / 4, outputs]`."""
    return layers.max_pool(layers.relu(self.bn(self.conv(x))), 3, 2, 1)


class Block(nnx.Module):
  """A grouped bottleneck that adds to one path and appends to the other."""

  def __init__(
    self,
    inputs: int,
    inner: int,
    width: int,
    growth: int,
    stride: int,
    *,
    groups: int,
    first: bool,
    split: bool,
    rngs: nnx.Rngs,
  ):
    """Create the block of a residual path of `width`; the `first` of a stage
    projects its input.
    """
    conv = functools.partial(NormConv, rngs=rngs)
    self.c1x1_c: NormConv | NormRelu
    self.width, self.split = width, split
    self.shortcut = f"c1x1_w_s{stride}" if first else ""
    if first:
      project = conv(inputs, width + 2 * growth, 1, stride)
      setattr(self, self.shortcut, project)
    self.c1x1_a = conv(inputs, inner)
    self.c3x3_b = conv(inner, inner, 3, stride, groups=groups)
    if split:
      plain = functools.partial(layers.conv, bias=False, rngs=rngs)
      self.c1x1_c = NormRelu(inner, rngs=rngs)
      self.c1x1_c1 = plain(inner, width, 1)
      self.c1x1_c2 = plain(inner, growth, 1)
    else:
      self.c1x1_c = conv(inner, width + growth)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map both paths `[B, H, W, width + dense]` to the same with a longer dense
    path.
    """
    paths = getattr(self, self.shortcut)(x) if self.shortcut else x
    y = self.c1x1_c(self.c3x3_b(self.c1x1_a(x)))
    if self.split:
      added, appended = self.c1x1_c1(y), self.c1x1_c2(y)
    else:
      added, appended = y[..., : self.width], y[..., self.width :]
    residual = paths[..., : self.width] + added
    dense = paths[..., self.width :]
    return jnp.concatenate([residual, dense, appended], axis=-1)


class Features(nnx.Module):
  """The stem and four stages, named `conv1_1` ... `conv5_3`, `conv5_bn_ac`."""

  def __init__(
    self,
    stem: int,
    base: int,
    groups: int,
    depths: tuple[int, ...],
    growths: tuple[int, ...],
    small: bool,
    split: bool,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the layers; the arguments are those of `Network`."""
    names = ["conv1_1"]
    self.conv1_1 = Stem(stem, 3 if small else 7, rngs=rngs)
    block = functools.partial(Block, groups=groups, split=split, rngs=rngs)
    inputs = stem
    for stage, (depth, growth) in enumerate(zip(depths, growths, strict=True)):
      width = (64 if small else 256) << stage
      for i in range(depth):
        stride = 2 if stage and not i else 1
        name = f"conv{stage + 2}_{i + 1}"
        dual = block(inputs, base << stage, width, growth, stride, first=not i)
        setattr(self, name, dual)
        names.append(name)
        inputs = width + 3 * growth if not i else inputs + growth
    self.names = tuple(names)
    self.conv5_bn_ac = NormRelu(inputs, rngs=rngs)
    self.outputs = inputs

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to `[B, H / 32, W / 32, outputs]`."""
    for name in self.names:
      x = getattr(self, name)(x)
    return self.conv5_bn_ac(x)


class Network(nnx.Module):
  """A network of dual-path features, a mean, and a 1 x 1 convolution as the head."""

  def __init__(
    self,
    *,
    stem: int,
    base: int,
    groups: int,
    depths: tuple[int, ...],
    growths: tuple[int, ...],
    small: bool = False,
    split: bool = False,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the stages.

    Args:
      stem: channels of the stem.
      base: channels inside the first stage's bottlenecks.
      groups: groups of the 3 x 3 convolutions.
      depths: blocks per stage.
      growths: channels that each block of a stage appends.
      small: whether to build a 3 x 3 stem and a quarter of the residual path's
        channels.
      split: whether a block has two last convolutions instead of one (the `b`
        variant).
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    self.features = Features(
      stem, base, groups, depths, growths, small, split, rngs=rngs
    )
    outputs = self.features.outputs
    self.last_linear = layers.conv(outputs, num_classes, 1, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    mean = self.features(x).mean((1, 2), keepdims=True)
    return self.last_linear(mean)[:, 0, 0]


FAMILY = Family(Network, VARIANTS, CHECKPOINTS, oracles=ORACLES)
