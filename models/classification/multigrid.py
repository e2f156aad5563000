"""R-MG-34 (Ke et al. 2017, arXiv:1611.07661): a residual network on three grids.

Every convolution reads its grid, the finer one pooled and the coarser one
repeated. The authors' weights are Torch7's, which cannot be read here: names of
arrays are our own.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family
from models.spec import Spec, Variant

VARIANTS = {
  "multigrid_r34": Variant(
    Spec(
      weights="multigrid",
      parameters=32_899_176,
      source="buttomnutstoast/Multigrid-Neural-Architectures, ilsvrc/rnmg.lua",
    ),
    {"depths": (3, 4, 6, 3), "width": 64},
  )
}
# Grids of each stage, from fine to coarse, as powers of 2 of a width.
_GRIDS = ((0, -1, -2), (1, 0, -1), (2, 1), (3,))


def resampled(grids: Sequence[jax.Array]) -> list[jax.Array]:
  """Concatenate each grid with the finer one, pooled, and the coarser one, repeated."""
  out = []
  for i, x in enumerate(grids):
    finer = [halved(y) for y in grids[i - 1 : i]] if i else []
    coarser = [doubled(y, x.shape) for y in grids[i + 1 : i + 2]]
    out.append(jnp.concatenate([*finer, x, *coarser], axis=-1))
  return out


def halved(x: jax.Array) -> jax.Array:
  """Pool maxima of 2 x 2, including incomplete windows at the ends."""
  return layers.max_pool(x, 2, 2, ceil=True)


def doubled(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
  """Repeat each place as 2 x 2, cut to the sides of a `shape`."""
  x = x.repeat(2, axis=1).repeat(2, axis=2)
  return x[:, : shape[1], : shape[2]]


def _read(channels: Sequence[int]) -> list[int]:
  """Return the channels of each grid after `resampled`."""
  return [sum(channels[max(i - 1, 0) : i + 2]) for i in range(len(channels))]


class Unit(nnx.Module):
  """A 3 x 3 convolution with bias and a norm, on every grid."""

  def __init__(
    self, inputs: Sequence[int], outputs: Sequence[int], *, rngs: nnx.Rngs
  ):
    """Create the unit; `inputs` and `outputs` are channels of the grids."""
    self.grids = layers.Stack(
      [
        layers.Stack(
          (
            layers.conv(before, after, 3, 1, 1, rngs=rngs),
            layers.BatchNorm(after, rngs=rngs),
          )
        )
        for before, after in zip(_read(inputs), outputs, strict=True)
      ]
    )

  def __call__(self, grids: Sequence[jax.Array]) -> list[jax.Array]:
    """Map grids from fine to coarse to the same with `outputs` channels."""
    return [
      conv(x) for conv, x in zip(self.grids, resampled(grids), strict=True)
    ]


class Block(nnx.Module):
  """Two units around shortcuts, which are padded with zeros to more channels."""

  def __init__(
    self, inputs: Sequence[int], outputs: Sequence[int], *, rngs: nnx.Rngs
  ):
    """Create the block like `Unit`."""
    self.unit1 = Unit(inputs, outputs, rngs=rngs)
    self.unit2 = Unit(outputs, outputs, rngs=rngs)

  def __call__(self, grids: Sequence[jax.Array]) -> list[jax.Array]:
    """Map grids like `Unit`."""
    inner = [layers.relu(x) for x in self.unit1(grids)]
    return [
      layers.relu(y + _widened(x, y.shape[-1]))
      for x, y in zip(grids, self.unit2(inner), strict=True)
    ]


def _widened(x: jax.Array, channels: int) -> jax.Array:
  return jnp.pad(x, ((0, 0),) * 3 + ((0, channels - x.shape[-1]),))


class Network(nnx.Module):
  """A stem of each grid, four stages, the last of one grid, a mean, and a head."""

  def __init__(
    self,
    *,
    depths: tuple[int, ...],
    width: int,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `depths` are blocks of a stage, `width` is the finest
    grid's first width.
    """
    plan = [[int(width * 2.0**p) for p in grids] for grids in _GRIDS]
    channels = plan[0]
    self.stems = layers.Stack(
      [layers.ConvNorm(3, n, 7, 2, 3, bias=True, rngs=rngs) for n in channels]
    )
    stages = []
    for depth, outputs in zip(depths, plan, strict=True):
      if len(channels) > len(outputs):  # the two coarsest have become one
        channels = [*channels[:-2], sum(channels[-2:])]
      blocks = []
      for _ in range(depth):
        blocks.append(Block(channels, outputs, rngs=rngs))
        channels = outputs
      stages.append(layers.Stack(blocks))
    self.stages = layers.Stack(stages)
    self.counts = tuple(len(outputs) for outputs in plan)
    self.fc = layers.linear(channels[0], num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]`, sides multiples of 32, to logits `[B, num_classes]`."""
    grids = []
    for i, stem in enumerate(self.stems):
      small = layers.avg_pool(x, 1 << i, 1 << i)
      grids.append(layers.max_pool(stem(small), 3, 2, 1))
    for i, (stage, count) in enumerate(
      zip(self.stages, self.counts, strict=True)
    ):
      grids = stage(_next(grids, count) if i else grids)
    return self.fc(layers.global_mean(grids[0]))


def _next(grids: list[jax.Array], count: int) -> list[jax.Array]:
  """Halve the grids to `count`; if there is one fewer than before, the last two
  are joined.
  """
  small = [halved(x) for x in grids]
  if count == len(grids):
    return small
  return [*small[:-2], jnp.concatenate([small[-2], grids[-1]], axis=-1)]


FAMILY = Family(Network, VARIANTS)
