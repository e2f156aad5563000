"""FCN, DeepLabV3 and LR-ASPP on ResNets and MobileNetV3, as torchvision has them.

Long et al. 2015 (arXiv:1411.4038), Chen et al. 2017 (arXiv:1706.05587), Howard et al.
2019 (arXiv:1905.02244, section 6.4). Logits are enlarged to the pixels that the
network saw. The auxiliary heads of published files act in training alone; they are
not read.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family
from models.layers import valid
from models.segmentation import bodies, inference
from models.segmentation.bodies import HIGH, LOW, Map
from models.segmentation.segmenter import SegmenterNetwork
from models.segmentation.spec import SegmenterSpec
from models.spec import Variant

_WIDTH = 256  # of DeepLabV3's branches
_RATES = (12, 24, 36)  # dilations at stride 8
_LR_WIDTH = 128  # of LR-ASPP's branches
_FEATURES = 2048  # of ResNet's last stage
_LOW_FEATURES, _HIGH_FEATURES = 40, 960  # of MobileNetV3's


def _variant(parameters: int, body: str, head: str) -> Variant:
  spec = SegmenterSpec(
    short_px=520,
    long_px=1040,
    label_space="voc",
    num_classes=21,
    parameters=parameters,
    source=(
      "torchvision 0.28 models/segmentation, COCO_WITH_VOC_LABELS_V1; long_px is"
      " ours"
    ),
  )
  return Variant(spec, {"body": body, "head": head})


_MOBILE = "mobilenet_v3_large"
# Without auxiliary heads, which torchvision counts.
VARIANTS = {
  "fcn_resnet50": _variant(32_957_013, "resnet50", "fcn"),
  "fcn_resnet101": _variant(51_949_141, "resnet101", "fcn"),
  "deeplabv3_resnet50": _variant(39_638_869, "resnet50", "deeplabv3"),
  "deeplabv3_resnet101": _variant(58_630_997, "resnet101", "deeplabv3"),
  f"deeplabv3_{_MOBILE}": _variant(11_025_477, _MOBILE, "deeplabv3"),
  f"lraspp_{_MOBILE}": _variant(3_221_538, _MOBILE, "lraspp"),
}


class Aspp(nnx.Module):
  """Atrous spatial pyramid pooling: branches of several dilations, and a mean."""

  def __init__(self, inputs: int, *, rngs: nnx.Rngs):
    """Create the branches for a map of `inputs` channels."""

    def branch(kernel: int, dilation: int = 1) -> list[layers.Step]:
      around = kernel // 2 * dilation
      conv = layers.conv(
        inputs,
        _WIDTH,
        kernel,
        1,
        around,
        dilation=dilation,
        bias=False,
        rngs=rngs,
      )
      return [conv, layers.BatchNorm(_WIDTH, rngs=rngs), layers.relu]

    branches = [branch(1), *(branch(3, rate) for rate in _RATES)]
    pooled = [layers.identity, *branch(1)]  # a mean comes first
    self.convs = layers.Stack([layers.Stack(b) for b in (*branches, pooled)])
    joined = len(self.convs.steps) * _WIDTH
    self.project = layers.Stack(
      [
        layers.conv(joined, _WIDTH, 1, bias=False, rngs=rngs),
        layers.BatchNorm(_WIDTH, rngs=rngs),
        layers.relu,
        layers.Dropout(0.5),
      ]
    )

  def __call__(self, x: jax.Array, sizes: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]`, zeros beyond the pictures, to `[B, H, W, 256]`."""
    *branches, pooled = self.convs
    mean = pooled(valid.mean(x, sizes))
    even = jnp.broadcast_to(mean, (*x.shape[:3], _WIDTH))
    parts = [branch(x) for branch in branches]
    return self.project(jnp.concatenate([*parts, even], axis=-1))


class DeepLabHead(layers.Stack):
  """DeepLabV3's head: `Aspp`, a 3 x 3 and a 1 x 1 convolution."""

  def __init__(self, inputs: int, num_classes: int, *, rngs: nnx.Rngs):
    """Create the head."""
    pyramid: Any = Aspp(inputs, rngs=rngs)
    super().__init__(
      [
        pyramid,
        layers.conv(_WIDTH, _WIDTH, 3, 1, 1, bias=False, rngs=rngs),
        layers.BatchNorm(_WIDTH, rngs=rngs),
        layers.relu,
        layers.conv(_WIDTH, num_classes, 1, rngs=rngs),
      ]
    )

  def __call__(self, features: Map) -> Map:
    """Map features to logits."""
    x, sizes = features
    pyramid, *rest = self
    x = pyramid(valid.inside(x, sizes), sizes)  # type: ignore[call-arg]
    x = valid.inside(x, sizes)
    for step in rest:
      x = step(x)
    return x, sizes


class FcnHead(layers.Stack):
  """FCN's head as torchvision has it: a 3 x 3 and a 1 x 1 convolution."""

  def __init__(self, inputs: int, num_classes: int, *, rngs: nnx.Rngs):
    """Create the head."""
    width = inputs // 4
    super().__init__(
      [
        layers.conv(inputs, width, 3, 1, 1, bias=False, rngs=rngs),
        layers.BatchNorm(width, rngs=rngs),
        layers.relu,
        layers.Dropout(0.1),
        layers.conv(width, num_classes, 1, rngs=rngs),
      ]
    )

  def __call__(self, features: Map) -> Map:
    """Map features to logits."""
    x, sizes = features
    return super().__call__(valid.inside(x, sizes)), sizes


class LrAsppHead(nnx.Module):
  """LR-ASPP: the last features, gated by their mean, and those of stride 8."""

  def __init__(self, num_classes: int, *, rngs: nnx.Rngs):
    """Create the head on MobileNetV3's features."""
    self.cbr = layers.Stack(
      [
        layers.conv(_HIGH_FEATURES, _LR_WIDTH, 1, bias=False, rngs=rngs),
        layers.BatchNorm(_LR_WIDTH, rngs=rngs),
        layers.relu,
      ]
    )
    gate = layers.conv(_HIGH_FEATURES, _LR_WIDTH, 1, bias=False, rngs=rngs)
    self.scale = layers.Stack([layers.identity, gate, jax.nn.sigmoid])
    self.low_classifier = layers.conv(_LOW_FEATURES, num_classes, 1, rngs=rngs)
    self.high_classifier = layers.conv(_LR_WIDTH, num_classes, 1, rngs=rngs)

  def __call__(self, maps: dict[int, Map]) -> Map:
    """Map features to logits of stride 8."""
    (low, low_sizes), (high, sizes) = maps[LOW], maps[HIGH]
    x = self.cbr(high) * self.scale(valid.mean(high, sizes))
    x = inference.enlarged(x, low.shape[1:3], sizes=low_sizes, valid=sizes)
    x = self.high_classifier(x.astype(low.dtype))
    return self.low_classifier(low) + x, low_sizes


class Network(SegmenterNetwork):
  """A body and a head."""

  def __init__(self, *, body: str, head: str, num_classes: int, rngs: nnx.Rngs):
    """Build the network.

    Args:
      body: `resnet50`, `resnet101` or `mobilenet_v3_large`.
      head: `fcn`, `deeplabv3` or `lraspp`.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    mobile = body == _MOBILE
    build = bodies.MobileNetV3 if mobile else bodies.ResNet
    self.backbone = build(name=body, rngs=rngs)
    features = _HIGH_FEATURES if mobile else _FEATURES
    self.classifier: Any
    if head == "lraspp":
      self.classifier = LrAsppHead(num_classes, rngs=rngs)
    else:
      kind = {"fcn": FcnHead, "deeplabv3": DeepLabHead}[head]
      self.classifier = kind(features, num_classes, rngs=rngs)
    self.last_alone = mobile and head != "lraspp"

  def __call__(
    self, x: jax.Array, sizes: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    """Return logits of every pixel, see `SegmenterNetwork`."""
    features: Any = self.backbone(x, sizes)
    features = features[HIGH] if self.last_alone else features
    logits, covered = self.classifier(features)
    canvas = x.shape[1:3]
    return inference.enlarged(logits, canvas, sizes=sizes, valid=covered), sizes


FAMILY = Family(
  Network,
  VARIANTS,
  ignored=(r"^aux_classifier\.",),
  stages=("backbone/(?:conv1|bn1|0)", r"backbone/(?:layer)?(\d+)"),
)
