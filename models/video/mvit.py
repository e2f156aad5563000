"""MViT-B 16 x 4 (Fan et al. 2021, arXiv:2104.11227): pooled attention.

`mvit_base_16x4` is PySlowFast's and pytorchvideo's, `mvit_v1_b` torchvision's:
the same network except for an epsilon. `mvit_v2_s` is MViTv2 (Li et al. 2022,
arXiv:2112.01526): relative positions, pooled queries added to the output of
attention, and widening in attention. Attribute names follow pytorchvideo, which
keeps query, key and value apart.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers
from models.classification import vit
from models.family import Family, Rules
from models.layers import train_mode
from models.spec import Variant
from models.video import bottleneck, volumes
from models.video.spec import VideoSpec

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
_V2 = dataclasses.replace(_TORCHVISION, parameters=34_537_744)
_SIZE = {"frames": 16, "side": 224}
VARIANTS = {
  # The pooled queries, keys and values of pytorchvideo and PySlowFast are
  # normalised with torch's default epsilon, other tokens with 1e-6.
  "mvit_base_16x4": Variant(_SPEC, {**_SIZE, "pool_epsilon": 1e-5}),
  "mvit_v1_b": Variant(_TORCHVISION, {**_SIZE, "pool_epsilon": 1e-6}),
  "mvit_v2_s": Variant(_V2, {**_SIZE, "pool_epsilon": 1e-6, "second": True}),
}
_EPSILON = 1e-6
_OFFSETS = (r"\.attn\.rel_pos_", ".attn.rel_pos.rel_pos_")
CHECKPOINTS: dict[str, Rules] = {
  # pytorchvideo's names are ours.
  "pyslowfast": (
    _OFFSETS,
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
    _OFFSETS,
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
_DROP_PATH = 0.2  # PySlowFast's MVIT_B_16x4_CONV, torchvision's of both
# Blocks that halve height and width; the blocks before them double channels, in
# MViTv2 these blocks themselves.
_HALVING = (1, 3, 14)
_WIDTH = 96  # width of the first block, in one head


def regroup(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Split joint `qkv` layers in three: newer PySlowFast and torchvision join them."""
  parted: dict[str, np.ndarray] = {}
  for name, array in arrays.items():
    before, joint, leaf = name.rpartition(".attn.qkv.")
    if joint and array.shape[0] % 3 == 0:
      for letter, part in zip("qkv", np.split(array, 3), strict=True):
        parted[f"{before}.attn.{letter}.{leaf}"] = part
    else:
      parted[name] = array
  return parted


class Offsets(nnx.Module):
  """MViTv2's relative positions: a query's product with each offset to a key.

  They are separate for time, height and width (section 4.1 of the second
  paper).
  """

  def __init__(self, frames: int, side: int, width: int, *, rngs: nnx.Rngs):
    """Create the positions; `frames` and `side` are those of the larger grid of
    queries or keys.
    """
    draw = jax.nn.initializers.normal(0.02)  # PySlowFast: std 0.02
    for axis, places in (("t", frames), ("h", side), ("w", side)):
      table = draw(rngs.params(), (2 * places - 1, width))
      setattr(self, f"rel_pos_{axis}", nnx.Param(table))

  def __call__(
    self, query: jax.Array, grid: tuple[int, ...], keys: tuple[int, ...]
  ) -> jax.Array:
    """Map queries `[B, heads, 1 + T * H * W, width]` to `[B, heads, T * H * W,
    keys]`.
    """
    batch, heads, _, width = query.shape
    query = query[:, :, 1:].reshape(batch, heads, *grid, width)
    total: Any = 0
    for axis, letter in enumerate("thw"):
      table = getattr(self, f"rel_pos_{letter}")[...].astype(query.dtype)
      pairs = table[_offsets(grid[axis], keys[axis])]
      part = jnp.einsum(f"zgthwc,{letter}kc->zgthwk", query, pairs)
      others = [5 + i for i in range(3) if i != axis]
      total = total + jnp.expand_dims(part, others)
    return total.reshape(batch, heads, math.prod(grid), math.prod(keys))


def _offsets(queries: int, keys: int) -> np.ndarray:
  """Return the row in a table of offsets for each query and key along an axis.

  The coarser grid lies on the finer one's first places.
  """
  query = np.arange(queries)[:, None] * max(keys // queries, 1)
  key = (np.arange(keys)[None] - keys + 1) * max(queries // keys, 1)
  return query - key


class Attention(nnx.Module):
  """Attention of pooled queries to pooled keys; only the class token is not pooled."""

  pool_q: volumes.Conv3d
  pool_k: volumes.Conv3d
  pool_v: volumes.Conv3d
  norm_q: layers.LayerNorm
  norm_k: layers.LayerNorm
  norm_v: layers.LayerNorm

  def __init__(
    self,
    inputs: int,
    width: int,
    heads: int,
    query_stride: int,
    key_stride: int,
    epsilon: float,
    grid: tuple[int, int] | None = None,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the attention; strides are those of space, and queries are pooled
    only if strided.

    Args:
      inputs: input channels.
      width: output channels, shared by the heads.
      heads: number of heads.
      query_stride: stride of the queries.
      key_stride: stride of the keys and values.
      epsilon: epsilon of the pooled tokens' norms.
      grid: frames and side of the tokens, for MViTv2, which pools all queries.
      rngs: for the initial weights.
    """
    channels = width // heads
    linear = functools.partial(layers.linear, inputs, width, rngs=rngs)
    self.q, self.k, self.v = linear(), linear(), linear()
    self.proj = layers.linear(width, width, rngs=rngs)
    self.second = grid is not None
    self.pools_queries = query_stride > 1 or self.second
    if grid is not None:
      frames, side = grid
      finest = side // min(query_stride, key_stride)
      self.rel_pos = Offsets(frames, finest, channels, rngs=rngs)
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
    """Map `[B, 1 + T * H * W, width]` and its grid to the same, strided."""
    query, out = self._heads(self.q(x)), grid
    if self.pools_queries:
      query, out = _pool(query, grid, self.pool_q)
      query = self.norm_q(query)
    key, keys = _pool(self._heads(self.k(x)), grid, self.pool_k)
    key = self.norm_k(key)
    value = _pool(self._heads(self.v(x)), grid, self.pool_v)[0]
    value = self.norm_v(value)
    scores = jnp.einsum("bhqd,bhkd->bhqk", query * key.shape[-1] ** -0.5, key)
    if self.second:
      scores = scores.at[:, :, 1:, 1:].add(self.rel_pos(query, out, keys))
    weights = jax.nn.softmax(scores.astype(jnp.float32)).astype(x.dtype)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", weights, value)
    if self.second:
      mixed = mixed.at[:, :, 1:].add(query[:, :, 1:])
    mixed = mixed.swapaxes(1, 2)
    return self.proj(mixed.reshape(*mixed.shape[:2], -1)), out

  def _heads(self, x: jax.Array) -> jax.Array:
    """Map `[B, tokens, width]` to `[B, heads, tokens, width / heads]`."""
    x = x.reshape(*x.shape[:2], self.heads, -1)
    return x.transpose(0, 2, 1, 3)


def _pool(
  x: jax.Array, grid: tuple[int, ...], pool: layers.Step
) -> tuple[jax.Array, tuple[int, ...]]:
  """Pool the grid of `[B, heads, 1 + T * H * W, C]`, not the class token."""
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
    grid: tuple[int, int] | None = None,
    *,
    drop_path: float,
    rngs: nnx.Rngs,
  ):
    """Create the block; it widens in its MLP, with a `grid` in attention; as
    `Attention`.

    Residuals drop at the rate `drop_path`.
    """
    self.drop_path1 = layers.StochasticDepth(drop_path)
    self.drop_path2 = layers.StochasticDepth(drop_path)
    inner = width if grid is None else outputs
    self.norm1 = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.attn = Attention(
      width, inner, heads, query_stride, key_stride, epsilon, grid, rngs=rngs
    )
    self.norm2 = layers.LayerNorm(inner, _EPSILON, rngs=rngs)
    self.mlp = layers.Mlp(inner, 4 * inner, outputs, rngs=rngs)
    self.widens, self.second = width != outputs, grid is not None
    if self.widens:
      self.proj = layers.linear(width, outputs, rngs=rngs)
    self.stride = query_stride

  def __call__(
    self, state: tuple[jax.Array, tuple[int, ...]]
  ) -> tuple[jax.Array, tuple[int, ...]]:
    """Map tokens `[B, 1 + T * H * W, width]` and their T, H, W to the next ones."""
    x, grid = state
    normal = self.norm1(x)
    attended, out = self.attn(normal, grid)
    if self.widens and self.second:
      x = self.proj(normal)
    if self.stride > 1:
      skip = functools.partial(
        volumes.max_pool,
        window=(1, self.stride + 1, self.stride + 1),
        stride=(1, self.stride, self.stride),
        padding=(0, (self.stride + 1) // 2, (self.stride + 1) // 2),
      )
      x = _pool(x[:, None], grid, skip)[0][:, 0]
    x = x + self.drop_path1(attended)
    normal = self.norm2(x)
    widens = self.widens and not self.second
    residual = self.proj(normal) if widens else x
    return residual + self.drop_path2(self.mlp(normal)), out


class Embed(nnx.Module):
  """The embedding of overlapping 3 x 7 x 7 patches."""

  def __init__(self, *, rngs: nnx.Rngs):
    """Create the embedding, which halves time and quarters space."""
    self.patch_model = volumes.Conv3d(
      3, _WIDTH, (3, 7, 7), (2, 4, 4), (1, 3, 3), bias=True, rngs=rngs
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to `[B, T / 2, H / 4, W / 4, 96]`."""
    return self.patch_model(x)


class Positions(nnx.Module):
  """A class token, and positions in time and in space that are added."""

  def __init__(
    self, frames: int, places: int, *, added: bool = True, rngs: nnx.Rngs
  ):
    """Create the positions of a grid of `frames` x `places`; `added` says
    whether there are any.
    """
    draw = jax.nn.initializers.normal(0.02)  # PySlowFast: std 0.02
    self.cls_token = nnx.Param(draw(rngs.params(), (1, 1, _WIDTH)))
    self.added = added
    if not added:
      return
    self.pos_embed_spatial = nnx.Param(draw(rngs.params(), (1, places, _WIDTH)))
    self.pos_embed_temporal = nnx.Param(
      draw(rngs.params(), (1, frames, _WIDTH))
    )
    self.pos_embed_class = nnx.Param(draw(rngs.params(), (1, 1, _WIDTH)))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 96]` to tokens `[B, 1 + T * H * W, 96]`."""
    batch, frames, _, _, width = x.shape
    x, token = x.reshape(batch, frames, -1, width), self.cls_token[...]
    if self.added:
      x = x + self.pos_embed_spatial[...].astype(x.dtype)[:, None]
      x = x + self.pos_embed_temporal[...].astype(x.dtype)[:, :, None]
      token = token + self.pos_embed_class[...]
    token = token.astype(x.dtype)
    token = jnp.broadcast_to(token, (batch, 1, width))
    return jnp.concatenate([token, x.reshape(batch, -1, width)], axis=1)


class Head(nnx.Module):
  """A head: a linear layer on the class token."""

  def __init__(self, width: int, num_classes: int, *, rngs: nnx.Rngs):
    """Create the head; `width` is that of the last block."""
    self.dropout = layers.Dropout(bottleneck.DROPOUT)
    self.proj = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, width]` to logits `[B, num_classes]`."""
    return self.proj(self.dropout(x))


class Network(nnx.Module):
  """A network of patches and a class token through 16 blocks of four resolutions."""

  def __init__(
    self,
    *,
    frames: int,
    side: int,
    pool_epsilon: float,
    second: bool = False,
    drop_path: float = _DROP_PATH,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the blocks.

    Args:
      frames: frames of a clip.
      side: side of a frame, in px.
      pool_epsilon: epsilon of the pooled tokens' norms.
      second: whether to build MViTv2.
      drop_path: rate of stochastic depth of the last block; it grows from 0.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    frames, side = frames // 2, side // 4
    self.patch_embed = Embed(rngs=rngs)
    self.cls_positional_encoding = Positions(
      frames, side**2, added=not second, rngs=rngs
    )
    blocks, width, heads, key_stride = [], _WIDTH, 1, 8
    (rates,) = train_mode.rates(drop_path, (_DEPTH,))
    for i, rate in enumerate(rates):
      stride = 2 if i in _HALVING else 1
      if stride > 1:
        # Keys keep their grid while that of the queries shrinks.
        heads, key_stride = 2 * heads, key_stride // 2
      outputs = 2 * width if i + (not second) in _HALVING else width
      grid = (frames, side) if second else None
      sizes = (width, outputs, heads, stride, key_stride)
      block = functools.partial(Block, drop_path=rate, rngs=rngs)
      blocks.append(block(*sizes, pool_epsilon, grid))
      width, side = outputs, side // stride
    self.blocks = layers.Stack(blocks)
    self.norm_embed = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.head = Head(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, frames, side, side, 3]` to logits `[B, num_classes]`."""
    x = self.patch_embed(x)
    tokens, _ = self.blocks((self.cls_positional_encoding(x), x.shape[1:4]))
    return self.head(self.norm_embed(tokens[:, 0]))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  regroup=regroup,
  alike=(("pytorchvideo", "pyslowfast"),),
  stages=vit.STAGES,
)
