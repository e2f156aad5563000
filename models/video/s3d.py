"""S3D (Xie et al. 2018, arXiv:1712.04851): Inception with separable time.

torchvision's network; attribute names are its names.
"""

from __future__ import annotations

import functools

import jax
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Variant
from models.video import volumes
from models.video.spec import VideoSpec

VARIANTS = {
  "s3d": Variant(
    VideoSpec(
      resize="squash",
      # torchvision 0.28 transforms/_presets.py, VideoClassification.
      mean=(0.43216, 0.394666, 0.37645),
      std=(0.22803, 0.22145, 0.216989),
      weights="torchvision",
      # 128 frames of a video resampled to 15 fps (the weights' description).
      frames=128,
      rate=2,
      parameters=8_320_048,
      source="torchvision 0.28 models/video/s3d.py, KINETICS400_V1",
    )
  )
}
CHECKPOINTS: dict[str, Rules] = {"torchvision": ()}
_EPSILON = _MOMENTUM = 1e-3  # of every batch norm, torchvision's
# Channels of each mixed block: 1 x 1 x 1; before and after 3 x 3 x 3, twice;
# after pooling.
_MIXED = (
  ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
  (
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
  ),
  ((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
)
_POOLS = ((3, 1), (2, 0))  # window and padding before the later groups
_WINDOW = (2, 7, 7)  # averaged by the head: the published clips' last grid


def _conv(
  inputs: int,
  outputs: int,
  kernel: tuple[int, int, int] = (1, 1, 1),
  stride: volumes.Triple = 1,
  *,
  rngs: nnx.Rngs,
) -> layers.Stack:
  """Build a convolution that keeps the size except for its stride, a norm and ReLU."""
  time, high, wide = kernel
  around = (time // 2, high // 2, wide // 2)
  return layers.Stack(
    (
      volumes.Conv3d(inputs, outputs, kernel, stride, around, rngs=rngs),
      layers.BatchNorm(outputs, _EPSILON, momentum=_MOMENTUM, rngs=rngs),
      layers.relu,
    )
  )


def _separable(
  inputs: int, outputs: int, size: int, stride: int, *, rngs: nnx.Rngs
) -> layers.Stack:
  """Build a convolution over space, then one over time."""
  conv = functools.partial(_conv, rngs=rngs)
  return layers.Stack(
    (
      conv(inputs, outputs, (1, size, size), (1, stride, stride)),
      conv(outputs, outputs, (size, 1, 1), (stride, 1, 1)),
    )
  )


def _pool(window: int, stride: int, padding: int) -> layers.Step:
  """Build a maximum pooling over space and time."""
  return functools.partial(
    volumes.max_pool, window=window, stride=stride, padding=padding
  )


def _mixed(
  inputs: int, sizes: tuple[int, ...], rngs: nnx.Rngs
) -> layers.Parallel:
  """Build four branches; `sizes` as in `_MIXED`."""
  conv = functools.partial(_conv, inputs, rngs=rngs)
  one, before, after, few, some, pooled = sizes
  return layers.Parallel(
    {
      "branch0": conv(one),
      "branch1": layers.Stack(
        (conv(before), _separable(before, after, 3, 1, rngs=rngs))
      ),
      "branch2": layers.Stack(
        (conv(few), _separable(few, some, 3, 1, rngs=rngs))
      ),
      "branch3": layers.Stack((_pool(3, 1, 1), conv(pooled))),
    }
  )


class Network(nnx.Module):
  """A stem, nine mixed blocks, a mean, and a linear head."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network, for any number of frames and any size from 14 x 32 x
    32 up.
    """
    spaces = functools.partial(
      volumes.max_pool, window=(1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1)
    )
    steps: list[layers.Step] = [
      _separable(3, 64, 7, 2, rngs=rngs),
      spaces,
      _conv(64, 64, rngs=rngs),
      _separable(64, 192, 3, 1, rngs=rngs),
      spaces,
    ]
    channels = 192
    for group, blocks in enumerate(_MIXED):
      if group:
        window, padding = _POOLS[group - 1]
        steps.append(_pool(window, 2, padding))
      for sizes in blocks:
        steps.append(_mixed(channels, sizes, rngs))
        channels = sizes[0] + sizes[2] + sizes[4] + sizes[5]
    self.features = layers.Stack(steps)
    head = volumes.Conv3d(channels, num_classes, 1, bias=True, rngs=rngs)
    self.classifier = layers.Stack((layers.Dropout(0.2), head))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to logits `[B, num_classes]`."""
    x = volumes.window_mean(self.features(x), _WINDOW)
    return volumes.mean(self.classifier(x))


FAMILY = Family(Network, VARIANTS, CHECKPOINTS)
