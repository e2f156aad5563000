"""ResNet, wide ResNet and ResNeXt (arXiv:1512.03385, 1605.07146, 1611.05431).

torchvision's networks put the stride into the 3 x 3 convolution; the Caffe port
(`cafferesnet101`) into the first 1 x 1; Facebook's Torch port (`fbresnet152`)
gives its convolutions biases. timm's `seresnet50` is torchvision's network with
squeeze-and-excitation; `se_resnet50` is Caffe's. `resnext29_4x32d` is AugMix's,
for CIFAR; `resnext101_32x8d_denoise_all` is that of Xie et al. 2019
(arXiv:1812.03411), with a non-local mean after every block.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.classification import inverted, wrn
from models.classification.se_resnet import REDUCTION
from models.family import Family, Rules
from models.spec import Spec, Variant

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
_DENOISE = Spec(
  channel_order="bgr",
  # adv_model.py: -1..1.
  scale=2 / 255,
  mean=(1.0, 1.0, 1.0),
  std=(1.0, 1.0, 1.0),
  weights="tensorpack",
  source="facebookresearch/ImageNet-Adversarial-Training, nets.py",
)
# ImageNet-64 and, with 200 classes, Tiny ImageNet.
_64 = dataclasses.replace(
  _SPEC,
  input_px=64,
  resize="squash",
  resize_px=64,
  weights="robust_tfds",
  source="the network of torchvision 0.28 on pictures of 64 px",
)
_DEPTHS = {
  18: (2, 2, 2, 2),
  29: (3, 3, 3),
  34: (3, 4, 6, 3),
  50: (3, 4, 6, 3),
  101: (3, 4, 23, 3),
  152: (3, 8, 36, 3),
}


def _variant(
  depth: int, parameters: int, spec: Spec = _SPEC, **options: Any
) -> Variant:
  spec = dataclasses.replace(spec, parameters=parameters)
  wide = {"depths": _DEPTHS[depth], "bottleneck": depth not in (18, 34)}
  return Variant(spec, {**wide, **options})


_V101_64 = dataclasses.replace(_SPEC, resize_px=232)
VARIANTS = {
  "resnet18": _variant(18, 11_689_512),
  "resnet34": _variant(34, 21_797_672),
  "resnet50": _variant(50, 25_557_032),
  "resnet50_64px": _variant(50, 25_557_032, _64),
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
  "resnext29_4x32d": _variant(
    29, 6_807_882, wrn.AUGMIX, groups=4, width=32, small=True
  ),
  "resnext101_32x8d_denoise_all": _variant(
    101, 126_801_704, _DENOISE, groups=32, width=8, denoised=True
  ),
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
_STAGES: Rules = tuple((rf"^stage_{i}\.", f"layer{i}.") for i in (1, 2, 3))
_AUGMIX: Rules = (
  (r"^conv_1_3x3\.", "conv1."),
  (r"^bn_1\.", "bn1."),
  *_STAGES,
  *(
    rule
    for i, (conv, norm) in enumerate(
      (("reduce", "bn_reduce"), ("conv", "bn"), ("expand", "bn_expand")), 1
    )
    for rule in (
      (rf"\.conv_{conv}\.", f".conv{i}."),
      (rf"^(layer\d\.\d+)\.{norm}\.", rf"\1.bn{i}."),
    )
  ),
  (r"^classifier\.", "fc."),
)
_PYTORCHCV: Rules = (
  (r"^features\.init_block\.conv\.", "conv1."),
  (r"^features\.init_block\.bn\.", "bn1."),
  *(
    (rf"^features\.stage(\d)\.unit{i + 1}\.", rf"layer\1.{i}.")
    for i in range(23)
  ),
  (r"\.body\.conv(\d)\.(conv|bn)\.", r".\2\1."),
  (r"\.identity_conv\.conv\.", ".downsample.0."),
  (r"\.identity_conv\.bn\.", ".downsample.1."),
  (r"^output\.", "fc."),
)
_TENSORPACK: Rules = (
  (r":0$", ""),
  (r"/bn/gamma$", "/bn.weight"),
  (r"/bn/beta$", "/bn.bias"),
  (r"/bn/mean/EMA$", "/bn.running_mean"),
  (r"/bn/variance/EMA$", "/bn.running_var"),
  (r"/W$", ".weight"),
  (r"/b$", ".bias"),
  (r"^conv0/bn", "bn1"),
  (r"^conv0\.", "conv1."),
  *((rf"^group{i}/block(\d+)/", rf"layer{i + 1}.\1.") for i in range(4)),
  (r"\.conv(\d)/bn\.", r".bn\1."),
  (r"\.convshortcut/bn\.", ".downsample.1."),
  (r"\.convshortcut\.", ".downsample.0."),
  (r"\.non_local/conv/bn\.", ".denoise.bn."),
  (r"\.non_local/conv\.", ".denoise.conv."),
  (r"^linear\.", "fc."),
)
# torchvision's and timm's names are ours.
CHECKPOINTS: dict[str, Rules] = {
  "augmix": _AUGMIX,
  "pytorchcv": _PYTORCHCV,
  "tensorpack": _TENSORPACK,
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
ORACLES["resnext29_4x32d"] = (
  "pytorchcv:resnext_cifar.get_resnext_cifar"
  ":blocks=29,cardinality=4,bottleneck_width=32"
)
ORACLES["resnext101_64x4d_torchvision"] = "torchvision:resnext101_64x4d"


class Denoise(nnx.Module):
  """A denoising block: it adds each place's mean over all places, weighted by
  their products.

  It is the dot product form of non-local means, without embeddings, and a 1 x 1
  convolution (Xie et al. 2019, section 4.2, figure 4).
  """

  def __init__(self, channels: int, *, rngs: nnx.Rngs):
    """Create the block for a map of `channels`."""
    self.conv = layers.conv(channels, channels, 1, bias=False, rngs=rngs)
    self.bn = layers.BatchNorm(channels, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, channels]` to the same shape."""
    flat = x.reshape(x.shape[0], -1, x.shape[-1])
    places, channels = flat.shape[1:]
    if channels > places:  # the cheaper order of the same product
      pairs = jnp.einsum("bpc,bqc->bpq", flat, flat)
      mean = jnp.einsum("bpq,bqc->bpc", pairs, flat) / places
    else:
      pairs = jnp.einsum("bqd,bqc->bdc", flat, flat)
      mean = jnp.einsum("bpd,bdc->bpc", flat, pairs) / places
    return x + self.bn(self.conv(mean.reshape(x.shape)))


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
    denoised: bool,
    rngs: nnx.Rngs,
  ):
    """Create the block; `planes` is 64, 128, 256 or 512, and the options are
    those of `Network`.
    """
    conv = functools.partial(layers.conv, bias=conv_bias, rngs=rngs)
    norm = functools.partial(layers.BatchNorm, rngs=rngs)
    outputs = planes * (4 if bottleneck else 1)
    if bottleneck:
      inner = planes * width // 64 * groups
      first, second = (stride, 1) if caffe else (1, stride)
      self.conv1 = conv(inputs, inner, 1, first)
      around = 0 if denoised else 1
      self.conv2 = conv(inner, inner, 3, second, around, groups=groups)
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
    self.denoised, self.stride = denoised, stride
    if denoised:
      self.denoise = Denoise(outputs, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    y = layers.relu(self.bn1(self.conv1(x)))
    if self.denoised:
      y = layers.pad_as_tensorflow(y, 3, self.stride)
    y = self.bn2(self.conv2(y))
    if self.bottleneck:
      y = self.bn3(self.conv3(layers.relu(y)))
    if self.excited:
      y = self.se(y)
    y = layers.relu(y + (self.downsample(x) if self.changes_shape else x))
    return self.denoise(y) if self.denoised else y


class Network(nnx.Module):
  """A 7 x 7 stem, four stages of blocks, a mean, and a linear head."""

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
    small: bool = False,
    denoised: bool = False,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the stages.

    Args:
      depths: blocks per stage.
      bottleneck: whether blocks have three convolutions instead of two.
      groups: groups of the 3 x 3 convolutions (ResNeXt's cardinality).
      width: channels of a group per 64 planes.
      conv_bias: whether convolutions have biases.
      caffe: whether the stride is in the first 1 x 1, and the stem's pooling in
        ceil mode.
      excited: whether residuals have squeeze-and-excitation.
      small: whether to build a 3 x 3 stem that keeps the sides, for 32 px
        pictures.
      denoised: whether to put `Denoise` after every block and pad like
        TensorFlow.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    self.caffe, self.small, self.denoised = caffe, small, denoised
    stem = (3, 1, 1) if small else (7, 2, 0 if denoised else 3)
    self.conv1 = layers.conv(3, 64, *stem, bias=conv_bias, rngs=rngs)
    self.bn1 = layers.BatchNorm(64, rngs=rngs)
    block = functools.partial(
      Block,
      bottleneck=bottleneck,
      groups=groups,
      width=width,
      conv_bias=conv_bias,
      caffe=caffe,
      excited=excited,
      denoised=denoised,
      rngs=rngs,
    )
    inputs = 64
    for stage, depth in enumerate(depths):
      planes, blocks = 64 << stage, []
      for i in range(depth):
        blocks.append(block(inputs, planes, 2 if stage and not i else 1))
        inputs = planes * (4 if bottleneck else 1)
      setattr(self, f"layer{stage + 1}", layers.Stack(blocks))
    self.stages = len(depths)
    self.fc = layers.linear(inputs, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    if self.denoised:
      x = layers.pad_as_tensorflow(x, 7, 2)
    x = self._pool(layers.relu(self.bn1(self.conv1(x))))
    for stage in range(1, self.stages + 1):
      x = getattr(self, f"layer{stage}")(x)
    return self.fc(layers.global_mean(x))

  def _pool(self, x: jax.Array) -> jax.Array:
    """Pool like the stem; the output of a relu is never below the zeros of a
    padding.
    """
    if self.small:
      return x
    if self.denoised:
      return layers.max_pool(layers.pad_as_tensorflow(x, 3, 2), 3, 2)
    if self.caffe:
      return layers.max_pool(x, 3, 2, ceil=True)
    return layers.max_pool(x, 3, 2, 1)


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  flax_styles=("tensorpack",),
  oracles=ORACLES,
  stages=("conv1|bn1", r"layer(\d)"),
)
