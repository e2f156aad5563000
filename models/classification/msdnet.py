"""MSDNet (Huang et al. 2018, arXiv:1703.09844), with several scales and several exits.

A model is one exit, which its name states; all exits of a network have the same
variables, so that one checkpoint serves them all. `msdnet22_exit...` is the
authors' Torch7 network (the defaults of opts.lua, 10 exits);
`msdnet_step4_exit...` the one of their PyTorch code (5 exits, README).
Attribute names follow the latter.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

_TORCH7 = Spec(
  weights="msdnet",
  parameters=20_106_676,
  source="gaohuang/MSDNet, opts.lua and models/JointTrainContainer.lua",
)
_PYTORCH = dataclasses.replace(
  _TORCH7, parameters=23_958_440, source="kalviny/MSDNet-PyTorch, README.md"
)
_SIZES: dict[str, tuple[Spec, dict[str, Any]]] = {
  "msdnet22": (
    _TORCH7,
    {"steps": (4, *(2,) * 9), "width": 64, "growth": 6, "stem_bias": False},
  ),
  "msdnet_step4": (
    _PYTORCH,
    {"steps": (4,) * 5, "width": 32, "growth": 16, "stem_bias": True},
  ),
}
VARIANTS = {
  f"{name}_exit{i + 1}": Variant(spec, {**options, "exit": i})
  for name, (spec, options) in _SIZES.items()
  for i in range(len(options["steps"]))
}
_FACTORS = (1, 2, 4, 4)  # for channels and bottlenecks, from fine to coarse
# pytorchcv counts from 1, and has the first layer apart.
_PYTORCHCV: Rules = (
  (r"^init_layer\.", "feature_blocks.block1.blocks.layer0."),
  (r"^(\w+\.block1\.blocks\.)(layer|trans)(\d)", r"\1at\3.\2"),
  *(
    (rf"^(\w+\.block\d+\.blocks\.)(layer|trans){n}", rf"\1at{n - 1}.\2")
    for n in range(1, 6)
  ),
  *(
    rule
    for n in range(1, 11)
    for rule in (
      (rf"^feature_blocks\.block{n}\.blocks\.at", f"blocks.{n - 1}."),
      (rf"^classifiers\.classifier{n}\.features\.", f"classifier.{n - 1}.m."),
      (
        rf"^classifiers\.classifier{n}\.output\.",
        f"classifier.{n - 1}.linear.",
      ),
      (rf"layer\.scale_blocks\.scale_block{n}\.", f"layers.{n - 1}."),
      (rf"trans\.scale_blocks\.scale_block{n}\.", f"m.{n - 1}."),
    )
  ),
  (r"\.layers\.0\.conv\.conv\.", ".layers.0.0."),
  (r"\.layers\.0\.conv\.bn\.", ".layers.0.1."),
  (r"\.m\.conv1\.", ".m.0."),
  (r"\.m\.conv2\.", ".m.1."),
  (r"\.(?:block|curr_block)\.", ".conv_normal."),
  (r"\.down_block\.", ".conv_down."),
  (r"\.bn_conv\.conv\.", ".net.0."),
  (r"\.bn_conv\.bn\.", ".net.1."),
  (r"\.conv\.conv\.", ".net.3."),
  (r"\.conv\.bn\.", ".net.4."),
  (r"\.conv\.", ".net.0."),
  (r"\.bn\.", ".net.1."),
)
CHECKPOINTS: dict[str, Rules] = {"msdnet": (), "pytorchcv": _PYTORCHCV}
ORACLES = {"msdnet22_exit10": "pytorchcv:msdnet.msdnet22"}


class Step(NamedTuple):
  """A layer of the network.

  Attributes:
    inputs: input channels of the finest scale, divided by its factor.
    dropped: number of finest scales that ended before it.
    drops: whether the finest scale ends with it.
    outputs: output channels, like `inputs`; a 1 x 1 convolution follows if it
      drops.
  """

  inputs: int
  dropped: int
  drops: bool
  outputs: int


def plan(
  steps: tuple[int, ...], width: int, growth: int
) -> Iterator[list[Step]]:
  """Plan the layers of each block: the `max` pruning, channels halved at each drop.

  Args:
    steps: layers of each block.
    width: channels of the finest scale after the stem.
    growth: channels that a layer adds to the finest scale.
  """
  scales, layer = len(_FACTORS), 0
  interval = math.ceil(sum(steps) / scales)
  for count in steps:
    block = []
    for _ in range(count):
      dropped = layer // interval
      drops = layer > 0 and dropped > (layer - 1) // interval
      wide = width + growth
      outputs = wide // 2 if drops else wide
      block.append(Step(width, dropped, drops, outputs))
      width, layer = outputs, layer + 1
    yield block


def _conv(
  inputs: int, outputs: int, kernel: int, stride: int = 1, *, rngs: nnx.Rngs
) -> tuple[layers.Step, ...]:
  """Build a convolution that keeps the size except for its stride, a norm and a
  relu.
  """
  conv = layers.conv(
    inputs, outputs, kernel, stride, kernel // 2, bias=False, rngs=rngs
  )
  return conv, layers.BatchNorm(outputs, rngs=rngs), layers.relu


def _unit(*steps: layers.Step) -> layers.Stack:
  """Stack steps under the name `net`, as in the authors' code."""
  return layers.Stack({"net": layers.Stack(steps)})


def _bottleneck(
  inputs: int, outputs: int, factor: int, stride: int, *, rngs: nnx.Rngs
) -> layers.Stack:
  """Build 1 x 1 to at most `factor` times the outputs, then 3 x 3."""
  inner = min(inputs, factor * outputs)
  return _unit(
    *_conv(inputs, inner, 1, rngs=rngs),
    *_conv(inner, outputs, 3, stride, rngs=rngs),
  )


class Scale(nnx.Module):
  """A scale of a layer: its input, and what it and the finer scale add."""

  def __init__(
    self, scale: int, inputs: int, growth: int, finer: bool, *, rngs: nnx.Rngs
  ):
    """Create the scale; `inputs` and `growth` are divided by its factor,
    `finer` reads that too.
    """
    factor = _FACTORS[scale]
    outputs = growth * factor // (2 if finer else 1)
    self.finer = finer
    if finer:
      before = _FACTORS[scale - 1]
      self.conv_down = _bottleneck(
        inputs * before, outputs, before, 2, rngs=rngs
      )
    self.conv_normal = _bottleneck(
      inputs * factor, outputs, factor, 1, rngs=rngs
    )

  def __call__(self, maps: tuple[jax.Array | None, jax.Array]) -> jax.Array:
    """Map the finer scale, or None if unused, and this one to a wider version
    of this one.
    """
    finer, x = maps
    down = [self.conv_down(finer)] if self.finer else []
    return jnp.concatenate([x, *down, self.conv_normal(x)], axis=-1)


class Layer(nnx.Module):
  """All scales of a layer; the finest may end with it."""

  def __init__(self, step: Step, growth: int, *, rngs: nnx.Rngs):
    """Create the layer from a step of `plan`."""
    self.drops = step.drops
    scales = range(step.dropped, len(_FACTORS))
    self.layers = layers.Stack(
      [
        Scale(s, step.inputs, growth, step.drops or s > step.dropped, rngs=rngs)
        for s in scales
      ]
    )

  def __call__(self, x: list[jax.Array]) -> list[jax.Array]:
    """Map maps from fine to coarse to the same, one fewer if it drops."""
    finer: list = x[:-1] if self.drops else [None, *x[:-1]]
    own = x[1:] if self.drops else x
    pairs = zip(finer, own, strict=True)
    return [scale(pair) for scale, pair in zip(self.layers, pairs, strict=True)]


class Transition(nnx.Module):
  """A 1 x 1 convolution on each scale."""

  def __init__(self, step: Step, growth: int, *, rngs: nnx.Rngs):
    """Create the transition from the layer's outputs to `step.outputs`."""
    inputs = step.inputs + growth
    self.m = layers.Stack(
      [
        _unit(*_conv(inputs * f, step.outputs * f, 1, rngs=rngs))
        for f in _FACTORS[step.dropped :]
      ]
    )

  def __call__(self, x: list[jax.Array]) -> list[jax.Array]:
    """Map maps from fine to coarse to the same with fewer channels."""
    return [conv(one) for conv, one in zip(self.m, x, strict=True)]


class First(nnx.Module):
  """A strided stem, and each scale from the finer one."""

  def __init__(self, width: int, stem_bias: bool, *, rngs: nnx.Rngs):
    """Create the layer; `width` is that of the finest scale."""
    stem = (
      layers.conv(3, width, 7, 2, 3, bias=stem_bias, rngs=rngs),
      layers.BatchNorm(width, rngs=rngs),
      layers.relu,
      _halved,
    )
    scales = [layers.Stack(stem)]
    for finer, factor in zip(_FACTORS, _FACTORS[1:], strict=False):
      sizes = (width * finer, width * factor)
      scales.append(_unit(*_conv(*sizes, 3, 2, rngs=rngs)))
    self.layers = layers.Stack(scales)

  def __call__(self, x: jax.Array) -> list[jax.Array]:
    """Map `[B, H, W, 3]` to maps of H / 4, H / 8, H / 16, H / 32."""
    maps = []
    for scale in self.layers:
      x = scale(x)
      maps.append(x)
    return maps


def _halved(x: jax.Array) -> jax.Array:
  return layers.max_pool(x, 3, 2, 1)


class Exit(nnx.Module):
  """An exit: two strided convolutions, a mean (of 2 x 2 at 224 px), and a
  linear head.
  """

  def __init__(self, inputs: int, num_classes: int, *, rngs: nnx.Rngs):
    """Create the exit on the coarsest scale."""
    convs = [_unit(*_conv(inputs, inputs, 3, 2, rngs=rngs)) for _ in range(2)]
    self.m = layers.Stack(convs)
    self.linear = layers.linear(inputs, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H / 32, W / 32, inputs]` to logits `[B, num_classes]`."""
    return self.linear(layers.global_mean(self.m(x)))


class Network(nnx.Module):
  """Blocks of layers, each with an exit, of which one is returned."""

  def __init__(
    self,
    *,
    steps: tuple[int, ...],
    width: int,
    growth: int,
    stem_bias: bool,
    exit: int,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build all blocks and exits.

    Args:
      steps: layers of each block.
      width: channels of the finest scale after the stem.
      growth: channels that a layer adds to the finest scale.
      stem_bias: whether the stem's convolution has a bias.
      exit: number of the returned exit, from 0.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    self.exit = exit
    blocks, exits = [], []
    for i, block in enumerate(plan(steps, width, growth)):
      parts: list[layers.Step] = []
      if i == 0:
        parts.append(First(width, stem_bias, rngs=rngs))
      for step in block:
        parts.append(Layer(step, growth, rngs=rngs))
        if step.drops:
          parts.append(Transition(step, growth, rngs=rngs))
      blocks.append(layers.Stack(parts))
      channels = block[-1].outputs * _FACTORS[-1]
      exits.append(Exit(channels, num_classes, rngs=rngs))
    self.blocks = layers.Stack(blocks)
    self.classifier = layers.Stack(exits)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    maps: Any = x
    for i, (block, head) in enumerate(
      zip(self.blocks, self.classifier, strict=True)
    ):
      maps = block(maps)
      if i == self.exit:
        return head(maps[-1])
    raise AssertionError(self.exit)


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  alike=(("msdnet", "pytorchcv"),),
  oracles=ORACLES,
)
