"""ConvNeXt tiny, small, base, large (Liu et al. 2022, arXiv:2201.03545)."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from flax import nnx

from robust_tfds.models import layers
from robust_tfds.models.family import Family
from robust_tfds.models.family import Rules
from robust_tfds.models.spec import Spec
from robust_tfds.models.spec import Variant


def _variant(
  parameters: int,
  resize_px: int,
  depths: tuple[int, ...],
  widths: tuple[int, ...],
) -> Variant:
  spec = Spec(
    resize_px=resize_px,
    parameters=parameters,
    source="torchvision 0.28 convnext.py, IMAGENET1K_V1",
  )
  return Variant(spec, {"depths": depths, "widths": widths})


_DEEP = (3, 3, 27, 3)
VARIANTS = {
  "convnext_tiny": _variant(28_589_128, 236, (3, 3, 9, 3), (96, 192, 384, 768)),
  "convnext_small": _variant(50_223_688, 230, _DEEP, (96, 192, 384, 768)),
  "convnext_base": _variant(88_591_464, 232, _DEEP, (128, 256, 512, 1024)),
  "convnext_large": _variant(197_767_336, 232, _DEEP, (192, 384, 768, 1536)),
}


def _torchvision_names() -> Rules:
  rules = [(r"^features\.0\.(\d)\.", r"stem.\1.")]
  for stage in range(4):
    odd, even = 2 * stage + 1, 2 * stage
    rules.append((rf"^features\.{odd}\.(\d+)\.", rf"stages.{stage}.blocks.\1."))
    if stage:
      rules.append(
        (
          rf"^features\.{even}\.(\d)\.",
          rf"stages.{stage}.downsample.\1.",
        )
      )
  return (
    *rules,
    (r"\.block\.0\.", ".conv_dw."),
    (r"\.block\.2\.", ".norm."),
    (r"\.block\.3\.", ".mlp.fc1."),
    (r"\.block\.5\.", ".mlp.fc2."),
    (r"\.layer_scale$", ".gamma"),
    (r"^classifier\.0\.", "head.norm."),
    (r"^classifier\.2\.", "head.fc."),
  )


CHECKPOINTS: dict[str, Rules] = {
  "torchvision": _torchvision_names(),
  "timm": (),
  # The authors' own files (facebookresearch/ConvNeXt).
  "facebook": (
    (r"^downsample_layers\.0\.", "stem."),
    (r"^downsample_layers\.(\d)\.", r"stages.\1.downsample."),
    (r"^stages\.(\d)\.(\d+)\.", r"stages.\1.blocks.\2."),
    (r"\.dwconv\.", ".conv_dw."),
    (r"\.pwconv(\d)\.", r".mlp.fc\1."),
    (r"^norm\.", "head.norm."),
    (r"^head\.(weight|bias)$", r"head.fc.\1"),
  ),
}
ORACLES = {name: f"torchvision:{name}" for name in VARIANTS}
_EPSILON = 1e-6  # of every layer norm


class Block(nnx.Module):
  """A 7 x 7 depthwise convolution, a norm, an MLP, scaled and added."""

  def __init__(self, width: int, *, rngs: nnx.Rngs):
    """`width` in and out."""
    self.conv_dw = layers.conv(
      width, width, 7, padding=3, groups=width, rngs=rngs
    )
    self.norm = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.mlp = layers.Mlp(width, 4 * width, width, rngs=rngs)
    self.gamma = nnx.Param(jnp.full((width,), 1e-6))  # appendix A.1

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, width]` -> the same."""
    y = self.mlp(self.norm(self.conv_dw(x)))
    return x + y * self.gamma[...].astype(x.dtype)


class Stage(nnx.Module):
  """Halves the sides (but for the first stage), then blocks."""

  def __init__(self, inputs: int, width: int, depth: int, *, rngs: nnx.Rngs):
    """`inputs` equal to `width` means no halving."""
    self.halves = inputs != width
    if self.halves:
      self.downsample = layers.Stack(
        (
          layers.LayerNorm(inputs, _EPSILON, rngs=rngs),
          layers.conv(inputs, width, 2, 2, rngs=rngs),
        )
      )
    self.blocks = layers.Stack([Block(width, rngs=rngs) for _ in range(depth)])

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, inputs]` -> `[B, H / 2, W / 2, width]`."""
    return self.blocks(self.downsample(x) if self.halves else x)


class Head(nnx.Module):
  """A mean, a norm, a linear layer."""

  def __init__(self, width: int, num_classes: int, *, rngs: nnx.Rngs):
    """`width` is the last stage's."""
    self.norm = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.fc = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, width]` -> logits `[B, num_classes]`."""
    return self.fc(self.norm(layers.global_mean(x)))


class Network(nnx.Module):
  """A 4 x 4 patch stem, four stages, a head."""

  def __init__(
    self,
    *,
    depths: tuple[int, ...],
    widths: tuple[int, ...],
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """`depths` are blocks and `widths` channels per stage."""
    conv = functools.partial(layers.conv, rngs=rngs)
    norm = layers.LayerNorm(widths[0], _EPSILON, rngs=rngs)
    self.stem = layers.Stack((conv(3, widths[0], 4, 4), norm))
    inputs = (widths[0], *widths)
    self.stages = layers.Stack(
      [
        Stage(before, width, depth, rngs=rngs)
        for before, width, depth in zip(inputs, widths, depths, strict=False)
      ]
    )
    self.head = Head(widths[-1], num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, 3]` -> logits `[B, num_classes]`."""
    return self.head(self.stages(self.stem(x)))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  oracles=ORACLES,
  paper="Liu et al. 2022, A ConvNet for the 2020s, arXiv:2201.03545",
)
