"""MnasNet-B1 in four widths (Tan et al. 2019, arXiv:1807.11626).

torchvision's weights. Its first files of 0.5 (`version` 1, before 2019) had a
stem of the full width; they have another architecture and are refused.
"""

import functools

import jax
from flax import nnx

from models import layers
from models.classification import inverted
from models.family import Family, Rules
from models.layers import Step
from models.spec import Spec, Variant


def _variant(width: float, parameters: int, resize_px: int) -> Variant:
  spec = Spec(
    resize_px=resize_px,
    parameters=parameters,
    source="torchvision 0.28 models/mnasnet.py, IMAGENET1K_V1",
  )
  return Variant(spec, {"width": width})


VARIANTS = {
  "mnasnet0_5": _variant(0.5, 2_218_512, 256),
  "mnasnet0_75": _variant(0.75, 3_170_208, 232),
  "mnasnet1_0": _variant(1.0, 4_383_312, 256),
  "mnasnet1_3": _variant(1.3, 6_282_256, 232),
}
# Channels, kernel, stride, expansion, blocks of each stage after the first two
# convolutions (figure 7 of the paper without excitation).
_STAGES = (
  (24, 3, 2, 3, 3),
  (40, 5, 2, 3, 3),
  (80, 5, 2, 6, 3),
  (96, 3, 1, 6, 2),
  (192, 5, 2, 6, 4),
  (320, 3, 1, 6, 1),
)
# timm's stage 0 is the last part of torchvision's stem.
_TIMM = (
  (r"^conv_stem\.", "layers.0."),
  (r"^bn1\.", "layers.1."),
  (r"^blocks\.0\.0\.conv_dw\.", "layers.3."),
  (r"^blocks\.0\.0\.bn1\.", "layers.4."),
  (r"^blocks\.0\.0\.conv_pw\.", "layers.6."),
  (r"^blocks\.0\.0\.bn2\.", "layers.7."),
  *(
    (rf"^blocks\.{stage}\.(\d)\.", rf"layers.{stage + 7}.\1.layers.")
    for stage in range(1, 7)
  ),
  (r"\.conv_pw\.", ".0."),
  (r"\.bn1\.", ".1."),
  (r"\.conv_dw\.", ".3."),
  (r"\.bn2\.", ".4."),
  (r"\.conv_pwl\.", ".6."),
  (r"\.bn3\.", ".7."),
  (r"^conv_head\.", "layers.14."),
  (r"^bn2\.", "layers.15."),
  (r"^classifier\.", "classifier.1."),
)
# torchvision's names are ours.
CHECKPOINTS: dict[str, Rules] = {"timm": _TIMM}
ORACLES = {name: f"torchvision:{name}" for name in VARIANTS}
# torchvision's: the paper's 0.9997 is TensorFlow's word for it.
_conv = functools.partial(inverted.plain, momentum=1 - 0.9997)


class Block(nnx.Module):
  """A block: expand, filter each channel, project; added if the shape stays."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int,
    expand: int,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the block; `expand` is the number of inner channels per input channel."""
    inner, conv = inputs * expand, functools.partial(_conv, rngs=rngs)
    self.layers = layers.Stack(
      (
        *conv(inputs, inner, 1),
        layers.relu,
        *conv(inner, inner, kernel, stride, groups=inner),
        layers.relu,
        *conv(inner, outputs, 1),
      )
    )
    self.adds = stride == 1 and inputs == outputs

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    y = self.layers(x)
    return x + y if self.adds else y


class Network(nnx.Module):
  """A separable stem, six stages of blocks, a 1 x 1 convolution, a mean, and a
  linear head.
  """

  def __init__(self, *, width: float, num_classes: int, rngs: nnx.Rngs):
    """Create the network; `width` scales all channels except the last 1280."""
    conv = functools.partial(_conv, rngs=rngs)
    stem, inputs = (inverted.round_channels(n * width) for n in (32, 16))
    steps: list[Step] = [
      *conv(3, stem, 3, 2),
      layers.relu,
      *conv(stem, stem, 3, groups=stem),
      layers.relu,
      *conv(stem, inputs, 1),
    ]
    for channels, kernel, first, expand, depth in _STAGES:
      outputs, blocks = inverted.round_channels(channels * width), []
      for i in range(depth):
        stride = 1 if i else first
        blocks.append(Block(inputs, outputs, kernel, stride, expand, rngs=rngs))
        inputs = outputs
      steps.append(layers.Stack(blocks))
    self.layers = layers.Stack((*steps, *conv(inputs, 1280, 1), layers.relu))
    head = layers.linear(1280, num_classes, rngs=rngs)
    self.classifier = layers.Stack((layers.Dropout(0.2), head))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    return self.classifier(layers.global_mean(self.layers(x)))


FAMILY = Family(Network, VARIANTS, CHECKPOINTS, oracles=ORACLES)
