"""Vision transformers (Dosovitskiy et al. 2021, arXiv:2010.11929).

`vit_b_16` and its like are torchvision's; `vit_base_patch16_224` and its like
timm's. The networks are the same but for the preprocessing.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from flax import nnx

from robust_tfds.models import layers
from robust_tfds.models.family import Family
from robust_tfds.models.family import Rules
from robust_tfds.models.spec import Spec
from robust_tfds.models.spec import Variant

_TORCHVISION = Spec(
  flexible=False, source="torchvision 0.28 vision_transformer.py"
)
_TIMM = Spec(
  # timm 1.0.31: crop_pct 0.9 of 224, bicubic, statistics 0.5.
  resize_px=248,
  interpolation="bicubic",
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  flexible=False,
  weights="timm",
  source="timm 1.0.31 vision_transformer.py (augreg)",
)


def _variant(
  spec: Spec, parameters: int, patch: int, width: int, depth: int, heads: int
) -> Variant:
  spec = dataclasses.replace(spec, parameters=parameters)
  options = {"patch": patch, "width": width, "depth": depth, "heads": heads}
  return Variant(spec, {"side": spec.input_px, **options})


_L16 = dataclasses.replace(_TORCHVISION, resize_px=242)
VARIANTS = {
  "vit_b_16": _variant(_TORCHVISION, 86_567_656, 16, 768, 12, 12),
  "vit_b_32": _variant(_TORCHVISION, 88_224_232, 32, 768, 12, 12),
  "vit_l_16": _variant(_L16, 304_326_632, 16, 1024, 24, 16),
  "vit_l_32": _variant(_TORCHVISION, 306_535_400, 32, 1024, 24, 16),
  "vit_tiny_patch16_224": _variant(_TIMM, 5_717_416, 16, 192, 12, 3),
  "vit_small_patch16_224": _variant(_TIMM, 22_050_664, 16, 384, 12, 6),
  "vit_base_patch16_224": _variant(_TIMM, 86_567_656, 16, 768, 12, 12),
}
CHECKPOINTS: dict[str, Rules] = {
  "torchvision": (
    (r"^class_token$", "cls_token"),
    (r"^encoder\.pos_embedding$", "pos_embed"),
    (r"^conv_proj\.", "patch_embed.proj."),
    (r"^encoder\.ln\.", "norm."),
    (r"^encoder\.layers\.encoder_layer_(\d+)\.", r"blocks.\1."),
    (r"\.ln_(\d)\.", r".norm\1."),
    (r"\.self_attention\.in_proj_", ".attn.qkv."),
    (r"\.self_attention\.out_proj\.", ".attn.proj."),
    (r"\.mlp\.(?:0|linear_1)\.", ".mlp.fc1."),
    (r"\.mlp\.(?:3|linear_2)\.", ".mlp.fc2."),
    (r"^heads\.head\.", "head."),
  ),
  "timm": (),
}
ORACLES = {
  name: f"{variant.spec.weights}:{name}" for name, variant in VARIANTS.items()
}
_EPSILON = 1e-6  # of every layer norm, in both libraries


class Attention(nnx.Module):
  """Multi-head self-attention; the softmax is computed in float32."""

  def __init__(self, width: int, heads: int, *, rngs: nnx.Rngs):
    """`width` is shared by the heads."""
    self.heads = heads
    self.qkv = layers.linear(width, 3 * width, rngs=rngs)
    self.proj = layers.linear(width, width, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, tokens, width]` -> the same."""
    batch, tokens, width = x.shape
    qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, -1)
    query, key, value = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    scale = (width // self.heads) ** -0.5
    scores = jnp.einsum("bqhd,bkhd->bhqk", query * scale, key)
    weights = jax.nn.softmax(scores.astype(jnp.float32)).astype(x.dtype)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value)
    return self.proj(mixed.reshape(batch, tokens, width))


class Block(nnx.Module):
  """Attention and MLP, each on the normalised residual stream."""

  def __init__(self, width: int, heads: int, *, rngs: nnx.Rngs):
    """The MLP is four times as wide."""
    norm = functools.partial(layers.LayerNorm, rngs=rngs)
    self.norm1, self.norm2 = norm(width, _EPSILON), norm(width, _EPSILON)
    self.attn = Attention(width, heads, rngs=rngs)
    self.mlp = layers.Mlp(width, 4 * width, width, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, tokens, width]` -> the same."""
    x = x + self.attn(self.norm1(x))
    return x + self.mlp(self.norm2(x))


class Embed(nnx.Module):
  """Cuts a picture into patches and projects each."""

  def __init__(self, patch: int, width: int, *, rngs: nnx.Rngs):
    """`patch` is a patch's side in pixels."""
    self.proj = layers.conv(3, width, patch, patch, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, H, W, 3]` -> `[B, patches, width]`, row by row."""
    x = self.proj(x)
    return x.reshape(x.shape[0], -1, x.shape[-1])


class Network(nnx.Module):
  """Patches and a class token through `depth` blocks; a head on the token."""

  def __init__(
    self,
    *,
    side: int,
    patch: int,
    width: int,
    depth: int,
    heads: int,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """`side` and `patch` in pixels; `heads` share `width`."""
    tokens = (side // patch) ** 2 + 1
    draw = jax.nn.initializers.normal(0.02)  # timm: std 0.02
    self.patch_embed = Embed(patch, width, rngs=rngs)
    self.cls_token = nnx.Param(jnp.zeros((1, 1, width)))
    self.pos_embed = nnx.Param(draw(rngs.params(), (1, tokens, width)))
    self.blocks = layers.Stack(
      [Block(width, heads, rngs=rngs) for _ in range(depth)]
    )
    self.norm = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.head = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, side, side, 3]` -> logits `[B, num_classes]`."""
    x = self.patch_embed(x)
    token = self.cls_token[...].astype(x.dtype)
    token = jnp.broadcast_to(token, (x.shape[0], *token.shape[1:]))
    x = jnp.concatenate([token, x], axis=1)
    x = self.blocks(x + self.pos_embed[...].astype(x.dtype))
    return self.head(self.norm(x[:, 0]))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  oracles=ORACLES,
  paper=(
    "Dosovitskiy et al. 2021, An Image is Worth 16x16 Words, arXiv:2010.11929"
  ),
)
