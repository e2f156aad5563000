"""Big Transfer: ResNet V2 without batch norms (Kolesnikov et al. 2020).

arXiv:1912.11370. Convolutions use standardised weights and are normalised in
groups of channels. timm's names (`resnetv2_50x1_bit`), and Google's files
(`BiT-M-R50x1.npz`), whose heads have the classes of their training.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

# timm 1.0.31 resnetv2.py: goog_in21k_ft_in1k, crop_pct 1.
_SPEC = Spec(
  input_px=448,
  resize_px=448,
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  weights="timm",
  source="timm 1.0.31 resnetv2.py (goog_in21k_ft_in1k)",
)
# Beyer et al. 2022, arXiv:2106.05237: goog_distilled_in1k, crop_pct 0.875.
_DISTILLED = dataclasses.replace(
  _SPEC,
  input_px=224,
  resize_px=256,
  interpolation="bicubic",
  source="timm 1.0.31 resnetv2.py (goog_distilled_in1k)",
)
_DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def _variant(
  depth: int, factor: int, parameters: int, spec: Spec = _SPEC
) -> Variant:
  spec = dataclasses.replace(spec, parameters=parameters)
  return Variant(spec, {"depths": _DEPTHS[depth], "factor": factor})


_TEACHER = dataclasses.replace(
  _DISTILLED, source="timm 1.0.31 resnetv2.py (goog_teacher_in21k_ft_in1k)"
)
_LARGE = dataclasses.replace(_SPEC, input_px=480, resize_px=480)
VARIANTS = {
  "resnetv2_50x1_bit": _variant(50, 1, 25_549_352, _DISTILLED),
  "resnetv2_50x1_bit_448": _variant(50, 1, 25_549_352),
  "resnetv2_50x3_bit": _variant(50, 3, 217_319_080),
  "resnetv2_101x1_bit": _variant(101, 1, 44_541_480),
  "resnetv2_101x3_bit": _variant(101, 3, 387_934_888),
  "resnetv2_152x2_bit": _variant(152, 2, 236_335_208, _TEACHER),
  "resnetv2_152x2_bit_448": _variant(152, 2, 236_335_208),
  "resnetv2_152x4_bit": _variant(152, 4, 936_533_224, _LARGE),
}
# google-research/big_transfer counts blocks and units from 1.
_GOOGLE: Rules = (
  (r"/(?:kernel|gamma)$", ".weight"),
  (r"/beta$", ".bias"),
  (r"/", "."),
  (r"^resnet\.", ""),
  (r"^root_block\.standardized_conv2d\.", "stem.conv."),
  (r"^group_norm\.", "norm."),
  (r"^head\.conv2d\.", "head.fc."),
  *((rf"^block{i + 1}\.", f"stages.{i}.blocks.") for i in range(4)),
  *((rf"\.unit{i + 1:02d}\.", f".{i}.") for i in range(36)),
  (r"\.a\.proj\.standardized_conv2d\.", ".downsample.conv."),
  *(
    (rf"\.{unit}\.{theirs}\.", f".{ours}{i + 1}.")
    for i, unit in enumerate("abc")
    for theirs, ours in (
      ("group_norm", "norm"),
      ("standardized_conv2d", "conv"),
    )
  ),
)
CHECKPOINTS: dict[str, Rules] = {"timm": (), "google": _GOOGLE}
ORACLES = {name: f"timm:{name.removesuffix('_448')}" for name in VARIANTS}
_GROUPS = 32  # channel groups of a norm
_NORM_EPSILON = 1e-5
_WEIGHT_EPSILON = 1e-8  # added to the variance of weights, as timm does


class Conv(nnx.Module):
  """A convolution without bias; each output's weights are standardised."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    size: int,
    stride: int = 1,
    padding: int = 0,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the convolution like `layers.conv`; `size` is the kernel's side."""
    draw = jax.nn.initializers.he_normal()
    shape = (size, size, inputs, outputs)
    self.kernel = nnx.Param(draw(rngs.params(), shape))
    self.stride, self.padding = stride, padding

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H', W', outputs]`."""
    kernel = self.kernel[...]
    centred = kernel - kernel.mean((0, 1, 2))
    variance = jnp.square(centred).mean((0, 1, 2))
    kernel = centred * jax.lax.rsqrt(variance + _WEIGHT_EPSILON)
    return jax.lax.conv_general_dilated(
      x,
      kernel.astype(x.dtype),
      (self.stride, self.stride),
      [(self.padding, self.padding)] * 2,
      dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )


class Norm(nnx.Module):
  """A group norm (arXiv:1803.08494) in float32, followed by a relu."""

  def __init__(self, channels: int):
    """Create the norm for `channels` channels."""
    self.scale = nnx.Param(jnp.ones(channels))
    self.bias = nnx.Param(jnp.zeros(channels))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, channels]` to the same shape."""
    wide = x.astype(jnp.float32).reshape(*x.shape[:3], _GROUPS, -1)
    centred = wide - wide.mean((1, 2, 4), keepdims=True)
    variance = jnp.square(centred).mean((1, 2, 4), keepdims=True)
    normal = centred * jax.lax.rsqrt(variance + _NORM_EPSILON)
    normal = normal.reshape(x.shape) * self.scale[...] + self.bias[...]
    return layers.relu(normal).astype(x.dtype)


class Shortcut(nnx.Module):
  """A 1 x 1 convolution, under timm's name."""

  def __init__(self, inputs: int, outputs: int, stride: int, rngs: nnx.Rngs):
    """Create the shortcut like `Conv`."""
    self.conv = Conv(inputs, outputs, 1, stride, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    return self.conv(x)


class Block(nnx.Module):
  """A block of 1 x 1, 3 x 3, 1 x 1, each after its norm; the shortcut follows
  the first norm.
  """

  def __init__(self, inputs: int, outputs: int, stride: int, rngs: nnx.Rngs):
    """Create the block; its first two convolutions have a fourth of `outputs`
    channels.
    """
    inner = outputs // 4
    self.norm1 = Norm(inputs)
    self.conv1 = Conv(inputs, inner, 1, rngs=rngs)
    self.norm2 = Norm(inner)
    self.conv2 = Conv(inner, inner, 3, stride, 1, rngs=rngs)
    self.norm3 = Norm(inner)
    self.conv3 = Conv(inner, outputs, 1, rngs=rngs)
    self.changes_shape = stride != 1 or inputs != outputs
    if self.changes_shape:
      self.downsample = Shortcut(inputs, outputs, stride, rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    normal = self.norm1(x)
    y = self.conv2(self.norm2(self.conv1(normal)))
    y = self.conv3(self.norm3(y))
    return y + (self.downsample(normal) if self.changes_shape else x)


class Stem(nnx.Module):
  """A stem: a 7 x 7 convolution and a pooling with zero padding."""

  def __init__(self, outputs: int, rngs: nnx.Rngs):
    """Create the stem with `outputs` channels."""
    self.conv = Conv(3, outputs, 7, 2, 3, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to `[B, H / 4, W / 4, outputs]`."""
    x = jnp.pad(self.conv(x), ((0, 0), (1, 1), (1, 1), (0, 0)))
    return layers.max_pool(x, 3, 2)


class Stage(nnx.Module):
  """A stage of blocks, of which the first may halve the sides."""

  def __init__(
    self, inputs: int, outputs: int, depth: int, stride: int, rngs: nnx.Rngs
  ):
    """Create the stage with `depth` blocks."""
    self.blocks = layers.Stack(
      [
        Block(outputs if i else inputs, outputs, 1 if i else stride, rngs)
        for i in range(depth)
      ]
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    return self.blocks(x)


class Head(nnx.Module):
  """A linear layer on the mean, under timm's name."""

  def __init__(self, width: int, num_classes: int, rngs: nnx.Rngs):
    """Create the head for `width` channels."""
    self.fc = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, width]` to logits `[B, num_classes]`."""
    return self.fc(layers.global_mean(x))


class Network(nnx.Module):
  """A stem, four stages of blocks, a norm, and a head."""

  def __init__(
    self,
    *,
    depths: tuple[int, ...],
    factor: int,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `depths` are blocks per stage, and `factor` scales
    all widths.
    """
    stage = functools.partial(Stage, rngs=rngs)
    inputs, stages = 64 * factor, []
    self.stem = Stem(inputs, rngs)
    for i, depth in enumerate(depths):
      outputs = (256 << i) * factor
      stages.append(stage(inputs, outputs, depth, 2 if i else 1))
      inputs = outputs
    self.stages = layers.Stack(stages)
    self.norm = Norm(inputs)
    self.head = Head(inputs, num_classes, rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    return self.head(self.norm(self.stages(self.stem(x))))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  flax_styles=("google",),
  oracles=ORACLES,
  stages=("stem", r"stages/(\d)"),
)
