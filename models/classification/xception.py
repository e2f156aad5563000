"""Xception (Chollet 2017, arXiv:1610.02357), as ported from Keras."""

import functools

import jax
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

SPEC = Spec(
  input_px=299,
  resize_px=333,
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  weights="cadene",
  parameters=22_855_952,
  source="pretrainedmodels 0.7.4 xception.py",
)
VARIANTS = {"xception": Variant(SPEC)}
CHECKPOINTS: dict[str, Rules] = {"cadene": ((r"^last_linear\.", "fc."),)}
ORACLES = {"xception": "pretrainedmodels:xception"}

# Figure 5: channels of the separable convolutions of each block; the first
# three blocks and the last halve the sides.
_BLOCKS = (
  (64, (128, 128), 2),
  (128, (256, 256), 2),
  (256, (728, 728), 2),
  *((728, (728, 728, 728), 1),) * 8,
  (728, (728, 1024), 2),
)


class Separable(nnx.Module):
  """A 3 x 3 convolution per channel, then a 1 x 1 over channels."""

  def __init__(self, inputs: int, outputs: int, *, rngs: nnx.Rngs):
    """Create the convolutions, without biases."""
    conv = functools.partial(layers.conv, bias=False, rngs=rngs)
    self.conv1 = conv(inputs, inputs, 3, padding=1, groups=inputs)
    self.pointwise = conv(inputs, outputs, 1)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H, W, outputs]`."""
    return self.pointwise(self.conv1(x))


class Block(nnx.Module):
  """A block: relu, separable convolution and norm, repeated; a pooling; a shortcut."""

  def __init__(
    self,
    inputs: int,
    widths: tuple[int, ...],
    stride: int,
    *,
    first: bool,
    rngs: nnx.Rngs,
  ):
    """Create the block; `first` leaves out the first relu."""
    norm = functools.partial(layers.BatchNorm, rngs=rngs)
    steps: list[layers.Step] = []
    before = inputs
    for width in widths:
      if not (first and not steps):
        steps.append(layers.relu)
      steps += [Separable(before, width, rngs=rngs), norm(width)]
      before = width
    if stride != 1:
      pool = functools.partial(layers.max_pool, window=3, padding=1)
      steps.append(functools.partial(pool, stride=stride))
    self.rep = layers.Stack(steps)
    self.changes_shape = stride != 1 or before != inputs
    if self.changes_shape:
      self.skip = layers.conv(inputs, before, 1, stride, bias=False, rngs=rngs)
      self.skipbn = norm(before)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, widths[-1]]`."""
    return self.rep(x) + (
      self.skipbn(self.skip(x)) if self.changes_shape else x
    )


class Network(nnx.Module):
  """Entry flow, eight middle blocks, exit flow, a mean, and a linear head."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network, with the public checkpoint's names."""
    conv = functools.partial(layers.conv, bias=False, rngs=rngs)
    norm = functools.partial(layers.BatchNorm, rngs=rngs)
    self.conv1, self.bn1 = conv(3, 32, 3, 2), norm(32)
    self.conv2, self.bn2 = conv(32, 64, 3), norm(64)
    for i, (inputs, widths, stride) in enumerate(_BLOCKS, start=1):
      block = Block(inputs, widths, stride, first=i == 1, rngs=rngs)
      setattr(self, f"block{i}", block)
    self.conv3, self.bn3 = Separable(1024, 1536, rngs=rngs), norm(1536)
    self.conv4, self.bn4 = Separable(1536, 2048, rngs=rngs), norm(2048)
    self.dropout = layers.Dropout(0.5)  # section 4.3.2
    self.fc = layers.linear(2048, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = layers.relu(self.bn1(self.conv1(x)))
    x = layers.relu(self.bn2(self.conv2(x)))
    for i in range(1, len(_BLOCKS) + 1):
      x = getattr(self, f"block{i}")(x)
    x = layers.relu(self.bn3(self.conv3(x)))
    x = layers.relu(self.bn4(self.conv4(x)))
    return self.fc(self.dropout(layers.global_mean(x)))


FAMILY = Family(Network, VARIANTS, CHECKPOINTS, oracles=ORACLES)
