"""ResNet, wide ResNet and ResNeXt (arXiv:1512.03385, 1605.07146, 1611.05431).

torchvision's networks put the stride into the 3 x 3 convolution; the Caffe
port (`cafferesnet101`) into the first 1 x 1; Facebook's Torch port
(`fbresnet152`) gives its convolutions biases. timm's `seresnet50` is
torchvision's network with squeeze-and-excitation; `se_resnet50` is Caffe's.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
from flax import nnx

from robust_tfds.models import layers
from robust_tfds.models.classification import inverted
from robust_tfds.models.classification.se_resnet import REDUCTION
from robust_tfds.models.family import Family, Rules
from robust_tfds.models.spec import Spec, Variant

_SPEC = Spec(source="torchvision 0.28 models/resnet.py, IMAGENET1K_V1")
_CADENE = dataclasses.replace(
  _SPEC, weights="cadene", source="pretrainedmodels 0.7.4"
)
_CAFFE = dataclasses.replace(
  _CADENE,
  channel_order="bgr",
  scale=1.0,
  # pretrainedmodels 0.7.4 cafferesnet.py, as the port writes them.
  mean=(102.9801, 115.9465, 122.7717),
  std=(1.0, 1.0, 1.0),
)
# timm 1.0.31 resnet.py, seresnet50.a1_in1k: crop_pct 0.95.
_TIMM = Spec(
  resize_px=235,
  interpolation="bicubic",
  weights="timm",
  source="timm 1.0.31 resnet.py (a1_in1k)",
)
_DEPTHS = {
  18: (2, 2, 2, 2),
  34: (3, 4, 6, 3),
  50: (3, 4, 6, 3),
  101: (3, 4, 23, 3),
  152: (3, 8, 36, 3),
}


def _variant(
  depth: int, parameters: int, spec: Spec = _SPEC, **options: Any
) -> Variant:
  spec = dataclasses.replace(spec, parameters=parameters)
  wide = {"depths": _DEPTHS[depth], "bottleneck": depth >= 50}
  return Variant(spec, {**wide, **options})


_V101_64 = dataclasses.replace(_SPEC, resize_px=232)
VARIANTS = {
  "resnet18": _variant(18, 11_689_512),
  "resnet34": _variant(34, 21_797_672),
  "resnet50": _variant(50, 25_557_032),
  "resnet101": _variant(101, 44_549_160),
  "resnet152": _variant(152, 60_192_808),
  "wide_resnet50_2": _variant(50, 68_883_240, width=128),
  "wide_resnet101_2": _variant(101, 126_886_696, width=128),
  "resnext50_32x4d": _variant(50, 25_028_904, groups=32, width=4),
  "resnext101_32x4d": _variant(101, 44_177_704, _CADENE, groups=32, width=4),
  "resnext101_32x8d": _variant(101, 88_791_336, groups=32, width=8),
  "resnext101_64x4d": _variant(101, 83_455_272, _CADENE, groups=64, width=4),
  "resnext101_64x4d_torchvision": _variant(
    101, 83_455_272, _V101_64, groups=64, width=4
  ),
  "fbresnet152": _variant(152, 60_268_520, _CADENE, conv_bias=True),
  "cafferesnet101": _variant(101, 44_549_160, _CAFFE, caffe=True),
  "seresnet50": _variant(50, 28_088_024, _TIMM, excited=True),
}
# Torch7's nested containers, as pretrained-models.pytorch ported ResNeXt-101.
_LUA = (
  (r"^features\.0\.", "conv1."),
  (r"^features\.1\.", "bn1."),
  (r"^features\.4\.", "layer1."),
  (r"^features\.5\.", "layer2."),
  (r"^features\.6\.", "layer3."),
  (r"^features\.7\.", "layer4."),
  (r"^(layer\d\.\d+)\.0\.0\.0\.0\.", r"\1.conv1."),
  (r"^(layer\d\.\d+)\.0\.0\.0\.1\.", r"\1.bn1."),
  (r"^(layer\d\.\d+)\.0\.0\.0\.3\.", r"\1.conv2."),
  (r"^(layer\d\.\d+)\.0\.0\.0\.4\.", r"\1.bn2."),
  (r"^(layer\d\.\d+)\.0\.0\.1\.", r"\1.conv3."),
  (r"^(layer\d\.\d+)\.0\.0\.2\.", r"\1.bn3."),
  (r"^(layer\d\.\d+)\.0\.1\.(\d)\.", r"\1.downsample.\2."),
  (r"^last_linear\.", "fc."),
)
_HF: Rules = (
  (r"^resnet\.embedder\.embedder\.convolution\.", "conv1."),
  (r"^resnet\.embedder\.embedder\.normalization\.", "bn1."),
  *(
    (rf"^resnet\.encoder\.stages\.{i}\.layers\.", f"layer{i + 1}.")
    for i in range(4)
  ),
  (r"\.shortcut\.convolution\.", ".downsample.0."),
  (r"\.shortcut\.normalization\.", ".downsample.1."),
  *(
    (rf"\.layer\.{i}\.{theirs}\.", rf".{ours}{i + 1}.")
    for i in range(3)
    for theirs, ours in (("convolution", "conv"), ("normalization", "bn"))
  ),
  (r"^classifier\.1\.", "fc."),
)
# torchvision's and timm's names are ours.
CHECKPOINTS: dict[str, Rules] = {
  "hf": _HF,
  "cadene": ((r"^last_linear\.", "fc."),),
  "cadene lua": _LUA,
}
ORACLES = {
  name: f"torchvision:{name}"
  for name, variant in VARIANTS.items()
  if variant.spec.weights == "torchvision"
} | {
  name: f"pretrainedmodels:{name}"
  for name, variant in VARIANTS.items()
  if variant.spec.weights == "cadene"
}
ORACLES["seresnet50"] = "timm:seresnet50"
ORACLES["resnext101_64x4d_torchvision"] = "torchvision:resnext101_64x4d"


class Block(nnx.Module):
  """Two 3 x 3 convolutions, or 1 x 1, 3 x 3, 1 x 1, around a shortcut."""

  def __init__(
    self,
    inputs: int,
    planes: int,
    stride: int,
    *,
    bottleneck: bool,
    groups: int,
    width: int,
    conv_bias: bool,
    caffe: bool,
    excited: bool,
    rngs: nnx.Rngs,
  ):
    """`planes` is 64, 128, 256 or 512; the options are `Network`'s."""
    conv = functools.partial(layers.conv, bias=conv_bias, rngs=rngs)
    norm = functools.partial(layers.BatchNorm, rngs=rngs)
    outputs = planes * (4 if bottleneck else 1)
    if bottleneck:
      inner = planes * width // 64 * groups
      first, second = (stride, 1) if caffe else (1, stride)
      self.conv1 = conv(inputs, inner, 1, first)
      self.conv2 = conv(inner, inner, 3, second, 1, groups=groups)
      self.conv3 = conv(inner, outputs, 1)
      self.bn1, self.bn2, self.bn3 = norm(inner), norm(inner), norm(outputs)
    else:
      self.conv1 = conv(inputs, planes, 3, stride, 1)
      self.conv2 = conv(planes, planes, 3, 1, 1)
      self.bn1, self.bn2 = norm(planes), norm(planes)
    if excited:
      self.se = inverted.Excite(outputs, outputs // REDUCTION, rngs=rngs)
    self.changes_shape = stride != 1 or inputs != outputs
    if self.changes_shape:
      shortcut = conv(inputs, outputs, 1, stride)
      self.downsample = layers.Stack((shortcut, norm(outputs)))
    self.bottleneck, self.excited = bottleneck, excited

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, inputs]` -> `[B, H / stride, W / stride, outputs]`."""
    y = layers.relu(self.bn1(self.conv1(x)))
    y = self.bn2(self.conv2(y))
    if self.bottleneck:
      y = self.bn3(self.conv3(layers.relu(y)))
    if self.excited:
      y = self.se(y)
    return layers.relu(y + (self.downsample(x) if self.changes_shape else x))


class Network(nnx.Module):
  """A 7 x 7 stem, four stages of blocks, a mean, a linear head."""

  layer1: layers.Stack
  layer2: layers.Stack
  layer3: layers.Stack
  layer4: layers.Stack

  def __init__(
    self,
    *,
    depths: tuple[int, ...],
    bottleneck: bool,
    groups: int = 1,
    width: int = 64,
    conv_bias: bool = False,
    caffe: bool = False,
    excited: bool = False,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Builds the stages.

    Args:
      depths: blocks per stage.
      bottleneck: three convolutions a block instead of two.
      groups: of the 3 x 3 convolutions (ResNeXt's cardinality).
      width: channels of a group per 64 planes.
      conv_bias: whether convolutions have biases.
      caffe: stride in the first 1 x 1, and the stem's pooling in ceil mode.
      excited: whether residuals are scaled by a squeeze of themselves.
      num_classes: logits.
      rngs: for the initial weights.
    """
    self.caffe = caffe
    self.conv1 = layers.conv(3, 64, 7, 2, 3, bias=conv_bias, rngs=rngs)
    self.bn1 = layers.BatchNorm(64, rngs=rngs)
    block = functools.partial(
      Block,
      bottleneck=bottleneck,
      groups=groups,
      width=width,
      conv_bias=conv_bias,
      caffe=caffe,
      excited=excited,
      rngs=rngs,
    )
    inputs = 64
    for stage, depth in enumerate(depths):
      planes, blocks = 64 << stage, []
      for i in range(depth):
        blocks.append(block(inputs, planes, 2 if stage and not i else 1))
        inputs = planes * (4 if bottleneck else 1)
      setattr(self, f"layer{stage + 1}", layers.Stack(blocks))
    self.fc = layers.linear(inputs, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, 3]` -> logits `[B, num_classes]`."""
    x = layers.relu(self.bn1(self.conv1(x)))
    if self.caffe:
      x = layers.max_pool(x, 3, 2, ceil=True)
    else:
      x = layers.max_pool(x, 3, 2, 1)
    for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
      x = stage(x)
    return self.fc(layers.global_mean(x))


FAMILY = Family(Network, VARIANTS, CHECKPOINTS, oracles=ORACLES)
