"""Bodies of segmenters: classification networks whose last stages do not shrink.

Strides are replaced by dilations (Chen et al. 2017, arXiv:1706.05587, section 3.2),
as torchvision does. Names of arrays are the classifiers'.
"""

from __future__ import annotations

from typing import Any

import jax
from flax import nnx

from models import layers
from models.classification import inverted, mobilenet_v3, resnet
from models.layers import valid

# Features and the sizes of their valid part.
Map = tuple[jax.Array, jax.Array]
LOW, HIGH = 4, 16  # MobileNetV3's features of stride 8, and its last
# MobileNetV3's blocks of the stage that keeps stride 16.
_DILATED = (13, 14, 15)


class ResNet(resnet.Network):
  """A ResNet whose third and fourth stage keep the stride of 8."""

  def __init__(self, *, name: str, rngs: nnx.Rngs):
    """Build the body; `name` is one of `models.classification.resnet`."""
    options = resnet.VARIANTS[name].options
    super().__init__(**options, num_classes=1, rngs=rngs)
    del self.fc
    dilation = 1
    for stage in (self.layer3, self.layer4):
      blocks: list[Any] = [*stage]
      for i, block in enumerate(blocks):
        _dilate(block.conv2, dilation)
        if not i:
          _dilate(getattr(block.downsample, "0"), 1)
          dilation *= 2

  def __call__(self, x: jax.Array, sizes: jax.Array) -> Map:  # type: ignore[override]
    """Map `[B, H, W, 3]` to the last stage's features."""
    x, sizes = self.bn1(self.conv1(x)), valid.strided(sizes, 2)
    # Zeros are never above what a relu gives.
    x = layers.max_pool(valid.inside(layers.relu(x), sizes), 3, 2, 1)
    sizes = valid.strided(sizes, 2)
    for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
      for block in stage:
        x, sizes = _bottleneck(block, x, sizes)
    return x, sizes


class MobileNetV3(layers.Stack):
  """MobileNetV3's features; the last stage keeps the stride of 16."""

  def __init__(self, *, name: str, rngs: nnx.Rngs):
    """Build the body; `name` is one of `models.classification.mobilenet_v3`."""
    options = mobilenet_v3.VARIANTS[name].options
    network = mobilenet_v3.Network(**options, num_classes=1, rngs=rngs)
    super().__init__(list(network.features))
    for place in _DILATED:
      _, filtering, *_ = getattr(self, str(place)).block
      _dilate(getattr(filtering, "0"), 2)

  def __call__(self, x: jax.Array, sizes: jax.Array) -> dict[int, Map]:  # type: ignore[override]
    """Map `[B, H, W, 3]` to the features `LOW` and `HIGH`."""
    maps: dict[int, Map] = {}
    for place, step in enumerate(self):
      add = isinstance(step, mobilenet_v3.Block) and step.adds
      before = x
      for part in step.block if hasattr(step, "block") else [step]:
        x, sizes = _filtered(part, x, sizes)
      x = x + before if add else x
      maps[place] = x, sizes
    return {place: maps[place] for place in (LOW, HIGH)}


def _dilate(conv: nnx.Conv, dilation: int) -> None:
  """Replace a convolution's stride by a dilation."""
  around = conv.kernel_size[0] // 2 * dilation
  conv.strides = (1, 1)
  conv.kernel_dilation = (dilation, dilation)
  conv.padding = ((around, around), (around, around))


def _bottleneck(block: Any, x: jax.Array, sizes: jax.Array) -> Map:
  """Compute a bottleneck block of pictures on canvases."""
  y = layers.relu(block.bn1(block.conv1(x)))
  y = block.bn2(block.conv2(valid.inside(y, sizes)))
  y = block.bn3(block.conv3(layers.relu(y)))
  y = layers.relu(y + (block.downsample(x) if block.changes_shape else x))
  return y, valid.strided(sizes, block.conv2.strides[0])


def _filtered(part: Any, x: jax.Array, sizes: jax.Array) -> Map:
  """Compute a part of an inverted residual of pictures on canvases."""
  if isinstance(part, inverted.Excite):
    return part(x, valid.mean(x, sizes)), sizes
  stride = getattr(part, "0").strides[0]
  return part(valid.inside(x, sizes)), valid.strided(sizes, stride)
