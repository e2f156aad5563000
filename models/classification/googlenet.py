"""GoogLeNet, Inception v1 with batch norms (Szegedy et al., arXiv:1409.4842).

torchvision's weights are TensorFlow's, ported: pixels are `(p / 255 - 0.5) /
0.5`, which torchvision reaches from its usual statistics by `transform_input`,
and batch norms add 1e-3. The third branch has a 3 x 3 kernel where the paper
has 5 x 5, as the weights do. The auxiliary classifiers serve training alone.
"""

import functools

import jax
from flax import nnx

from models import layers
from models.family import Family
from models.spec import Spec, Variant

SPEC = Spec(
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  parameters=6_624_904,
  source="torchvision 0.28 models/googlenet.py, IMAGENET1K_V1",
)
VARIANTS = {"googlenet": Variant(SPEC)}
IGNORED = (r"^aux[12]\.",)
ORACLES = {"googlenet": "torchvision:googlenet"}

# Table 1: channels of the 1 x 1, before and of the 3 x 3, before and of the
# "5 x 5", after the pooling.
_BLOCKS = {
  "inception3a": (64, 96, 128, 16, 32, 32),
  "inception3b": (128, 128, 192, 32, 96, 64),
  "inception4a": (192, 96, 208, 16, 48, 64),
  "inception4b": (160, 112, 224, 24, 64, 64),
  "inception4c": (128, 128, 256, 24, 64, 64),
  "inception4d": (112, 144, 288, 32, 64, 64),
  "inception4e": (256, 160, 320, 32, 128, 128),
  "inception5a": (256, 160, 320, 32, 128, 128),
  "inception5b": (384, 192, 384, 48, 128, 128),
}
_conv = functools.partial(layers.ConvNorm, epsilon=1e-3)
_around = functools.partial(layers.max_pool, window=3, stride=1, padding=1)
_halve = functools.partial(layers.max_pool, window=3, stride=2, ceil=True)


def _block(
  inputs: int, widths: tuple[int, ...], rngs: nnx.Rngs
) -> layers.Parallel:
  """Build four branches; `widths` as in `_BLOCKS`."""
  one, before3, three, before5, five, pooled = widths
  conv = functools.partial(_conv, rngs=rngs)
  return layers.Parallel(
    {
      "branch1": conv(inputs, one, 1),
      "branch2": layers.Stack(
        (conv(inputs, before3, 1), conv(before3, three, 3, padding=1))
      ),
      "branch3": layers.Stack(
        (conv(inputs, before5, 1), conv(before5, five, 3, padding=1))
      ),
      "branch4": layers.Stack((_around, conv(inputs, pooled, 1))),
    }
  )


class Network(nnx.Module):
  """Three convolutions, nine blocks with poolings, a mean, and a linear head."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network with `num_classes` logits."""
    conv = functools.partial(_conv, rngs=rngs)
    self.conv1 = conv(3, 64, 7, 2, 3)
    self.conv2 = conv(64, 64, 1)
    self.conv3 = conv(64, 192, 3, padding=1)
    inputs = 192
    for name, widths in _BLOCKS.items():
      setattr(self, name, _block(inputs, widths, rngs))
      one, _, three, _, five, pooled = widths
      inputs = one + three + five + pooled
    self.dropout = layers.Dropout(0.2)  # torchvision's
    self.fc = layers.linear(inputs, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = _halve(self.conv1(x))
    x = _halve(self.conv3(self.conv2(x)))
    for name in _BLOCKS:
      x = getattr(self, name)(x)
      if name == "inception3b":
        x = _halve(x)
      elif name == "inception4e":
        x = layers.max_pool(x, 2, 2, ceil=True)
    return self.fc(self.dropout(layers.global_mean(x)))


FAMILY = Family(Network, VARIANTS, ignored=IGNORED, oracles=ORACLES)
