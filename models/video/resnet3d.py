"""R3D-18, MC3-18 and R(2+1)D-18 (Tran et al. 2018, arXiv:1711.11248).

torchvision's networks; attribute names are its names.
"""

import dataclasses
from collections.abc import Callable

import jax
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Variant
from models.video import volumes
from models.video.spec import VideoSpec

_SPEC = VideoSpec(
  input_px=112,
  # 128 x 171 pixels, which keep the aspect ratio of 4:3 videos alone.
  resize_px=128,
  # torchvision 0.28 models/video/resnet.py, transforms of KINETICS400_V1.
  mean=(0.43216, 0.394666, 0.37645),
  std=(0.22803, 0.22145, 0.216989),
  weights="torchvision",
  # 16 frames of a video resampled to 15 fps (references/video_classification).
  frames=16,
  rate=2,
  source="torchvision 0.28 models/video/resnet.py, KINETICS400_V1",
)


def _variant(kinds: tuple[str, ...], parameters: int) -> Variant:
  spec = dataclasses.replace(_SPEC, parameters=parameters)
  return Variant(spec, {"kinds": kinds})


# Kinds of the convolutions of the four stages.
VARIANTS = {
  "r3d_18": _variant(("full",) * 4, 33_371_472),
  "mc3_18": _variant(("full",) + ("space",) * 3, 11_695_440),
  "r2plus1d_18": _variant(("split",) * 4, 31_505_325),
}
CHECKPOINTS: dict[str, Rules] = {"torchvision": ()}


def _space(
  inputs: int, outputs: int, middle: int, stride: int, rngs: nnx.Rngs
) -> nnx.Module:
  del middle
  return volumes.Conv3d(
    inputs, outputs, (1, 3, 3), (1, stride, stride), (0, 1, 1), rngs=rngs
  )


def _full(
  inputs: int, outputs: int, middle: int, stride: int, rngs: nnx.Rngs
) -> nnx.Module:
  del middle
  return volumes.Conv3d(inputs, outputs, 3, stride, 1, rngs=rngs)


def _split(
  inputs: int, outputs: int, middle: int, stride: int, rngs: nnx.Rngs
) -> nnx.Module:
  """Build a convolution over space to `middle` channels, then one over time."""
  return layers.Stack(
    (
      _space(inputs, middle, 0, stride, rngs),
      layers.BatchNorm(middle, rngs=rngs),
      layers.relu,
      volumes.Conv3d(
        middle, outputs, (3, 1, 1), (stride, 1, 1), (1, 0, 0), rngs=rngs
      ),
    )
  )


_KINDS: dict[str, Callable[..., nnx.Module]] = {
  "space": _space,
  "full": _full,
  "split": _split,
}


class Block(nnx.Module):
  """A block of two 3 x 3 x 3 convolutions of a kind around a shortcut."""

  def __init__(
    self, inputs: int, outputs: int, stride: int, kind: str, *, rngs: nnx.Rngs
  ):
    """Create the module; `kind` is `full`, `split` (2+1) or `space` (without time)."""
    # Split convolutions have as many parameters as full ones (section 3.5 of
    # the paper).
    middle = inputs * outputs * 27 // (inputs * 9 + 3 * outputs)
    conv = _KINDS[kind]
    self.conv1 = layers.Stack(
      (
        conv(inputs, outputs, middle, stride, rngs),
        layers.BatchNorm(outputs, rngs=rngs),
        layers.relu,
      )
    )
    self.conv2 = layers.Stack(
      (
        conv(outputs, outputs, middle, 1, rngs),
        layers.BatchNorm(outputs, rngs=rngs),
      )
    )
    self.changes_shape = stride != 1 or inputs != outputs
    if self.changes_shape:
      steps = (1 if kind == "space" else stride, stride, stride)
      self.downsample = layers.Stack(
        (
          volumes.Conv3d(inputs, outputs, 1, steps, rngs=rngs),
          layers.BatchNorm(outputs, rngs=rngs),
        )
      )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to the strided output with `outputs` channels."""
    shortcut = self.downsample(x) if self.changes_shape else x
    return layers.relu(self.conv2(self.conv1(x)) + shortcut)


class Network(nnx.Module):
  """A stem, four stages of two blocks, a mean, and a linear head."""

  layer1: layers.Stack
  layer2: layers.Stack
  layer3: layers.Stack
  layer4: layers.Stack

  def __init__(
    self, *, kinds: tuple[str, ...], num_classes: int, rngs: nnx.Rngs
  ):
    """Create the network; `kinds` are those of the four stages, and a split
    network has a split stem.
    """
    self.stem = layers.Stack(_stem(kinds[0] == "split", rngs))
    inputs = 64
    for stage, kind in enumerate(kinds):
      outputs = 64 << stage
      blocks = (
        Block(inputs, outputs, 2 if stage else 1, kind, rngs=rngs),
        Block(outputs, outputs, 1, kind, rngs=rngs),
      )
      setattr(self, f"layer{stage + 1}", layers.Stack(blocks))
      inputs = outputs
    self.fc = layers.linear(inputs, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to logits `[B, num_classes]`."""
    x = self.stem(x)
    for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
      x = stage(x)
    return self.fc(volumes.mean(x))


def _stem(split: bool, rngs: nnx.Rngs) -> tuple:
  if not split:
    conv = volumes.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), rngs=rngs)
    return (conv, layers.BatchNorm(64, rngs=rngs), layers.relu)
  # 45 channels: torchvision's R2Plus1dStem.
  return (
    volumes.Conv3d(3, 45, (1, 7, 7), (1, 2, 2), (0, 3, 3), rngs=rngs),
    layers.BatchNorm(45, rngs=rngs),
    layers.relu,
    volumes.Conv3d(45, 64, (3, 1, 1), 1, (1, 0, 0), rngs=rngs),
    layers.BatchNorm(64, rngs=rngs),
    layers.relu,
  )


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  stages=("stem", r"layer(\d)"),
)
