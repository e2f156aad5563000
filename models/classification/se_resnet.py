"""Squeeze-and-excitation: SE-ResNet, SE-ResNeXt, SENet-154 (arXiv:1709.01507).

The published weights are Caffe's, ported in pretrained-models.pytorch: strides
are placed as in Caffe, and the first pooling is in ceil mode.
"""

import dataclasses
import functools

import jax
from flax import nnx

from models import layers
from models.classification import inverted
from models.family import Family, Rules
from models.spec import Spec, Variant

_SPEC = Spec(weights="cadene", source="pretrainedmodels 0.7.4 senet.py")
_DEPTHS = {
  50: (3, 4, 6, 3),
  101: (3, 4, 23, 3),
  152: (3, 8, 36, 3),
  154: (3, 8, 36, 3),
}
REDUCTION = 16  # section 6.4: channels per channel of the squeeze


def _variant(depth: int, kind: str, parameters: int) -> Variant:
  spec = dataclasses.replace(_SPEC, parameters=parameters)
  return Variant(spec, {"depths": _DEPTHS[depth], "kind": kind})


VARIANTS = {
  "se_resnet50": _variant(50, "resnet", 28_088_024),
  "se_resnet101": _variant(101, "resnet", 49_326_872),
  "se_resnet152": _variant(152, "resnet", 66_821_848),
  "se_resnext50_32x4d": _variant(50, "resnext", 27_559_896),
  "se_resnext101_32x4d": _variant(101, "resnext", 48_955_416),
  "senet154": _variant(154, "senet", 115_088_984),
}
# pretrained-models' and timm's `legacy_` names are ours.
CHECKPOINTS: dict[str, Rules] = {"cadene": ()}
ORACLES = {name: f"pretrainedmodels:{name}" for name in VARIANTS}


class Block(nnx.Module):
  """A bottleneck whose residual is excited before it is added."""

  def __init__(
    self, inputs: int, planes: int, stride: int, *, kind: str, rngs: nnx.Rngs
  ):
    """Create the block; `kind` is `resnet`, `resnext` or `senet`."""
    conv = functools.partial(layers.conv, bias=False, rngs=rngs)
    norm = functools.partial(layers.BatchNorm, rngs=rngs)
    outputs = planes * 4
    # Channels after conv1 and conv2, groups; section 6 and the Caffe models.
    inner, middle, groups = {
      "resnet": (planes, planes, 1),
      "resnext": (planes * 2, planes * 2, 32),
      "senet": (planes * 2, planes * 4, 64),
    }[kind]
    first, second = (stride, 1) if kind == "resnet" else (1, stride)
    self.conv1 = conv(inputs, inner, 1, first)
    self.conv2 = conv(inner, middle, 3, second, 1, groups=groups)
    self.conv3 = conv(middle, outputs, 1)
    self.bn1, self.bn2, self.bn3 = norm(inner), norm(middle), norm(outputs)
    self.se_module = inverted.Excite(outputs, outputs // REDUCTION, rngs=rngs)
    self.changes_shape = stride != 1 or inputs != outputs
    if self.changes_shape:
      kernel = 3 if kind == "senet" and stride != 1 else 1
      shortcut = conv(inputs, outputs, kernel, stride, kernel // 2)
      self.downsample = layers.Stack((shortcut, norm(outputs)))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, 4 * planes]`."""
    y = layers.relu(self.bn1(self.conv1(x)))
    y = layers.relu(self.bn2(self.conv2(y)))
    y = self.se_module(self.bn3(self.conv3(y)))
    return layers.relu(y + (self.downsample(x) if self.changes_shape else x))


class Stem(nnx.Module):
  """A stem: one 7 x 7 convolution, or SENet-154's three 3 x 3; a ceil-mode pooling."""

  def __init__(self, outputs: int, deep: bool, *, rngs: nnx.Rngs):
    """Create the stem; `deep` builds SENet-154's."""
    conv = functools.partial(layers.conv, bias=False, rngs=rngs)
    norm = functools.partial(layers.BatchNorm, rngs=rngs)
    if deep:
      self.conv1, self.bn1 = conv(3, 64, 3, 2, 1), norm(64)
      self.conv2, self.bn2 = conv(64, 64, 3, 1, 1), norm(64)
      self.conv3, self.bn3 = conv(64, outputs, 3, 1, 1), norm(outputs)
    else:
      self.conv1, self.bn1 = conv(3, outputs, 7, 2, 3), norm(outputs)
    self.deep = deep

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to `[B, H / 4, W / 4, outputs]`."""
    x = layers.relu(self.bn1(self.conv1(x)))
    if self.deep:
      x = layers.relu(self.bn2(self.conv2(x)))
      x = layers.relu(self.bn3(self.conv3(x)))
    return layers.max_pool(x, 3, 2, ceil=True)


class Network(nnx.Module):
  """A stem, four stages of excited bottlenecks, a mean, and a linear head."""

  layer1: layers.Stack
  layer2: layers.Stack
  layer3: layers.Stack
  layer4: layers.Stack

  def __init__(
    self,
    *,
    depths: tuple[int, ...],
    kind: str,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `depths` are blocks per stage, `kind` as in `Block`."""
    inputs = 128 if kind == "senet" else 64
    self.layer0 = Stem(inputs, kind == "senet", rngs=rngs)
    for stage, depth in enumerate(depths):
      planes, blocks = 64 << stage, []
      for i in range(depth):
        stride = 2 if stage and not i else 1
        blocks.append(Block(inputs, planes, stride, kind=kind, rngs=rngs))
        inputs = planes * 4
      setattr(self, f"layer{stage + 1}", layers.Stack(blocks))
    # pretrainedmodels has senet154 alone.
    self.dropout = layers.Dropout(0.2 if kind == "senet" else 0.0)
    self.last_linear = layers.linear(inputs, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = self.layer0(x)
    for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
      x = stage(x)
    return self.last_linear(self.dropout(layers.global_mean(x)))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  oracles=ORACLES,
  stages=("layer0", r"layer(\d)"),
)
