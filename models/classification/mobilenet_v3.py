"""MobileNetV3 large and small (Howard et al. 2019, arXiv:1905.02244).

torchvision's weights; every batch norm adds 1e-3, as TensorFlow's do.
"""

import functools
from typing import Any, NamedTuple

import jax
from flax import nnx

from models import layers
from models.classification import inverted
from models.family import Family
from models.spec import Spec, Variant


class Row(NamedTuple):
  """A block, as a row of the paper's tables 1 and 2.

  Attributes:
    kernel: side of the depthwise kernel.
    inner: channels after the expansion.
    outputs: output channels.
    excites: whether it has a squeeze and an excitation.
    hard: whether it has hard swish rather than relu.
    stride: stride of the depthwise convolution.
  """

  kernel: int
  inner: int
  outputs: int
  excites: bool
  hard: bool
  stride: int


_LARGE = (
  Row(3, 16, 16, False, False, 1),
  Row(3, 64, 24, False, False, 2),
  Row(3, 72, 24, False, False, 1),
  Row(5, 72, 40, True, False, 2),
  Row(5, 120, 40, True, False, 1),
  Row(5, 120, 40, True, False, 1),
  Row(3, 240, 80, False, True, 2),
  Row(3, 200, 80, False, True, 1),
  Row(3, 184, 80, False, True, 1),
  Row(3, 184, 80, False, True, 1),
  Row(3, 480, 112, True, True, 1),
  Row(3, 672, 112, True, True, 1),
  Row(5, 672, 160, True, True, 2),
  Row(5, 960, 160, True, True, 1),
  Row(5, 960, 160, True, True, 1),
)
_SMALL = (
  Row(3, 16, 16, True, False, 2),
  Row(3, 72, 24, False, False, 2),
  Row(3, 88, 24, False, False, 1),
  Row(5, 96, 40, True, True, 2),
  Row(5, 240, 40, True, True, 1),
  Row(5, 240, 40, True, True, 1),
  Row(5, 120, 48, True, True, 1),
  Row(5, 144, 48, True, True, 1),
  Row(5, 288, 96, True, True, 2),
  Row(5, 576, 96, True, True, 1),
  Row(5, 576, 96, True, True, 1),
)


def _variant(parameters: int, **options: Any) -> Variant:
  spec = Spec(
    parameters=parameters,
    source="torchvision 0.28 models/mobilenetv3.py, IMAGENET1K_V1",
  )
  return Variant(spec, options)


VARIANTS = {
  "mobilenet_v3_large": _variant(5_483_032, rows=_LARGE, last=1280),
  "mobilenet_v3_small": _variant(2_542_856, rows=_SMALL, last=1024),
}
ORACLES = {name: f"torchvision:{name}" for name in VARIANTS}
# torchvision's norms.
_conv = functools.partial(inverted.conv_norm, epsilon=1e-3, momentum=0.01)


class Block(nnx.Module):
  """A block: expand, filter, excite, project; added if the shape stays."""

  def __init__(self, inputs: int, row: Row, *, rngs: nnx.Rngs):
    """Create the block for `inputs` channels."""
    function = jax.nn.hard_swish if row.hard else layers.relu
    curved = functools.partial(_conv, activation=function, rngs=rngs)
    steps: list[nnx.Module] = []
    if row.inner != inputs:
      steps.append(curved(inputs, row.inner, 1))
    steps.append(
      curved(row.inner, row.inner, row.kernel, row.stride, groups=row.inner)
    )
    if row.excites:
      squeeze = inverted.round_channels(row.inner // 4)  # section 5.3
      steps.append(
        inverted.Excite(row.inner, squeeze, gate=jax.nn.hard_sigmoid, rngs=rngs)
      )
    steps.append(_conv(row.inner, row.outputs, 1, rngs=rngs))
    self.block = layers.Stack(steps)
    self.adds = row.stride == 1 and inputs == row.outputs

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    y = self.block(x)
    return x + y if self.adds else y


class Network(nnx.Module):
  """A 3 x 3 stem, blocks, a 1 x 1 convolution, a mean, and two linear layers."""

  def __init__(
    self,
    *,
    rows: tuple[Row, ...],
    last: int,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `last` is the width between the two linear layers."""
    curved = functools.partial(_conv, activation=jax.nn.hard_swish, rngs=rngs)
    features: list[nnx.Module] = [curved(3, 16, 3, 2)]
    inputs = 16
    for row in rows:
      features.append(Block(inputs, row, rngs=rngs))
      inputs = row.outputs
    features.append(curved(inputs, 6 * inputs, 1))
    self.features = layers.Stack(features)
    self.classifier = layers.Stack(
      (
        layers.linear(6 * inputs, last, rngs=rngs),
        jax.nn.hard_swish,
        layers.Dropout(0.2),
        layers.linear(last, num_classes, rngs=rngs),
      )
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    return self.classifier(layers.global_mean(self.features(x)))


FAMILY = Family(
  Network,
  VARIANTS,
  oracles=ORACLES,
  stages=(r"features/(\d+)",),
)
