"""SegFormer: a hierarchical transformer without positions, and a head of linear layers.

Xie et al. 2021 (arXiv:2105.15203): overlapping patches, attention to keys that a
strided convolution made fewer, a depthwise convolution in each feed-forward block
(section 3.1), and logits of stride 4 (section 3.2, table 6). Constants as in
transformers, whose layer norms add 1e-5. The published weights are NVIDIA's, for
non-commercial use.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.layers import train_mode, valid
from models.segmentation import inference
from models.segmentation.segmenter import SegmenterNetwork
from models.segmentation.spec import SegmenterSpec
from models.spec import Variant

_EPSILON = 1e-5
_HEADS = (1, 2, 5, 8)
_REDUCTIONS = (8, 4, 2, 1)  # of the keys' rows and columns
_PATCHES = ((7, 4), (3, 2), (3, 2), (3, 2))  # kernels and strides
_RATIO = 4  # of the feed-forward blocks
_DROP_PATH = 0.1
_MASKED = -1e30  # a key beyond the picture


def _variant(
  parameters: int, depths: tuple[int, ...], first: int, width: int
) -> Variant:
  # Section 4.1: windows of 1024 px slide over pictures of Cityscapes; the stride
  # is that of the authors' configuration.
  spec = SegmenterSpec(
    window_px=1024,
    stride_px=768,
    weights="hf",
    parameters=parameters,
    source="arXiv:2105.15203, section 4.1; transformers 5.24 segformer",
  )
  widths = (32, 64, 160, 256) if first == 32 else (64, 128, 320, 512)
  return Variant(spec, {"depths": depths, "widths": widths, "decoder": width})


VARIANTS = {
  "segformer_b0": _variant(3_719_027, (2, 2, 2, 2), 32, 256),
  "segformer_b1": _variant(13_682_131, (2, 2, 2, 2), 64, 256),
  "segformer_b2": _variant(27_361_235, (3, 4, 6, 3), 64, 768),
  "segformer_b3": _variant(47_237_075, (3, 4, 18, 3), 64, 768),
  "segformer_b4": _variant(64_007_635, (3, 8, 27, 3), 64, 768),
  "segformer_b5": _variant(84_607_955, (3, 6, 40, 3), 64, 768),
}
_HF: Rules = (
  (r"^segformer\.encoder\.", ""),
  (r"\.attention\.self\.", ".attention."),
  (r"\.attention\.output\.dense\.", ".attention.proj."),
)


def _norm(features: int, rngs: nnx.Rngs) -> layers.LayerNorm:
  return layers.LayerNorm(features, _EPSILON, rngs=rngs)


class Patches(nnx.Module):
  """Overlapping patches: a strided convolution and a layer norm."""

  def __init__(
    self, inputs: int, outputs: int, kernel: int, stride: int, *, rngs: nnx.Rngs
  ):
    """Create the layers."""
    self.proj = layers.conv(
      inputs, outputs, kernel, stride, kernel // 2, rngs=rngs
    )
    self.layer_norm = _norm(outputs, rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    return self.layer_norm(self.proj(x))


class Attention(nnx.Module):
  """Attention to keys of fewer rows and columns."""

  def __init__(self, width: int, heads: int, reduction: int, *, rngs: nnx.Rngs):
    """Create the layers; `reduction` divides rows and columns of the keys."""
    self.query = layers.linear(width, width, rngs=rngs)
    self.key = layers.linear(width, width, rngs=rngs)
    self.value = layers.linear(width, width, rngs=rngs)
    self.proj = layers.linear(width, width, rngs=rngs)
    if reduction > 1:
      self.sr = layers.conv(width, width, reduction, reduction, rngs=rngs)
      self.layer_norm = _norm(width, rngs)
    self.heads, self.reduction = heads, reduction

  def __call__(self, x: jax.Array, sizes: jax.Array) -> jax.Array:
    """Map `[B, H, W, width]` to the same shape."""
    keys = x
    if self.reduction > 1:
      keys = self.layer_norm(self.sr(x))
    used = valid.area(sizes // self.reduction, *keys.shape[1:3])
    mask = jnp.where(used.reshape(len(x), 1, 1, -1), 0.0, _MASKED)

    def split(layer: nnx.Linear, source: jax.Array) -> jax.Array:
      y = layer(source)
      return y.reshape(len(y), -1, self.heads, y.shape[-1] // self.heads)

    q, k, v = (
      split(layer, source)
      for layer, source in (
        (self.query, x),
        (self.key, keys),
        (self.value, keys),
      )
    )
    products = jnp.einsum("bqhc,bkhc->bhqk", q, k) * q.shape[-1] ** -0.5
    shares = jax.nn.softmax(products.astype(jnp.float32) + mask, axis=-1)
    y = jnp.einsum("bhqk,bkhc->bqhc", shares.astype(x.dtype), v)
    return self.proj(y.reshape(x.shape))


class DepthwiseConv(nnx.Module):
  """The convolution of a feed-forward block, which tells places apart."""

  def __init__(self, width: int, *, rngs: nnx.Rngs):
    """Create the layer."""
    self.dwconv = layers.conv(width, width, 3, 1, 1, groups=width, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, width]` to the same shape."""
    return self.dwconv(x)


class Mlp(nnx.Module):
  """Linear, a depthwise convolution, exact GELU, linear."""

  def __init__(self, width: int, *, rngs: nnx.Rngs):
    """Create the layers."""
    self.dense1 = layers.linear(width, _RATIO * width, rngs=rngs)
    self.dwconv = DepthwiseConv(_RATIO * width, rngs=rngs)
    self.dense2 = layers.linear(_RATIO * width, width, rngs=rngs)

  def __call__(self, x: jax.Array, sizes: jax.Array) -> jax.Array:
    """Map `[B, H, W, width]` to the same shape."""
    y = self.dwconv(valid.inside(self.dense1(x), sizes))
    return self.dense2(jax.nn.gelu(y, approximate=False))


class Block(nnx.Module):
  """Attention and a feed-forward block, each after a norm and around a shortcut."""

  def __init__(
    self, width: int, heads: int, reduction: int, rate: float, *, rngs: nnx.Rngs
  ):
    """Create the block; `rate` is that of stochastic depth."""
    self.layer_norm_1 = _norm(width, rngs)
    self.attention = Attention(width, heads, reduction, rngs=rngs)
    self.layer_norm_2 = _norm(width, rngs)
    self.mlp = Mlp(width, rngs=rngs)
    self.drop_1 = layers.StochasticDepth(rate)
    self.drop_2 = layers.StochasticDepth(rate)

  def __call__(self, x: jax.Array, sizes: jax.Array) -> jax.Array:
    """Map `[B, H, W, width]` to the same shape."""
    x = x + self.drop_1(self.attention(self.layer_norm_1(x), sizes))
    return x + self.drop_2(self.mlp(self.layer_norm_2(x), sizes))


def _blocks(
  width: int, heads: int, reduction: int, rates: list[float], rngs: nnx.Rngs
) -> layers.Stack:
  """Return the blocks of a stage, which take sizes beside their input."""
  blocks: list[Any] = [
    Block(width, heads, reduction, rate, rngs=rngs) for rate in rates
  ]
  return layers.Stack(blocks)


class Linear(nnx.Module):
  """The head's linear layer of a stage."""

  def __init__(self, inputs: int, outputs: int, *, rngs: nnx.Rngs):
    """Create the layer."""
    self.proj = layers.linear(inputs, outputs, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H, W, outputs]`."""
    return self.proj(x)


class Head(nnx.Module):
  """Linear layers of all stages, enlarged to stride 4, joined and classified."""

  def __init__(
    self,
    widths: tuple[int, ...],
    width: int,
    num_classes: int,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the layers; `width` is that of the joined features."""
    self.linear_c = layers.Stack([Linear(n, width, rngs=rngs) for n in widths])
    joined = len(widths) * width
    self.linear_fuse = layers.conv(joined, width, 1, bias=False, rngs=rngs)
    self.batch_norm = layers.BatchNorm(width, rngs=rngs)
    self.dropout = layers.Dropout(0.1)
    self.classifier = layers.conv(width, num_classes, 1, rngs=rngs)

  def __call__(
    self, stages: list[tuple[jax.Array, jax.Array]]
  ) -> tuple[jax.Array, jax.Array]:
    """Map features and their valid sizes to logits of the first stage's sides."""
    first, sizes = stages[0]
    parts = [
      inference.enlarged(
        linear(x), first.shape[1:3], sizes=sizes, valid=covered
      ).astype(first.dtype)
      for linear, (x, covered) in zip(self.linear_c, stages)
    ]
    x = self.linear_fuse(jnp.concatenate(parts[::-1], axis=-1))
    x = self.dropout(layers.relu(self.batch_norm(x)))
    return self.classifier(x), sizes


class Network(SegmenterNetwork):
  """Four stages of transformer blocks, of strides 4 to 32, and the head."""

  def __init__(
    self,
    *,
    depths: tuple[int, ...],
    widths: tuple[int, ...],
    decoder: int,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the network.

    Args:
      depths: blocks per stage.
      widths: channels per stage.
      decoder: channels of the head.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    rates = train_mode.rates(_DROP_PATH, depths)
    inputs = (3, *widths)
    self.patch_embeddings = layers.Stack(
      [
        Patches(inputs[i], inputs[i + 1], *_PATCHES[i], rngs=rngs)
        for i in range(len(widths))
      ]
    )
    self.block = layers.Stack(
      [
        _blocks(widths[i], _HEADS[i], _REDUCTIONS[i], rates[i], rngs)
        for i in range(len(widths))
      ]
    )
    self.layer_norm = layers.Stack([_norm(n, rngs) for n in widths])
    self.decode_head = Head(widths, decoder, num_classes, rngs=rngs)

  def __call__(
    self, x: jax.Array, sizes: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    """Return logits at a quarter of the sides, see `SegmenterNetwork`."""
    stages: list[tuple[jax.Array, jax.Array]] = []
    parts: Any = zip(self.patch_embeddings, self.block, self.layer_norm)
    for (patches, blocks, norm), (_, stride) in zip(parts, _PATCHES):
      x = patches(valid.inside(x, sizes))
      sizes = valid.strided(sizes, stride)
      for block in blocks:
        x = block(x, sizes)
      x = norm(x)
      stages.append((x, sizes))
    return self.decode_head(stages)


FAMILY = Family(
  Network,
  VARIANTS,
  {"hf": _HF},
  stages=(r"(?:patch_embeddings|block|layer_norm)/(\d)",),
  paper=(
    "Xie et al. 2021, SegFormer: Simple and Efficient Design for Semantic"
    " Segmentation with Transformers, arXiv:2105.15203"
  ),
)
