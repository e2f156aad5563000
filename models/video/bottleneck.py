"""Bottleneck stages of the 3-D ResNets, named as in pytorchvideo."""

from collections.abc import Sequence

import jax
from flax import nnx

from models import layers
from models.video import volumes

# PySlowFast's names of a stage's parts, in pytorchvideo's words.
PYSLOWFAST = (
  (r"\.branch1\.", ".branch1_conv."),
  (r"\.branch1_bn\.", ".branch1_norm."),
  (r"\.branch2\.([abc])\.", r".branch2.conv_\1."),
  (r"\.branch2\.([abc])_bn\.", r".branch2.norm_\1."),
)

# The stem is place 0; a head has neither of these names.
STAGES = (r"blocks/(\d)/(?:conv|norm|res_blocks|multipathway_\w+)",)
# Rate before the head, in pytorchvideo and PySlowFast (for X3D and MViT too).
DROPOUT = 0.5
# Left over from PySlowFast's training: its split batch norms hold copies of
# statistics for parts of a batch.
TRAINING = (r"\.split_bn\.",)


class Split(nnx.Module):
  """A (2+1)-D convolution: time, norm, ReLU, space (pytorchvideo's order)."""

  def __init__(
    self, channels: int, strides: tuple[int, int], *, rngs: nnx.Rngs
  ):
    """Create the convolution; `strides` are those of time and space."""
    time, space = strides
    self.conv_t = volumes.Conv3d(
      channels, channels, (3, 1, 1), (time, 1, 1), (1, 0, 0), rngs=rngs
    )
    self.norm = layers.BatchNorm(channels, rngs=rngs)
    self.conv_xy = volumes.Conv3d(
      channels, channels, (1, 3, 3), (1, space, space), (0, 1, 1), rngs=rngs
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, channels]` to the strided output."""
    return self.conv_xy(layers.relu(self.norm(self.conv_t(x))))


class Branch(nnx.Module):
  """A branch of `a_frames` x 1 x 1, then 1 x 3 x 3 (or 2+1), then 1 x 1 x 1
  convolutions.
  """

  def __init__(
    self,
    inputs: int,
    inner: int,
    outputs: int,
    strides: tuple[int, int],
    a_frames: int,
    *,
    split: bool,
    rngs: nnx.Rngs,
  ):
    """Create the branch; the second convolution has the strides of time and space."""
    time, space = strides
    self.conv_a = volumes.Conv3d(
      inputs, inner, (a_frames, 1, 1), 1, (a_frames // 2, 0, 0), rngs=rngs
    )
    self.norm_a = layers.BatchNorm(inner, rngs=rngs)
    self.conv_b = (
      Split(inner, strides, rngs=rngs)
      if split
      else volumes.Conv3d(
        inner, inner, (1, 3, 3), (time, space, space), (0, 1, 1), rngs=rngs
      )
    )
    self.norm_b = layers.BatchNorm(inner, rngs=rngs)
    self.conv_c = volumes.Conv3d(inner, outputs, 1, rngs=rngs)
    self.norm_c = layers.BatchNorm(outputs, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to the strided output with `outputs` channels."""
    x = layers.relu(self.norm_a(self.conv_a(x)))
    x = layers.relu(self.norm_b(self.conv_b(x)))
    return self.norm_c(self.conv_c(x))


class Block(nnx.Module):
  """A branch around a shortcut."""

  def __init__(
    self,
    inputs: int,
    inner: int,
    outputs: int,
    strides: tuple[int, int],
    a_frames: int,
    *,
    split: bool,
    rngs: nnx.Rngs,
  ):
    """Create the block; the arguments are those of `Branch`."""
    self.changes_shape = strides != (1, 1) or inputs != outputs
    if self.changes_shape:
      time, space = strides
      self.branch1_conv = volumes.Conv3d(
        inputs, outputs, 1, (time, space, space), rngs=rngs
      )
      self.branch1_norm = layers.BatchNorm(outputs, rngs=rngs)
    self.branch2 = Branch(
      inputs, inner, outputs, strides, a_frames, split=split, rngs=rngs
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to the strided output with `outputs` channels."""
    shortcut = (
      self.branch1_norm(self.branch1_conv(x)) if self.changes_shape else x
    )
    return layers.relu(shortcut + self.branch2(x))


class Stage(nnx.Module):
  """A stage of `depth` blocks, of which the first is strided."""

  def __init__(
    self,
    inputs: int,
    inner: int,
    outputs: int,
    depth: int,
    strides: tuple[int, int],
    a_frames: Sequence[int],
    *,
    split: bool = False,
    rngs: nnx.Rngs,
  ):
    """Build the blocks.

    Args:
      inputs: input channels.
      inner: channels between the branch's convolutions.
      outputs: output channels.
      depth: number of blocks.
      strides: strides of time and space.
      a_frames: length of the first convolution's kernel, taken in turns.
      split: whether the 3 x 3 convolutions are (2+1)-D.
      rngs: for the initial weights.
    """
    blocks = []
    for i in range(depth):
      blocks.append(
        Block(
          outputs if i else inputs,
          inner,
          outputs,
          (1, 1) if i else strides,
          a_frames[i % len(a_frames)],
          split=split,
          rngs=rngs,
        )
      )
    self.res_blocks = layers.Stack(blocks)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to the strided output with `outputs` channels."""
    return self.res_blocks(x)


class Stem(nnx.Module):
  """A stem: a strided `frames` x 7 x 7 convolution, then a 3 x 3 pooling of space."""

  def __init__(
    self, outputs: int, frames: int, *, pool: bool = True, rngs: nnx.Rngs
  ):
    """Create the module; `frames` is the length of the kernel."""
    self.conv = volumes.Conv3d(
      3, outputs, (frames, 7, 7), (1, 2, 2), (frames // 2, 3, 3), rngs=rngs
    )
    self.norm = layers.BatchNorm(outputs, rngs=rngs)
    self.pool = pool

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to `[B, T, H / 4, W / 4, outputs]` (or half)."""
    x = layers.relu(self.norm(self.conv(x)))
    if not self.pool:
      return x
    return volumes.max_pool(x, (1, 3, 3), (1, 2, 2), (0, 1, 1))


class Head(nnx.Module):
  """A head: means of windows, a linear layer, the mean of its outputs."""

  def __init__(
    self,
    inputs: int,
    window: tuple[int, int, int] | None,
    num_classes: int,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the head; `window` is the last grid's size for the published
    clips, if pooled.
    """
    self.dropout = layers.Dropout(DROPOUT)
    self.proj = layers.linear(inputs, num_classes, rngs=rngs)
    self.window = window

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to logits `[B, num_classes]`."""
    if self.window:
      x = volumes.window_mean(x, self.window)
    # The mean of linear outputs is the output of the mean.
    return self.proj(volumes.mean(self.dropout(x)))
