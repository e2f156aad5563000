"""PolyNet (Zhang et al. 2017, arXiv:1611.05725), "very deep".

Inception-ResNet blocks in polynomial combinations: 2-way (`I + F + G`) and
poly-3 (`I + F + F^2 + F^3`, whose convolutions are shared and whose norms are
not), alternating, with residuals scaled down from 1 to 0.7.
"""

import functools

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

SPEC = Spec(
  input_px=331,
  resize_px=378,  # floor(331 / 0.875), pretrainedmodels' TransformImage
  weights="cadene",
  parameters=95_366_600,
  source="pretrainedmodels 0.7.4 polynet.py",
)
VARIANTS = {"polynet": Variant(SPEC)}
CHECKPOINTS: dict[str, Rules] = {"cadene": ()}
ORACLES = {"polynet": "pretrainedmodels:polynet"}

_max = functools.partial(layers.max_pool, window=3, stride=2)
# (outputs, kernel, padding[, stride]) of a convolution, and several in a row.
Conv = (
  tuple[int, layers.Pair, layers.Pair]
  | tuple[int, layers.Pair, layers.Pair, int]
)
Convs = tuple[Conv, ...]
# Per stage: channels, then the long path's (outputs, kernel, padding) and the
# short paths' in the order of concatenation.
_ONE = (1, 0)
_A_PATHS = (
  ((32, *_ONE), (48, 3, 1), (64, 3, 1)),
  ((32, *_ONE), (32, 3, 1)),
  ((32, *_ONE),),
)
_B_LONG = ((128, *_ONE), (160, (1, 7), (0, 3)), (192, (7, 1), (3, 0)))
_C_LONG = ((192, *_ONE), (224, (1, 3), (0, 1)), (256, (3, 1), (1, 0)))
_SHORT = ((192, *_ONE),)


def _chain(inputs: int, *steps: Conv, rngs: nnx.Rngs) -> nnx.Module:
  """Chain convolutions; a single one stays by itself, as the names require."""
  convs = []
  for outputs, kernel, padding, *stride in steps:
    step = stride[0] if stride else 1
    convs.append(
      layers.ConvNorm(inputs, outputs, kernel, step, padding, rngs=rngs)
    )
    inputs = outputs
  return convs[0] if len(convs) == 1 else layers.Stack(convs)


class Paths(nnx.Module):
  """Paths side by side, joined by a 1 x 1 convolution without a relu."""

  def __init__(self, channels: int, *paths: Convs, rngs: nnx.Rngs):
    """Create the paths with `channels` input and output channels."""
    self.count = len(paths)
    for i, path in enumerate(paths):
      setattr(self, f"path{i}", _chain(channels, *path, rngs=rngs))
    joined = sum(path[-1][0] for path in paths)
    self.conv2d = layers.ConvNorm(joined, channels, 1, relu=False, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, channels]` to the same shape."""
    parts = [getattr(self, f"path{i}")(x) for i in range(self.count)]
    return self.conv2d(jnp.concatenate(parts, axis=-1))


class MultiWay(nnx.Module):
  """The module relu(x + scale * F(x) + scale * G(x))."""

  def __init__(
    self,
    scale: float,
    channels: int,
    paths: tuple[Convs, ...],
    *,
    rngs: nnx.Rngs,
  ):
    """Create the module; F and G are `Paths` of the same shape."""
    self.scale = scale
    self.blocks = layers.Stack(
      [Paths(channels, *paths, rngs=rngs) for _ in range(2)]
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, channels]` to the same shape."""
    first, second = getattr(self.blocks, "0"), getattr(self.blocks, "1")
    return layers.relu(x + first(x) * self.scale + second(x) * self.scale)


class PolyConv(nnx.Module):
  """One convolution with a norm for each power."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    kernel: layers.Pair,
    padding: layers.Pair,
    powers: int,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the convolution with `powers` norms."""
    self.conv = layers.conv(
      inputs, outputs, kernel, 1, padding, bias=False, rngs=rngs
    )
    norm = functools.partial(layers.BatchNorm, rngs=rngs)
    self.bn_blocks = layers.Stack([norm(outputs) for _ in range(powers)])

  def __call__(self, x: jax.Array, power: int) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H, W, outputs]`."""
    norm = getattr(self.bn_blocks, str(power))
    return layers.relu(norm(self.conv(x)))


class Poly(nnx.Module):
  """The module relu(x + scale * (F(x) + F(F(x)) + F(F(F(x)))))."""

  def __init__(
    self,
    scale: float,
    channels: int,
    long: Convs,
    powers: int = 3,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the module; `long` are the steps of the long path, with kernels 1,
    row, column.
    """
    self.scale, self.powers = scale, powers
    conv = functools.partial(PolyConv, powers=powers, rngs=rngs)
    inputs, names = channels, []
    for outputs, kernel, padding, *_ in long:
      shape = kernel if isinstance(kernel, tuple) else (kernel, kernel)
      names.append(f"path0_{shape[0]}x{shape[1]}")
      setattr(self, names[-1], conv(inputs, outputs, kernel, padding))
      inputs = outputs
    self.names = tuple(names)
    self.path1 = conv(channels, 192, 1, 0)
    self.conv2d_blocks = layers.Stack(
      [
        layers.ConvNorm(inputs + 192, channels, 1, relu=False, rngs=rngs)
        for _ in range(powers)
      ]
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, channels]` to the same shape."""
    total = x
    for power in range(self.powers):
      y = x
      for name in self.names:
        y = getattr(self, name)(y, power)
      y = jnp.concatenate([y, self.path1(x, power)], axis=-1)
      y = getattr(self.conv2d_blocks, str(power))(y)
      total = total + y * self.scale
      x = layers.relu(y)
    return layers.relu(total)


class Stem(nnx.Module):
  """Inception v4's stem, under the checkpoint's names."""

  def __init__(self, *, rngs: nnx.Rngs):
    """Create the stem with 3 input and 384 output channels."""
    chain = functools.partial(_chain, rngs=rngs)
    self.conv1 = chain(3, (32, 3, 0, 2), (32, 3, 0), (64, 3, 1))
    self.conv1_branch = chain(64, (96, 3, 0, 2))
    self.conv2_short = chain(160, (64, 1, 0), (96, 3, 0))
    row, column = (64, (1, 7), (0, 3)), (64, (7, 1), (3, 0))
    self.conv2_long = chain(160, (64, 1, 0), column, row, (96, 3, 0))
    self.conv2_branch = chain(192, (192, 3, 0, 2))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to `[B, H', W', 384]`."""
    x = self.conv1(x)
    x = jnp.concatenate([_max(x), self.conv1_branch(x)], axis=-1)
    x = jnp.concatenate([self.conv2_short(x), self.conv2_long(x)], axis=-1)
    return jnp.concatenate([_max(x), self.conv2_branch(x)], axis=-1)


def _reduction(inputs: int, *paths: Convs, rngs: nnx.Rngs) -> layers.Parallel:
  """Build paths of stride 2 beside a max pooling."""
  steps: list[layers.Step] = [_chain(inputs, *p, rngs=rngs) for p in paths]
  steps.append(_max)
  return layers.Parallel({f"path{i}": step for i, step in enumerate(steps)})


def _scale(i: int) -> float:
  """Return the scale of the i-th residual module, 0..39: from 1 to 0.7 in even
  steps.
  """
  return round(1 - i * 0.3 / 39, 6)


class Network(nnx.Module):
  """A stem, stages of 10, 20 and 10 modules, reductions, and a linear head."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network, with the public checkpoint's names."""
    way = functools.partial(MultiWay, rngs=rngs)
    poly = functools.partial(Poly, rngs=rngs)
    self.stem = Stem(rngs=rngs)
    self.stage_a = layers.Stack(
      [way(_scale(i), 384, _A_PATHS) for i in range(10)]
    )
    self.reduction_a = _reduction(
      384,
      ((256, 1, 0), (256, 3, 1), (384, 3, 0, 2)),
      ((384, 3, 0, 2),),
      rngs=rngs,
    )
    self.stage_b = layers.Stack(
      [
        way(_scale(i), 1152, (_B_LONG, _SHORT))
        if i % 2
        else poly(_scale(i), 1152, _B_LONG)
        for i in range(10, 30)
      ]
    )
    self.reduction_b = _reduction(
      1152,
      ((256, 1, 0), (256, 3, 1), (256, 3, 0, 2)),
      ((256, 1, 0), (256, 3, 0, 2)),
      ((256, 1, 0), (384, 3, 0, 2)),
      rngs=rngs,
    )
    self.stage_c = layers.Stack(
      [
        way(_scale(i), 2048, (_C_LONG, _SHORT))
        if i % 2
        else poly(_scale(i), 2048, _C_LONG)
        for i in range(30, 40)
      ]
    )
    self.dropout = layers.Dropout(0.2)  # pretrainedmodels'
    self.last_linear = layers.linear(2048, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = self.reduction_a(self.stage_a(self.stem(x)))
    x = self.reduction_b(self.stage_b(x))
    x = layers.global_mean(self.stage_c(x))
    return self.last_linear(self.dropout(x))


FAMILY = Family(Network, VARIANTS, CHECKPOINTS, oracles=ORACLES)
