"""Parts of networks made of inverted residuals (arXiv:1801.04381, 1905.11946).

MobileNet, MnasNet, EfficientNet, RegNet and MaxViT share them; names follow
torchvision's, where a convolution, its norm and its activation are "0", "1"
and nothing.
"""

from typing import Any

import jax
from flax import nnx

from models import layers
from models.layers import Step


def plain(
  inputs: int,
  outputs: int,
  kernel: int,
  stride: int = 1,
  *,
  groups: int = 1,
  epsilon: float = 1e-5,
  momentum: float = 0.1,
  rngs: nnx.Rngs,
) -> tuple[nnx.Module, nnx.Module]:
  """Build a convolution without bias, padded by half its kernel, and a norm.

  Args:
    inputs: input channels.
    outputs: output channels.
    kernel: side of the kernel, odd.
    stride: stride along both sides.
    groups: groups of the convolution.
    epsilon: epsilon of the norm.
    momentum: momentum of the norm.
    rngs: for the initial weights.
  """
  pad = kernel // 2
  conv = layers.conv(
    inputs, outputs, kernel, stride, pad, groups=groups, bias=False, rngs=rngs
  )
  norm = layers.BatchNorm(outputs, epsilon, momentum=momentum, rngs=rngs)
  return conv, norm


def conv_norm(
  inputs: int,
  outputs: int,
  kernel: int,
  stride: int = 1,
  *,
  activation: Step = layers.identity,
  **options: Any,
) -> layers.Stack:
  """Stack `plain`, with its options, and a function of one array."""
  pair = plain(inputs, outputs, kernel, stride, **options)
  return layers.Stack((*pair, activation))


class Excite(nnx.Module):
  """A gate that scales channels, computed from their means (arXiv:1709.01507)."""

  def __init__(
    self,
    channels: int,
    inner: int,
    *,
    activation: Step = layers.relu,
    gate: Step = jax.nn.sigmoid,
    rngs: nnx.Rngs,
  ):
    """Create the gate with `inner` hidden channels; `gate` maps to 0..1."""
    self.fc1 = layers.conv(channels, inner, 1, rngs=rngs)
    self.fc2 = layers.conv(inner, channels, 1, rngs=rngs)
    self.activation, self.gate = activation, gate

  def __call__(self, x: jax.Array, mean: jax.Array | None = None) -> jax.Array:
    """Map `[B, H, W, channels]` to the same shape.

    Args:
      x: the map.
      mean: `[B, 1, 1, channels]`, the means of a part of it; None: of all.
    """
    mean = x.mean((1, 2), keepdims=True) if mean is None else mean
    inner = self.activation(self.fc1(mean))
    return x * self.gate(self.fc2(inner))


def round_channels(channels: float, divisor: int = 8) -> int:
  """Return the nearest multiple of `divisor` that is at least 0.9 of `channels`.

  It follows TensorFlow's slim/nets/mobilenet: scaled widths suit the hardware,
  and rounding down never removes more than a tenth.

  >>> round_channels(1.1 * 16), round_channels(1.3 * 16), round_channels(11)
  (16, 24, 16)
  """
  rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
  return rounded + divisor if rounded < 0.9 * channels else rounded
