"""MaxViT tiny (Tu et al. 2022, arXiv:2204.01697), torchvision's weights.

A layer is an inverted residual, attention inside windows of 7 x 7 and attention
over a grid of 7 x 7, whose tokens lie as far apart as the map allows.
"""

import functools

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.classification import inverted, windows
from models.family import Family
from models.layers import train_mode
from models.spec import Spec, Variant

_SPEC = Spec(
  resize_px=224,
  interpolation="bicubic",
  flexible=False,
  parameters=30_919_624,
  source="torchvision 0.28 models/maxvit.py, IMAGENET1K_V1",
)
VARIANTS = {
  "maxvit_t": Variant(
    _SPEC, {"widths": (64, 128, 256, 512), "depths": (2, 2, 5, 2)}
  )
}
# A table of positions that torch stores; here it is computed.
IGNORED = (r"\.relative_position_index$",)
ORACLES = {"maxvit_t": "torchvision:maxvit_t"}
_STEM = 64
_HEAD = 32  # channels of an attention head
_WINDOW = 7  # side of a window and of the grid
_gelu = functools.partial(jax.nn.gelu, approximate=False)
# torchvision's norms and stochastic depth.
_EPSILON, _MOMENTUM = 1e-3, 0.01
_conv = functools.partial(
  inverted.conv_norm, epsilon=_EPSILON, momentum=_MOMENTUM
)
_DROP_PATH = 0.2


class InvertedResidual(nnx.Module):
  """A norm, then expand, filter, excite and project, beside a shortcut."""

  def __init__(
    self, inputs: int, outputs: int, stride: int, rate: float, *, rngs: nnx.Rngs
  ):
    """Create the layers of an inner width of four times `outputs`; residuals
    drop at `rate`.
    """
    curved = functools.partial(_conv, activation=_gelu, rngs=rngs)
    inner = 4 * outputs
    self.layers = layers.Stack(
      {
        "pre_norm": layers.BatchNorm(
          inputs, _EPSILON, momentum=_MOMENTUM, rngs=rngs
        ),
        "conv_a": curved(inputs, inner, 1),
        "conv_b": curved(inner, inner, 3, stride, groups=inner),
        "squeeze_excitation": inverted.Excite(
          inner, outputs // 4, activation=jax.nn.silu, rngs=rngs
        ),
        "conv_c": layers.conv(inner, outputs, 1, rngs=rngs),
      }
    )
    self.stochastic_depth = layers.StochasticDepth(rate)
    self.changes_shape = stride == 2
    if self.changes_shape:
      pool = functools.partial(layers.avg_pool, window=3, stride=2, padding=1)
      shortcut = layers.conv(inputs, outputs, 1, rngs=rngs)
      self.proj = layers.Stack((pool, shortcut))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    shortcut = self.proj(x) if self.changes_shape else x
    return self.stochastic_depth(self.layers(x)) + shortcut


class Attention(nnx.Module):
  """Multi-head attention of 49 tokens with a learned bias per offset."""

  def __init__(self, width: int, *, rngs: nnx.Rngs):
    """Create the attention; `width` is shared by heads of 32."""
    self.heads = width // _HEAD
    self.to_qkv = layers.linear(width, 3 * width, rngs=rngs)
    self.merge = layers.linear(width, width, rngs=rngs)
    shape = ((2 * _WINDOW - 1) ** 2, self.heads)
    draw = jax.nn.initializers.normal(0.02)
    self.relative_position_bias_table = nnx.Param(draw(rngs.params(), shape))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, windows, tokens, width]` to the same shape."""
    qkv = self.to_qkv(x).reshape(*x.shape[:3], 3, self.heads, _HEAD)
    query, key, value = (qkv[..., i, :, :] for i in range(3))
    # The published weights were trained with this scale: by the width, not by a
    # head's.
    scores = jnp.einsum("bnqhd,bnkhd->bnhqk", query, key * x.shape[-1] ** -0.5)
    pairs = windows.relative_positions((_WINDOW, _WINDOW))
    bias = self.relative_position_bias_table[...][pairs].transpose(2, 0, 1)
    scores = (scores + bias).astype(jnp.float32)
    weights = jax.nn.softmax(scores).astype(x.dtype)
    mixed = jnp.einsum("bnhqk,bnkhd->bnqhd", weights, value)
    return self.merge(mixed.reshape(x.shape))


class Mix(nnx.Module):
  """Attention and an MLP over the windows, or over the grid, of a map."""

  def __init__(self, width: int, grid: bool, rate: float, *, rngs: nnx.Rngs):
    """Create the layers; with `grid` tokens attend to those at the same place
    of every window.

    Residuals drop at `rate`.
    """
    self.drop_path1 = layers.StochasticDepth(rate)
    self.drop_path2 = layers.StochasticDepth(rate)
    norm = functools.partial(layers.LayerNorm, width, 1e-5, rngs=rngs)
    self.grid = grid
    self.attn_layer = layers.Stack((norm(), Attention(width, rngs=rngs)))
    self.mlp_layer = layers.Stack(
      (
        norm(),
        layers.linear(width, 4 * width, rngs=rngs),
        _gelu,
        layers.linear(4 * width, width, rngs=rngs),
      )
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, side, side, width]` to the same shape; `side` is a multiple of 7."""
    sides = x.shape[1:3]
    size = tuple(s // _WINDOW if self.grid else _WINDOW for s in sides)
    x = self._turn(windows.part(x, size))
    x = x + self.drop_path1(self.attn_layer(x))
    x = x + self.drop_path2(self.mlp_layer(x))
    return windows.join(self._turn(x), size, sides)

  def _turn(self, x: jax.Array) -> jax.Array:
    """Swap windows and tokens for the grid, and back."""
    return x.swapaxes(1, 2) if self.grid else x


def _layer(
  inputs: int, outputs: int, stride: int, rate: float, rngs: nnx.Rngs
) -> layers.Stack:
  """Build one layer of the paper's figure 2; its three parts drop at `rate`."""
  steps = {
    "MBconv": InvertedResidual(inputs, outputs, stride, rate, rngs=rngs),
    "window_attention": Mix(outputs, grid=False, rate=rate, rngs=rngs),
    "grid_attention": Mix(outputs, grid=True, rate=rate, rngs=rngs),
  }
  return layers.Stack({"layers": layers.Stack(steps)})


class Network(nnx.Module):
  """A stem of two convolutions, four stages, a mean, and a head of two layers."""

  def __init__(
    self,
    *,
    widths: tuple[int, ...],
    depths: tuple[int, ...],
    drop_path: float = _DROP_PATH,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `widths` are channels and `depths` layers per stage.

    Stochastic depth grows from 0 to `drop_path`.
    """
    first = _conv(3, _STEM, 3, 2, activation=_gelu, rngs=rngs)
    second = layers.Stack((layers.conv(_STEM, _STEM, 3, 1, 1, rngs=rngs),))
    self.stem = layers.Stack((first, second))
    stages, inputs = [], _STEM
    all_rates = train_mode.rates(drop_path, depths)
    for width, rates in zip(widths, all_rates, strict=True):
      stage = []
      for i, rate in enumerate(rates):
        stage.append(_layer(inputs, width, 1 if i else 2, rate, rngs))
        inputs = width
      stages.append(layers.Stack({"layers": layers.Stack(stage)}))
    self.blocks = layers.Stack(stages)
    self.classifier = layers.Stack(
      (
        layers.global_mean,
        layers.identity,  # flattens
        layers.LayerNorm(inputs, 1e-5, rngs=rngs),
        layers.linear(inputs, inputs, rngs=rngs),
        jnp.tanh,
        layers.linear(inputs, num_classes, bias=False, rngs=rngs),
      )
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, 224, 224, 3]` to logits `[B, num_classes]`."""
    return self.classifier(self.blocks(self.stem(x)))


FAMILY = Family(
  Network,
  VARIANTS,
  ignored=IGNORED,
  oracles=ORACLES,
  stages=("stem", r"blocks/(\d)"),
)
