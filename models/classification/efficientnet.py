"""EfficientNet B0-B7 and V2 (Tan and Le, arXiv:1905.11946, 2104.00298).

torchvision's weights. B0-B4 were trained in torch, whose norms add 1e-5; B5-B7
are TensorFlow's, ported, and with V2 add 1e-3. Convolutions pad as torch pads:
TensorFlow's own files need its SAME padding and do not belong here.
"""

import functools
import math
from typing import Any, NamedTuple

import jax
from flax import nnx

from models import layers
from models.classification import inverted
from models.family import Family
from models.layers import train_mode
from models.spec import Spec, Variant


class Row(NamedTuple):
  """A stage, as a row of the papers' tables.

  Attributes:
    kind: `mbconv`, or `fused`: one full convolution instead of a 1 x 1 and a
      depthwise one, and no excitation.
    expand: inner channels per input channel.
    kernel: side of the kernels.
    stride: stride of the first block.
    outputs: output channels.
    depth: number of blocks.
  """

  kind: str
  expand: int
  kernel: int
  stride: int
  outputs: int
  depth: int


_B0 = (  # table 1 of EfficientNet
  Row("mbconv", 1, 3, 1, 16, 1),
  Row("mbconv", 6, 3, 2, 24, 2),
  Row("mbconv", 6, 5, 2, 40, 2),
  Row("mbconv", 6, 3, 2, 80, 3),
  Row("mbconv", 6, 5, 1, 112, 3),
  Row("mbconv", 6, 5, 2, 192, 4),
  Row("mbconv", 6, 3, 1, 320, 1),
)
_V2_S = (  # table 4 of EfficientNetV2
  Row("fused", 1, 3, 1, 24, 2),
  Row("fused", 4, 3, 2, 48, 4),
  Row("fused", 4, 3, 2, 64, 4),
  Row("mbconv", 4, 3, 2, 128, 6),
  Row("mbconv", 6, 3, 1, 160, 9),
  Row("mbconv", 6, 3, 2, 256, 15),
)
_V2_M = (  # the authors' effnetv2_configs.py
  Row("fused", 1, 3, 1, 24, 3),
  Row("fused", 4, 3, 2, 48, 5),
  Row("fused", 4, 3, 2, 80, 5),
  Row("mbconv", 4, 3, 2, 160, 7),
  Row("mbconv", 6, 3, 1, 176, 14),
  Row("mbconv", 6, 3, 2, 304, 18),
  Row("mbconv", 6, 3, 1, 512, 5),
)
_V2_L = (
  Row("fused", 1, 3, 1, 32, 4),
  Row("fused", 4, 3, 2, 64, 7),
  Row("fused", 4, 3, 2, 96, 7),
  Row("mbconv", 4, 3, 2, 192, 10),
  Row("mbconv", 6, 3, 1, 224, 19),
  Row("mbconv", 6, 3, 2, 384, 25),
  Row("mbconv", 6, 3, 1, 640, 7),
)


def _spec(parameters: int, input_px: int, resize_px: int, **facts: Any) -> Spec:
  return Spec(
    input_px=input_px,
    resize_px=resize_px,
    parameters=parameters,
    source="torchvision 0.28 models/efficientnet.py, IMAGENET1K_V1",
    **facts,
  )


def _scaled(
  width: float, depth: float, late: bool, dropout: float, *facts: Any
) -> Variant:
  """Scale B0 by factors on its channels and blocks; `facts` are those of `_spec`.

  In torchvision the norms of B5 to B7, the `late` ones, are TensorFlow's.
  """
  options = {
    "stem": inverted.round_channels(32 * width),
    "stages": tuple(
      row._replace(
        outputs=inverted.round_channels(row.outputs * width),
        depth=math.ceil(row.depth * depth),
      )
      for row in _B0
    ),
    "last": 4 * inverted.round_channels(320 * width),
    "epsilon": 1e-3 if late else 1e-5,
    "momentum": 0.01 if late else 0.1,
    "dropout": dropout,
  }
  return Variant(_spec(*facts, interpolation="bicubic"), options)


def _v2(
  stages: tuple[Row, ...], dropout: float, *facts: Any, **more: Any
) -> Variant:
  """Return a variant of V2; `facts` and `more` are those of `_spec`."""
  options = {
    "stem": stages[0].outputs,
    "stages": stages,
    "last": 1280,
    "epsilon": 1e-3,
    "dropout": dropout,
  }
  return Variant(_spec(*facts, **more), options)


_HALVES = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}
VARIANTS = {
  "efficientnet_b0": _scaled(1.0, 1.0, False, 0.2, 5_288_548, 224, 256),
  "efficientnet_b1": _scaled(1.0, 1.1, False, 0.2, 7_794_184, 240, 256),
  "efficientnet_b2": _scaled(1.1, 1.2, False, 0.3, 9_109_994, 288, 288),
  "efficientnet_b3": _scaled(1.2, 1.4, False, 0.3, 12_233_232, 300, 320),
  "efficientnet_b4": _scaled(1.4, 1.8, False, 0.4, 19_341_616, 380, 384),
  "efficientnet_b5": _scaled(1.6, 2.2, True, 0.4, 30_389_784, 456, 456),
  "efficientnet_b6": _scaled(1.8, 2.6, True, 0.5, 43_040_704, 528, 528),
  "efficientnet_b7": _scaled(2.0, 3.1, True, 0.5, 66_347_960, 600, 600),
  "efficientnet_v2_s": _v2(_V2_S, 0.2, 21_458_488, 384, 384),
  "efficientnet_v2_m": _v2(_V2_M, 0.3, 54_139_356, 480, 480),
  "efficientnet_v2_l": _v2(
    _V2_L, 0.4, 118_515_272, 480, 480, interpolation="bicubic", **_HALVES
  ),
}
_DROP_PATH = 0.2  # torchvision's
ORACLES = {name: f"torchvision:{name}" for name in VARIANTS}


class Block(nnx.Module):
  """A block: expand, filter, excite, project; added if the shape stays."""

  def __init__(
    self,
    inputs: int,
    stride: int,
    row: Row,
    rate: float,
    *,
    epsilon: float,
    momentum: float,
    rngs: nnx.Rngs,
  ):
    """Create the block; `row` is that of the stage, the other arguments are the
    block's.
    """
    conv = functools.partial(
      inverted.conv_norm, epsilon=epsilon, momentum=momentum, rngs=rngs
    )
    curved = functools.partial(conv, activation=jax.nn.silu)
    inner = inputs * row.expand
    steps: list[nnx.Module] = []
    if row.kind == "fused":
      first = row.outputs if row.expand == 1 else inner
      steps.append(curved(inputs, first, row.kernel, stride))
    else:
      if row.expand != 1:
        steps.append(curved(inputs, inner, 1))
      steps.append(curved(inner, inner, row.kernel, stride, groups=inner))
      steps.append(
        # Section 5: a quarter of the block's inputs.
        inverted.Excite(
          inner, max(1, inputs // 4), activation=jax.nn.silu, rngs=rngs
        )
      )
    if row.kind != "fused" or row.expand != 1:
      steps.append(conv(inner, row.outputs, 1))
    self.block = layers.Stack(steps)
    self.stochastic_depth = layers.StochasticDepth(rate)
    self.adds = stride == 1 and inputs == row.outputs

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    y = self.block(x)
    return x + self.stochastic_depth(y) if self.adds else y


class Network(nnx.Module):
  """A 3 x 3 stem, stages of blocks, a 1 x 1 convolution, a mean, and a linear head."""

  def __init__(
    self,
    *,
    stem: int,
    stages: tuple[Row, ...],
    last: int,
    epsilon: float,
    momentum: float = 0.1,
    dropout: float,
    drop_path: float = _DROP_PATH,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the stages.

    Args:
      stem: channels of the first convolution.
      stages: rows of the stages.
      last: channels of the last convolution.
      epsilon: epsilon of every batch norm.
      momentum: momentum of every batch norm.
      dropout: rate before the head.
      drop_path: final rate of stochastic depth, which grows from 0.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    conv = functools.partial(
      inverted.conv_norm,
      activation=jax.nn.silu,
      epsilon=epsilon,
      momentum=momentum,
      rngs=rngs,
    )
    new_block = functools.partial(
      Block, epsilon=epsilon, momentum=momentum, rngs=rngs
    )
    features, inputs = [conv(3, stem, 3, 2)], stem
    depths = [row.depth for row in stages]
    # As if one more block had the rate itself, both in torchvision and
    # TensorFlow.
    rates = train_mode.rates(drop_path, (*depths, 1))
    for row, its_rates in zip(stages, rates, strict=False):
      blocks = []
      for i, rate in enumerate(its_rates):
        stride = 1 if i else row.stride
        blocks.append(new_block(inputs, stride, row, rate))
        inputs = row.outputs
      features.append(layers.Stack(blocks))
    features.append(conv(inputs, last, 1))
    self.features = layers.Stack(features)
    head = layers.linear(last, num_classes, rngs=rngs)
    self.classifier = layers.Stack((layers.Dropout(dropout), head))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    return self.classifier(layers.global_mean(self.features(x)))


FAMILY = Family(
  Network,
  VARIANTS,
  oracles=ORACLES,
  stages=(r"features/(\d+)",),
)
