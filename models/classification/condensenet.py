"""CondenseNet-74 (Huang et al. 2018, arXiv:1711.09224) in its converted form.

It is the pruned network: each 1 x 1 convolution has only the inputs that
training kept, in groups, by their numbers, which a checkpoint holds beside its
weights. Attribute names are the authors', whose file Hendrycks' code uses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

_SPEC = Spec(
  weights="condensenet",
  source="hendrycks/robustness ImageNet-C/test.py; ShichenLiu/CondenseNet",
)
_DEPTHS = (4, 6, 8, 10, 8)  # layers of each block
_GROWTHS = (8, 16, 32, 64, 128)  # channels that a layer of each block adds


def _variant(groups: int, parameters: int) -> Variant:
  spec = dataclasses.replace(_SPEC, parameters=parameters)
  sizes = {"depths": _DEPTHS, "growths": _GROWTHS}
  return Variant(spec, {**sizes, "groups": groups})


VARIANTS = {
  "condensenet74_c4_g4": _variant(4, 4_773_944),
  "condensenet74_c8_g8": _variant(8, 2_935_416),
}
CHECKPOINTS: dict[str, Rules] = {
  "condensenet": (),
  "pytorchcv": (
    (r"^features\.init_block\.conv\.", "features.init_conv."),
    (r"^features\.post_activ\.bn\.", "features.norm_last."),
    (
      r"^features\.stage(\d)\.unit(\d+)\.",
      r"features.denseblock_\1.denselayer_\2.",
    ),
    (r"\.conv(\d)\.(bn|conv|index)", r".conv_\1.\2"),
    (r"\.bn\.", ".norm."),
    (r"^output\.", "classifier."),
  ),
}
ORACLES = {name: f"pytorchcv:condensenet.{name}" for name in VARIANTS}


def regroup(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Convert numbers of channels to floats, like all our variables."""
  return {
    name: array.astype(np.float32) if name.endswith("index") else array
    for name, array in arrays.items()
  }


class Choice(nnx.Module):
  """A selection of channels by their numbers, which are no weights."""

  def __init__(self, outputs: int):
    """Create the selection of the first channels, until a checkpoint is loaded."""
    self.index = nnx.BatchStat(jnp.arange(outputs, dtype=jnp.float32))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[..., inputs]` to `[..., outputs]`."""
    return jnp.take(x, self.index[...].astype(int), axis=-1, mode="clip")


class Chosen(Choice):
  """A unit of chosen channels: norm, relu, a 1 x 1 convolution in groups, and a
  shuffle.
  """

  def __init__(self, inputs: int, outputs: int, groups: int, *, rngs: nnx.Rngs):
    """Create the unit; as many channels are chosen as there are inputs."""
    super().__init__(inputs)
    self.norm = layers.BatchNorm(inputs, rngs=rngs)
    self.conv = layers.conv(
      inputs, outputs, 1, groups=groups, bias=False, rngs=rngs
    )
    self.groups = groups

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H, W, outputs]`."""
    x = self.conv(layers.relu(self.norm(super().__call__(x))))
    parts = x.reshape(*x.shape[:-1], self.groups, -1)
    return parts.swapaxes(-1, -2).reshape(x.shape)  # one of each in turn


class Linear(Choice):
  """A linear layer on half of the features."""

  def __init__(self, inputs: int, outputs: int, *, rngs: nnx.Rngs):
    """Create the layer for `inputs` features, of which half are chosen."""
    super().__init__(inputs // 2)
    self.linear = layers.linear(inputs // 2, outputs, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, inputs]` to `[B, outputs]`."""
    return self.linear(super().__call__(x))


class Dense(nnx.Module):
  """A dense layer: 1 x 1 on chosen channels, then 3 x 3; its output joins its input."""

  def __init__(self, inputs: int, growth: int, groups: int, *, rngs: nnx.Rngs):
    """Create the layer, which adds `growth` channels."""
    inner = 4 * growth
    self.conv_1 = Chosen(inputs, inner, groups, rngs=rngs)
    self.conv_2 = layers.Stack(
      {
        "norm": layers.BatchNorm(inner, rngs=rngs),
        "relu": layers.relu,
        "conv": layers.conv(
          inner, growth, 3, 1, 1, groups=groups, bias=False, rngs=rngs
        ),
      }
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H, W, inputs + growth]`."""
    return jnp.concatenate([x, self.conv_2(self.conv_1(x))], axis=-1)


def _halved(x: jax.Array) -> jax.Array:
  return layers.avg_pool(x, 2, 2)


class Network(nnx.Module):
  """A strided stem, blocks with means between them, a mean, and a head."""

  def __init__(
    self,
    *,
    depths: tuple[int, ...],
    growths: tuple[int, ...],
    groups: int,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `depths` and `growths` belong to each block, `groups`
    to all convolutions.
    """
    channels = 2 * growths[0]
    stem = layers.conv(3, channels, 3, 2, 1, bias=False, rngs=rngs)
    steps: dict[str, layers.Step] = {"init_conv": stem}
    for i, (depth, growth) in enumerate(zip(depths, growths, strict=True), 1):
      block = {}
      for j in range(depth):
        layer = Dense(channels, growth, groups, rngs=rngs)
        block[f"denselayer_{j + 1}"] = layer
        channels += growth
      steps[f"denseblock_{i}"] = layers.Stack(block)
      if i < len(depths):
        steps[f"transition_{i}"] = _halved
    steps["norm_last"] = layers.BatchNorm(channels, rngs=rngs)
    self.features = layers.Stack(steps)
    self.classifier = Linear(channels, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = layers.relu(self.features(x))
    return self.classifier(layers.global_mean(x))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  regroup=regroup,
  alike=(("condensenet", "pytorchcv"),),
  oracles=ORACLES,
  stages=("features/init_conv", r"features/denseblock_(\d)"),
)
