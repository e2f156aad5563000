"""ConvNeXt (Liu et al. 2022, arXiv:2201.03545) and V2 (Woo et al. 2023).

V2 (arXiv:2301.00808) has a global response norm in its MLPs in place of layer
scale.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.layers import train_mode
from models.spec import Spec, Variant


def _variant(
  parameters: int,
  resize_px: int,
  depths: tuple[int, ...],
  width: int,
  drop_path: float,
) -> Variant:
  """Return a variant of V1, in which each stage is twice as wide as the last."""
  spec = Spec(
    resize_px=resize_px,
    parameters=parameters,
    source="torchvision 0.28 convnext.py, IMAGENET1K_V1",
  )
  widths = tuple(width << stage for stage in range(4))
  options = {"depths": depths, "widths": widths, "drop_path": drop_path}
  return Variant(spec, options)


def _second(
  parameters: int, depths: tuple[int, ...], width: int, input_px: int = 224
) -> Variant:
  """Return a variant of V2, in which each stage is twice as wide as the last."""
  spec = Spec(
    input_px=input_px,
    resize_px=int(input_px / 0.875),
    interpolation="bicubic",
    weights="timm",
    parameters=parameters,
    source="timm 1.0.31 convnext.py (fcmae_ft_in1k)",
  )
  widths = tuple(width << stage for stage in range(4))
  # The authors' TRAINING.md: 0.2 for tiny, 0.1 for the other two that it names.
  rate = 0.2 if width == 96 else 0.1
  options = {"depths": depths, "widths": widths, "drop_path": rate}
  return Variant(spec, {**options, "second": True})


_DEEP = (3, 3, 27, 3)
VARIANTS = {
  "convnext_tiny": _variant(28_589_128, 236, (3, 3, 9, 3), 96, 0.1),
  "convnext_small": _variant(50_223_688, 230, _DEEP, 96, 0.4),
  "convnext_base": _variant(88_591_464, 232, _DEEP, 128, 0.5),
  "convnext_large": _variant(197_767_336, 232, _DEEP, 192, 0.5),
  "convnextv2_atto": _second(3_708_400, (2, 2, 6, 2), 40),
  "convnextv2_femto": _second(5_233_240, (2, 2, 6, 2), 48),
  "convnextv2_pico": _second(9_066_280, (2, 2, 6, 2), 64),
  "convnextv2_nano": _second(15_623_800, (2, 2, 8, 2), 80),
  "convnextv2_tiny": _second(28_635_496, (3, 3, 9, 3), 96),
  "convnextv2_base": _second(88_717_800, _DEEP, 128),
  "convnextv2_large": _second(197_956_840, _DEEP, 192),
  "convnextv2_huge": _second(660_289_640, _DEEP, 352),
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
  "hf": (
    (r"^convnext(?:v2)?\.", ""),
    (r"^embeddings\.patch_embeddings\.", "stem.0."),
    (r"^embeddings\.layernorm\.", "stem.1."),
    (r"^encoder\.stages\.(\d)\.downsampling_layer\.", r"stages.\1.downsample."),
    (r"^encoder\.stages\.(\d)\.layers\.", r"stages.\1.blocks."),
    (r"\.dwconv\.", ".conv_dw."),
    (r"\.layernorm\.", ".norm."),
    (r"\.pwconv(\d)\.", r".mlp.fc\1."),
    (r"\.grn\.", ".mlp.grn."),
    (r"\.layer_scale_parameter$", ".gamma"),
    (r"^layernorm\.", "head.norm."),
    (r"^classifier\.", "head.fc."),
  ),
  # The authors' own files (facebookresearch/ConvNeXt and ConvNeXt-V2).
  "facebook": (
    (r"^downsample_layers\.0\.", "stem."),
    (r"^downsample_layers\.(\d)\.", r"stages.\1.downsample."),
    (r"^stages\.(\d)\.(\d+)\.", r"stages.\1.blocks.\2."),
    (r"\.dwconv\.", ".conv_dw."),
    (r"\.pwconv(\d)\.", r".mlp.fc\1."),
    (r"\.grn\.gamma$", ".mlp.grn.weight"),
    (r"\.grn\.beta$", ".mlp.grn.bias"),
    (r"^norm\.", "head.norm."),
    (r"^head\.(weight|bias)$", r"head.fc.\1"),
  ),
}
ORACLES = {
  name: f"{variant.spec.weights}:{name}" for name, variant in VARIANTS.items()
}
_EPSILON = 1e-6  # epsilon of every layer norm


class ResponseNorm(nnx.Module):
  """A response norm: it scales channels by their norms over the picture (V2,
  section 3.3).
  """

  def __init__(self, width: int):
    """Create the norm for `width` channels; it starts as the identity."""
    self.scale = nnx.Param(jnp.zeros(width))
    self.bias = nnx.Param(jnp.zeros(width))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, width]` to the same shape; norms are computed in float32."""
    wide = x.astype(jnp.float32)
    norms = layers.length(wide, (1, 2))
    shares = norms / (norms.mean(-1, keepdims=True) + _EPSILON)
    scaled = wide * shares * self.scale[...] + self.bias[...]
    return (wide + scaled).astype(x.dtype)


class SecondMlp(layers.Mlp):
  """An MLP of V2, with a response norm before the last layer."""

  def __init__(self, inputs: int, inner: int, outputs: int, *, rngs: nnx.Rngs):
    """Create the module; `inner` is the hidden width."""
    super().__init__(inputs, inner, outputs, rngs=rngs)
    self.grn = ResponseNorm(inner)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H, W, outputs]`."""
    x = jax.nn.gelu(self.fc1(x), approximate=False)
    return self.fc2(self.grn(x))


class Block(nnx.Module):
  """A block: a 7 x 7 depthwise convolution, a norm and an MLP, added; V1 scales
  first.
  """

  def __init__(
    self, width: int, rate: float, *, second: bool = False, rngs: nnx.Rngs
  ):
    """Create the block of `width`; residuals drop at `rate`, and `second` builds V2."""
    self.conv_dw = layers.conv(
      width, width, 7, padding=3, groups=width, rngs=rngs
    )
    self.norm = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    mlp = SecondMlp if second else layers.Mlp
    self.mlp = mlp(width, 4 * width, width, rngs=rngs)
    self.drop_path = layers.StochasticDepth(rate)
    self.scales = not second
    if self.scales:
      self.gamma = nnx.Param(jnp.full((width,), 1e-6))  # appendix A.1

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, width]` to the same shape."""
    y = self.mlp(self.norm(self.conv_dw(x)))
    if self.scales:
      y = y * self.gamma[...].astype(x.dtype)
    return x + self.drop_path(y)


class Stage(nnx.Module):
  """A stage: it halves the sides (except in the first stage), then applies blocks."""

  def __init__(
    self,
    inputs: int,
    width: int,
    rates: Sequence[float],
    *,
    second: bool,
    rngs: nnx.Rngs,
  ):
    """Create the stage; `inputs` equal to `width` means no halving, `rates` are
    those of its blocks.
    """
    self.halves = inputs != width
    if self.halves:
      self.downsample = layers.Stack(
        (
          layers.LayerNorm(inputs, _EPSILON, rngs=rngs),
          layers.conv(inputs, width, 2, 2, rngs=rngs),
        )
      )
    self.blocks = layers.Stack(
      [Block(width, rate, second=second, rngs=rngs) for rate in rates]
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / 2, W / 2, width]`."""
    return self.blocks(self.downsample(x) if self.halves else x)


class Head(nnx.Module):
  """A head: a mean, a norm, and a linear layer."""

  def __init__(self, width: int, num_classes: int, *, rngs: nnx.Rngs):
    """Create the head; `width` is that of the last stage."""
    self.norm = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.fc = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, width]` to logits `[B, num_classes]`."""
    return self.fc(self.norm(layers.global_mean(x)))


class Network(nnx.Module):
  """A 4 x 4 patch stem, four stages, and a head."""

  def __init__(
    self,
    *,
    depths: tuple[int, ...],
    widths: tuple[int, ...],
    drop_path: float,
    second: bool = False,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the stages.

    Args:
      depths: blocks per stage.
      widths: channels per stage.
      drop_path: rate of stochastic depth of the last block; it grows from 0.
      second: whether to build V2.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    conv = functools.partial(layers.conv, rngs=rngs)
    norm = layers.LayerNorm(widths[0], _EPSILON, rngs=rngs)
    self.stem = layers.Stack((conv(3, widths[0], 4, 4), norm))
    inputs = (widths[0], *widths)
    rates = train_mode.rates(drop_path, depths)
    self.stages = layers.Stack(
      [
        Stage(before, width, part, second=second, rngs=rngs)
        for before, width, part in zip(inputs, widths, rates, strict=False)
      ]
    )
    self.head = Head(widths[-1], num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    return self.head(self.stages(self.stem(x)))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  alike=(("timm", "facebook"),),  # timm ported the authors' weights
  oracles=ORACLES,
  stages=("stem", r"stages/(\d)"),
)
