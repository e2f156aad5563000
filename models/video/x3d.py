"""X3D (Feichtenhofer 2020, arXiv:2004.04730): XS, S and M share one network.

They differ in their clips. Attribute names follow pytorchvideo, whose stem
calls its spatial convolution `conv_t` and its temporal one `conv_xy`.
PySlowFast's networks have one more norm, on the first shortcut (which changes
the size and keeps the channels): `x3d_m_pyslowfast` and the like.
"""

import dataclasses

import jax
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Variant
from models.video import bottleneck, volumes
from models.video.spec import VideoSpec

_SPEC = VideoSpec(
  parameters=3_794_274, source="pytorchvideo 0.1.5 model zoo, Kinetics-400"
)


def _variant(
  frames: int,
  rate: int,
  side: tuple[int, int],
  *,
  pyslowfast: bool = False,
) -> Variant:
  spec = dataclasses.replace(
    _SPEC,
    frames=frames,
    rate=rate,
    resize_px=side[0],
    input_px=side[1],
  )
  if pyslowfast:
    spec = dataclasses.replace(
      spec,
      parameters=3_794_322,
      weights="pyslowfast",
      source="facebookresearch/SlowFast, MODEL_ZOO.md, Kinetics-400",
    )
  # The stem and the four stages halve the frame: grids of 5 or 7.
  window = (frames, side[1] // 32, side[1] // 32)
  return Variant(spec, {"window": window, "norms_all": pyslowfast})


_CLIPS = {
  "x3d_xs": (4, 12, (182, 160)),
  "x3d_s": (13, 6, (182, 160)),
  "x3d_m": (16, 5, (256, 224)),
}
VARIANTS = {
  **{name: _variant(*clip) for name, clip in _CLIPS.items()},
  **{
    f"{name}_pyslowfast": _variant(*clip, pyslowfast=True)
    for name, clip in _CLIPS.items()
  },
}
CHECKPOINTS: dict[str, Rules] = {
  # pytorchvideo's names are ours.
  "pyslowfast": (
    (r"^s1\.pathway0_stem\.conv_xy\.", "blocks.0.conv.conv_t."),
    (r"^s1\.pathway0_stem\.conv\.", "blocks.0.conv.conv_xy."),
    (r"^s1\.pathway0_stem\.bn\.", "blocks.0.norm."),
    *(
      (rf"^s{i + 1}\.pathway0_res(\d+)\.", rf"blocks.{i}.res_blocks.\1.")
      for i in range(1, 5)
    ),
    *bottleneck.PYSLOWFAST,
    (r"\.norm_b\.", ".norm_b.0."),
    (r"\.branch2\.se\.fc1\.", ".branch2.norm_b.1.block.0."),
    (r"\.branch2\.se\.fc2\.", ".branch2.norm_b.1.block.2."),
    (r"^head\.conv_5\.", "blocks.5.pool.pre_conv."),
    (r"^head\.conv_5_bn\.", "blocks.5.pool.pre_norm."),
    (r"^head\.lin_5\.", "blocks.5.pool.post_conv."),
    (r"^head\.projection\.", "blocks.5.proj."),
  )
}
_STEM = 24  # channels of the stem: 12 times a width factor of 2
# Channels and blocks of a stage: 1, 2, 5, 3 times a depth factor of 2.2.
_STAGES = ((24, 3), (48, 5), (96, 11), (192, 7))
_FEATURES = 2048  # channels of the head


class SqueezeExcite(nnx.Module):
  """A gate of channels by their means; the hidden layer has a sixteenth of the
  width.
  """

  def __init__(self, channels: int, *, rngs: nnx.Rngs):
    """Create the gate; the hidden width is a multiple of 8, at least 8 and 90 %
    of a sixteenth.
    """
    sixteenth = channels / 16
    hidden = max(8, int(sixteenth + 4) // 8 * 8)
    hidden += 8 if hidden < 0.9 * sixteenth else 0
    self.block = layers.Stack(
      (
        volumes.Conv3d(channels, hidden, 1, bias=True, rngs=rngs),
        layers.relu,
        volumes.Conv3d(hidden, channels, 1, bias=True, rngs=rngs),
        jax.nn.sigmoid,
      )
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, channels]` to the same shape."""
    return x * self.block(x.mean((1, 2, 3), keepdims=True))


class Branch(nnx.Module):
  """A branch of 1 x 1 x 1, a depthwise 3 x 3 x 3, 1 x 1 x 1; SiLU after the second."""

  def __init__(
    self,
    inputs: int,
    inner: int,
    outputs: int,
    stride: int,
    *,
    squeezes: bool,
    rngs: nnx.Rngs,
  ):
    """Create the branch; `stride` is that of space, `squeezes` adds
    squeeze-and-excitation.
    """
    self.conv_a = volumes.Conv3d(inputs, inner, 1, rngs=rngs)
    self.norm_a = layers.BatchNorm(inner, rngs=rngs)
    self.conv_b = volumes.Conv3d(
      inner, inner, 3, (1, stride, stride), 1, groups=inner, rngs=rngs
    )
    norm = layers.BatchNorm(inner, rngs=rngs)
    gate = SqueezeExcite(inner, rngs=rngs) if squeezes else layers.identity
    self.norm_b = layers.Stack((norm, gate))
    self.conv_c = volumes.Conv3d(inner, outputs, 1, rngs=rngs)
    self.norm_c = layers.BatchNorm(outputs, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to the strided output with `outputs` channels."""
    x = layers.relu(self.norm_a(self.conv_a(x)))
    x = jax.nn.silu(self.norm_b(self.conv_b(x)))
    return self.norm_c(self.conv_c(x))


class Block(nnx.Module):
  """A branch around a shortcut."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    stride: int,
    *,
    squeezes: bool,
    norms_all: bool,
    rngs: nnx.Rngs,
  ):
    """Create the block; the branch is 2.25 times as wide as the output, see
    `Network`.
    """
    self.changes_shape = stride != 1 or inputs != outputs
    self.norms = self.changes_shape and (norms_all or inputs != outputs)
    if self.changes_shape:
      self.branch1_conv = volumes.Conv3d(
        inputs, outputs, 1, (1, stride, stride), rngs=rngs
      )
    if self.norms:
      self.branch1_norm = layers.BatchNorm(outputs, rngs=rngs)
    self.branch2 = Branch(
      inputs,
      int(2.25 * outputs),
      outputs,
      stride,
      squeezes=squeezes,
      rngs=rngs,
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to the strided output with `outputs` channels."""
    shortcut = x
    if self.changes_shape:
      shortcut = self.branch1_conv(shortcut)
    if self.norms:
      shortcut = self.branch1_norm(shortcut)
    return layers.relu(shortcut + self.branch2(x))


class Stage(nnx.Module):
  """A stage of `depth` blocks; the first is strided, every other one squeezes."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    depth: int,
    *,
    norms_all: bool,
    rngs: nnx.Rngs,
  ):
    """Create the stage, which halves height and width; see `Network`."""
    self.res_blocks = layers.Stack(
      [
        Block(
          outputs if i else inputs,
          outputs,
          1 if i else 2,
          squeezes=i % 2 == 0,
          norms_all=norms_all,
          rngs=rngs,
        )
        for i in range(depth)
      ]
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to `[B, T, H / 2, W / 2, outputs]`."""
    return self.res_blocks(x)


class StemConv(nnx.Module):
  """The convolutions of the stem: 1 x 3 x 3, then a depthwise 5 x 1 x 1."""

  def __init__(self, *, rngs: nnx.Rngs):
    """Create the convolutions, which halve height and width."""
    self.conv_t = volumes.Conv3d(
      3, _STEM, (1, 3, 3), (1, 2, 2), (0, 1, 1), rngs=rngs
    )
    self.conv_xy = volumes.Conv3d(
      _STEM, _STEM, (5, 1, 1), 1, (2, 0, 0), groups=_STEM, rngs=rngs
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to `[B, T, H / 2, W / 2, 24]`."""
    return self.conv_xy(self.conv_t(x))


class Stem(nnx.Module):
  """The first convolutions with their norm."""

  def __init__(self, *, rngs: nnx.Rngs):
    """Create the stem, which halves height and width."""
    self.conv = StemConv(rngs=rngs)
    self.norm = layers.BatchNorm(_STEM, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to `[B, T, H / 2, W / 2, 24]`."""
    return layers.relu(self.norm(self.conv(x)))


class Pool(nnx.Module):
  """The means of windows between two 1 x 1 x 1 convolutions."""

  def __init__(
    self, inputs: int, window: tuple[int, int, int], *, rngs: nnx.Rngs
  ):
    """Create the pooling; `window` is the last grid's size for the published clips."""
    inner = int(2.25 * inputs)
    self.pre_conv = volumes.Conv3d(inputs, inner, 1, rngs=rngs)
    self.pre_norm = layers.BatchNorm(inner, rngs=rngs)
    self.post_conv = volumes.Conv3d(inner, _FEATURES, 1, rngs=rngs)
    self.window = window

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to `[B, T', H', W', 2048]`."""
    x = layers.relu(self.pre_norm(self.pre_conv(x)))
    return layers.relu(self.post_conv(volumes.window_mean(x, self.window)))


class Head(nnx.Module):
  """Pooled features and a linear layer."""

  def __init__(
    self,
    inputs: int,
    window: tuple[int, int, int],
    num_classes: int,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the head; `window` as in `Pool`."""
    self.pool = Pool(inputs, window, rngs=rngs)
    self.dropout = layers.Dropout(bottleneck.DROPOUT)
    self.proj = layers.linear(_FEATURES, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to logits `[B, num_classes]`."""
    return self.proj(volumes.mean(self.dropout(self.pool(x))))


class Network(nnx.Module):
  """A stem, four stages, and a head."""

  def __init__(
    self,
    *,
    window: tuple[int, int, int],
    norms_all: bool,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the stages.

    Args:
      window: as in `Pool`.
      norms_all: whether shortcuts that only change the size are normalised.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    steps: list[nnx.Module] = [Stem(rngs=rngs)]
    inputs = _STEM
    for outputs, depth in _STAGES:
      steps.append(
        Stage(inputs, outputs, depth, norms_all=norms_all, rngs=rngs)
      )
      inputs = outputs
    steps.append(Head(inputs, window, num_classes, rngs=rngs))
    self.blocks = layers.Stack(steps)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to logits `[B, num_classes]`."""
    return self.blocks(x)


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  ignored=bottleneck.TRAINING,
  alike=(("pytorchvideo", "pyslowfast"),),
  stages=bottleneck.STAGES,
)
