"""MViT-B 16 x 4 (Fan et al. 2021, arXiv:2104.11227): pooled attention.

`mvit_base_16x4` is PySlowFast's and pytorchvideo's, `mvit_v1_b` torchvision's:
the same network but for an epsilon. Attribute names follow pytorchvideo, which
keeps query, key and value apart.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from robust_tfds.models import layers
from robust_tfds.models.family import Family, Rules
from robust_tfds.models.spec import Variant
from robust_tfds.models.video import volumes
from robust_tfds.models.video.spec import VideoSpec

_SPEC = VideoSpec(
  frames=16,
  rate=4,
  any_length=False,
  flexible=False,
  parameters=36_610_672,
  source="pytorchvideo 0.1.5 model zoo, Kinetics-400",
)
_TORCHVISION = dataclasses.replace(
  _SPEC,
  weights="torchvision",
  source="torchvision 0.28 models/video/mvit.py, KINETICS400_V1",
)
_SIZE = {"frames": 16, "side": 224}
VARIANTS = {
  # The pooled queries, keys and values of pytorchvideo and PySlowFast are
  # normalised with torch's default epsilon, other tokens with 1e-6.
  "mvit_base_16x4": Variant(_SPEC, {**_SIZE, "pool_epsilon": 1e-5}),
  "mvit_v1_b": Variant(_TORCHVISION, {**_SIZE, "pool_epsilon": 1e-6}),
}
_EPSILON = 1e-6
CHECKPOINTS: dict[str, Rules] = {
  # pytorchvideo's names are ours.
  "pyslowfast": (
    (r"^patch_embed\.proj\.", "patch_embed.patch_model."),
    (r"^(cls_token|pos_embed_\w+)$", r"cls_positional_encoding.\1"),
    (r"^norm\.", "norm_embed."),
    (r"^head\.projection\.", "head.proj."),
  ),
  "torchvision": (
    (r"^conv_proj\.", "patch_embed.patch_model."),
    (r"^pos_encoding\.class_token$", "cls_positional_encoding.cls_token"),
    (
      r"^pos_encoding\.(spatial|temporal|class)_pos$",
      r"cls_positional_encoding.pos_embed_\1",
    ),
    (r"\.attn\.project\.0\.", ".attn.proj."),
    (r"\.pool_([qkv])\.pool\.", r".pool_\1."),
    (r"\.pool_([qkv])\.norm_act\.0\.", r".norm_\1."),
    (r"\.mlp\.0\.", ".mlp.fc1."),
    (r"\.mlp\.3\.", ".mlp.fc2."),
    (r"\.project\.", ".proj."),
    (r"^norm\.", "norm_embed."),
    (r"^head\.1\.", "head.proj."),
  ),
}
_DEPTH = 16
# Blocks that halve height and width; those before them double channels.
_HALVING = (1, 3, 14)
_WIDTH = 96  # of the first block, in one head


def regroup(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Joint `qkv` layers as three: newer PySlowFast and torchvision join them."""
  parted: dict[str, np.ndarray] = {}
  for name, array in arrays.items():
    before, joint, leaf = name.rpartition(".attn.qkv.")
    if joint and array.shape[0] % 3 == 0:
      for letter, part in zip("qkv", np.split(array, 3), strict=True):
        parted[f"{before}.attn.{letter}.{leaf}"] = part
    else:
      parted[name] = array
  return parted


class Attention(nnx.Module):
  """Attention of pooled queries to pooled keys; all but the class token."""

  pool_q: volumes.Conv3d
  pool_k: volumes.Conv3d
  pool_v: volumes.Conv3d
  norm_q: layers.LayerNorm
  norm_k: layers.LayerNorm
  norm_v: layers.LayerNorm

  def __init__(
    self,
    width: int,
    heads: int,
    query_stride: int,
    key_stride: int,
    epsilon: float,
    *,
    rngs: nnx.Rngs,
  ):
    """Strides are of space; queries are pooled only where strided."""
    channels = width // heads
    linear = functools.partial(layers.linear, width, width, rngs=rngs)
    self.q, self.k, self.v = linear(), linear(), linear()
    self.proj = linear()
    self.pools_queries = query_stride > 1
    for letter, stride in zip(
      "qkv", (query_stride, key_stride, key_stride), strict=True
    ):
      if letter == "q" and not self.pools_queries:
        continue
      pool = volumes.Conv3d(
        channels,
        channels,
        3,
        (1, stride, stride),
        1,
        groups=channels,
        rngs=rngs,
      )
      setattr(self, f"pool_{letter}", pool)
      norm = layers.LayerNorm(channels, epsilon, rngs=rngs)
      setattr(self, f"norm_{letter}", norm)
    self.heads = heads

  def __call__(
    self, x: jax.Array, grid: tuple[int, ...]
  ) -> tuple[jax.Array, tuple[int, ...]]:
    """`[B, 1 + T * H * W, width]` and T, H, W -> the same, strided."""
    batch, _, width = x.shape
    query, out = self._heads(self.q(x)), grid
    if self.pools_queries:
      query, out = _pool(query, grid, self.pool_q)
      query = self.norm_q(query)
    key, value = self._heads(self.k(x)), self._heads(self.v(x))
    key = self.norm_k(_pool(key, grid, self.pool_k)[0])
    value = self.norm_v(_pool(value, grid, self.pool_v)[0])
    scale = (width // self.heads) ** -0.5
    scores = jnp.einsum("bhqd,bhkd->bhqk", query * scale, key)
    weights = jax.nn.softmax(scores.astype(jnp.float32)).astype(x.dtype)
    mixed = jnp.einsum("bhqk,bhkd->bqhd", weights, value)
    return self.proj(mixed.reshape(batch, -1, width)), out

  def _heads(self, x: jax.Array) -> jax.Array:
    """`[B, tokens, width]` -> `[B, heads, tokens, width / heads]`."""
    x = x.reshape(*x.shape[:2], self.heads, -1)
    return x.transpose(0, 2, 1, 3)


def _pool(
  x: jax.Array, grid: tuple[int, ...], pool: layers.Step
) -> tuple[jax.Array, tuple[int, ...]]:
  """Pools the grid of `[B, heads, 1 + T * H * W, C]`, not the class token."""
  batch, heads, _, channels = x.shape
  clips = x[:, :, 1:].reshape(batch * heads, *grid, channels)
  clips = pool(clips)
  tokens = clips.reshape(batch, heads, -1, channels)
  return jnp.concatenate([x[:, :, :1], tokens], axis=2), clips.shape[1:4]


class Block(nnx.Module):
  """Pooled attention and an MLP that may widen, on the residual stream."""

  def __init__(
    self,
    width: int,
    outputs: int,
    heads: int,
    query_stride: int,
    key_stride: int,
    epsilon: float,
    *,
    rngs: nnx.Rngs,
  ):
    """Strides are of space; `epsilon` of the pooled tokens' norms."""
    self.norm1 = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.attn = Attention(
      width, heads, query_stride, key_stride, epsilon, rngs=rngs
    )
    self.norm2 = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.mlp = layers.Mlp(width, 4 * width, outputs, rngs=rngs)
    self.widens = width != outputs
    if self.widens:
      self.proj = layers.linear(width, outputs, rngs=rngs)
    self.stride = query_stride

  def __call__(
    self, state: tuple[jax.Array, tuple[int, ...]]
  ) -> tuple[jax.Array, tuple[int, ...]]:
    """Tokens `[B, 1 + T * H * W, width]` and their T, H, W -> the next."""
    x, grid = state
    attended, out = self.attn(self.norm1(x), grid)
    if self.stride > 1:
      skip = functools.partial(
        volumes.max_pool,
        window=(1, self.stride + 1, self.stride + 1),
        stride=(1, self.stride, self.stride),
        padding=(0, (self.stride + 1) // 2, (self.stride + 1) // 2),
      )
      x = _pool(x[:, None], grid, skip)[0][:, 0]
    x = x + attended
    normal = self.norm2(x)
    residual = self.proj(normal) if self.widens else x
    return residual + self.mlp(normal), out


class Embed(nnx.Module):
  """Overlapping 3 x 7 x 7 patches."""

  def __init__(self, *, rngs: nnx.Rngs):
    """Halves time, quarters space."""
    self.patch_model = volumes.Conv3d(
      3, _WIDTH, (3, 7, 7), (2, 4, 4), (1, 3, 3), bias=True, rngs=rngs
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, T, H, W, 3]` -> `[B, T / 2, H / 4, W / 4, 96]`."""
    return self.patch_model(x)


class Positions(nnx.Module):
  """A class token, and positions in time and in space that are added."""

  def __init__(self, frames: int, places: int, *, rngs: nnx.Rngs):
    """Of a grid of `frames` x `places`."""
    draw = jax.nn.initializers.normal(0.02)  # PySlowFast: std 0.02
    self.cls_token = nnx.Param(draw(rngs.params(), (1, 1, _WIDTH)))
    self.pos_embed_spatial = nnx.Param(draw(rngs.params(), (1, places, _WIDTH)))
    self.pos_embed_temporal = nnx.Param(
      draw(rngs.params(), (1, frames, _WIDTH))
    )
    self.pos_embed_class = nnx.Param(draw(rngs.params(), (1, 1, _WIDTH)))

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, T, H, W, 96]` -> tokens `[B, 1 + T * H * W, 96]`."""
    batch, frames, _, _, width = x.shape
    x = x.reshape(batch, frames, -1, width)
    x = x + self.pos_embed_spatial[...].astype(x.dtype)[:, None]
    x = x + self.pos_embed_temporal[...].astype(x.dtype)[:, :, None]
    token = (self.cls_token[...] + self.pos_embed_class[...]).astype(x.dtype)
    token = jnp.broadcast_to(token, (batch, 1, width))
    return jnp.concatenate([token, x.reshape(batch, -1, width)], axis=1)


class Head(nnx.Module):
  """A linear layer on the class token."""

  def __init__(self, width: int, num_classes: int, *, rngs: nnx.Rngs):
    """`width` of the last block."""
    self.proj = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, width]` -> logits `[B, num_classes]`."""
    return self.proj(x)


class Network(nnx.Module):
  """Patches and a class token through 16 blocks of four resolutions."""

  def __init__(
    self,
    *,
    frames: int,
    side: int,
    pool_epsilon: float,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """`frames` and `side` (in pixels) of the clips fix the positions."""
    self.patch_embed = Embed(rngs=rngs)
    self.cls_positional_encoding = Positions(
      frames // 2, (side // 4) ** 2, rngs=rngs
    )
    blocks, width, heads, key_stride = [], _WIDTH, 1, 8
    for i in range(_DEPTH):
      stride = 2 if i in _HALVING else 1
      if stride > 1:
        # Keys keep their grid while that of the queries shrinks.
        heads, key_stride = 2 * heads, key_stride // 2
      outputs = 2 * width if i + 1 in _HALVING else width
      blocks.append(
        Block(
          width, outputs, heads, stride, key_stride, pool_epsilon, rngs=rngs
        )
      )
      width = outputs
    self.blocks = layers.Stack(blocks)
    self.norm_embed = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.head = Head(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, frames, side, side, 3]` -> logits `[B, num_classes]`."""
    x = self.patch_embed(x)
    tokens, _ = self.blocks((self.cls_positional_encoding(x), x.shape[1:4]))
    return self.head(self.norm_embed(tokens[:, 0]))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  regroup=regroup,
  alike=(("pytorchvideo", "pyslowfast"),),
)
