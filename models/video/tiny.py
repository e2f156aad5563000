"""A small 3-D network for clips of moving digits, trained in about a minute."""

import jax
from flax import nnx

from models import layers
from models.family import Family
from models.spec import Variant
from models.video import volumes
from models.video.spec import VideoSpec

SPEC = VideoSpec(
  input_px=32,
  resize="squash",
  resize_px=32,
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  label_space="digits",
  num_classes=10,
  weights="robust_tfds",
  parameters=135_402,
  frames=8,
  rate=2,
  source="trained here (configs/quickstart_video.py)",
)
VARIANTS = {"tiny_r3d": Variant(SPEC)}
_EPSILON = 1e-6  # epsilon of the layer norms


class Block(nnx.Module):
  """A block: space, then time, around a shortcut; norms over channels.

  It has channel norms instead of batch norms: training needs no statistics, and
  batches may have any size.
  """

  def __init__(self, inputs: int, outputs: int, *, rngs: nnx.Rngs):
    """Create the block, which halves height and width."""
    self.space = volumes.Conv3d(
      inputs, outputs, (1, 3, 3), (1, 2, 2), (0, 1, 1), rngs=rngs
    )
    self.time = volumes.Conv3d(
      outputs, outputs, (3, 1, 1), 1, (1, 0, 0), rngs=rngs
    )
    self.shortcut = volumes.Conv3d(inputs, outputs, 1, (1, 2, 2), rngs=rngs)
    self.norm1 = layers.LayerNorm(outputs, _EPSILON, rngs=rngs)
    self.norm2 = layers.LayerNorm(outputs, _EPSILON, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to `[B, T, H / 2, W / 2, outputs]`."""
    y = layers.relu(self.norm1(self.space(x)))
    return layers.relu(self.norm2(self.time(y)) + self.shortcut(x))


class Network(nnx.Module):
  """A strided stem, three blocks of 32, 64 and 96 channels, and a linear head."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network, for any number of frames and any size from 16 pixels up."""
    self.stem = volumes.Conv3d(
      3, 16, (3, 5, 5), (1, 2, 2), (1, 2, 2), bias=True, rngs=rngs
    )
    self.block1 = Block(16, 32, rngs=rngs)
    self.block2 = Block(32, 64, rngs=rngs)
    self.block3 = Block(64, 96, rngs=rngs)
    self.head = layers.linear(96, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to logits `[B, num_classes]`."""
    x = layers.relu(self.stem(x))
    x = self.block3(self.block2(self.block1(x)))
    return self.head(volumes.mean(x))


FAMILY = Family(
  Network,
  VARIANTS,
  stages=("stem", r"block(\d)"),
)
