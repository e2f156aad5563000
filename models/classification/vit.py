"""Vision transformers (Dosovitskiy et al. 2021, arXiv:2010.11929) and DeiT.

`vit_b_16` and its like are torchvision's; `vit_base_patch16_224` and its like
timm's, ported from the checkpoints of "How to train your ViT" (Steiner et al.
2022, arXiv:2106.10270). `deit_...` are Touvron et al. 2021 (arXiv:2012.12877),
with a second token and head if `distilled`; `deit3_...` are Touvron et al. 2022
(arXiv:2204.07118), with layer scale. The networks differ in little else.

A model takes pictures of one size, `spec.input_px`. Positions of a checkpoint
of another size are interpolated when it is loaded (`positions.fit`).
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.layers import positions, qkv, train_mode
from models.spec import Spec, Variant

_TORCHVISION = Spec(
  flexible=False, source="torchvision 0.28 vision_transformer.py"
)
# torchvision's SWAG weights (Singh et al. 2022, arXiv:2201.08371).
_SWAG = dataclasses.replace(
  _TORCHVISION, resize_px=224, interpolation="bicubic"
)
# timm 1.0.31: crop_pct 0.9 of 224 px, 1.0 of 384 px.
_DEIT = Spec(
  resize_px=248,
  interpolation="bicubic",
  flexible=False,
  weights="deit",
  source="timm 1.0.31 deit.py (fb_in1k)",
)
_TIMM = dataclasses.replace(
  _DEIT,
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  weights="timm",
  source="timm 1.0.31 vision_transformer.py (augreg)",
)
# Width, blocks, heads.
_TINY, _SMALL, _MEDIUM = (192, 12, 3), (384, 12, 6), (512, 12, 8)
_BASE, _LARGE, _HUGE = (768, 12, 12), (1024, 24, 16), (1280, 32, 16)
_WIDE_PX = 384


def _variant(
  spec: Spec,
  size: tuple[int, int, int],
  patch: int,
  parameters: int,
  side: int = 224,
  **others: Any,
) -> Variant:
  if side != spec.input_px:
    spec = dataclasses.replace(spec, input_px=side, resize_px=side)
  spec = dataclasses.replace(spec, parameters=parameters)
  width, depth, heads = size
  options = {"patch": patch, "width": width, "depth": depth, "heads": heads}
  rate = _DEIT_RATE if spec.weights == "deit" else 0.0
  return Variant(spec, {"side": side, **options, "drop_path": rate, **others})


def _both(
  stem: str,
  spec: Spec,
  size: tuple[int, int, int],
  patch: int,
  parameters: tuple[int, int],
  **others: Any,
) -> dict[str, Variant]:
  """Return variants of a network for pictures of 224 px and of 384 px."""
  return {
    f"{stem}_patch{patch}_{side}": _variant(
      spec, size, patch, count, side, **others
    )
    for side, count in zip((224, _WIDE_PX), parameters, strict=True)
  }


# Rates of stochastic depth: the authors' main.py, its default, and
# README_revenge.md, which lacks medium (here as base). Of torchvision's and
# timm's own networks nothing says that they were trained with any.
_DEIT_RATE = 0.1


def _deit3(drop_path: float) -> dict[str, Any]:
  """Return the options of DeiT III's networks."""
  own = {"layer_scale": True, "class_position": False}
  return {**own, "drop_path": drop_path}


_L16 = dataclasses.replace(_TORCHVISION, resize_px=242)
VARIANTS = {
  "vit_b_16": _variant(_TORCHVISION, _BASE, 16, 86_567_656),
  "vit_b_16_384": _variant(_SWAG, _BASE, 16, 86_859_496, 384),
  "vit_b_32": _variant(_TORCHVISION, _BASE, 32, 88_224_232),
  "vit_l_16": _variant(_L16, _LARGE, 16, 304_326_632),
  "vit_l_16_512": _variant(_SWAG, _LARGE, 16, 305_174_504, 512),
  "vit_l_32": _variant(_TORCHVISION, _LARGE, 32, 306_535_400),
  "vit_h_14": _variant(_SWAG, _HUGE, 14, 632_045_800),
  "vit_h_14_518": _variant(_SWAG, _HUGE, 14, 633_470_440, 518),
  **_both("vit_tiny", _TIMM, _TINY, 16, (5_717_416, 5_790_376)),
  **_both("vit_small", _TIMM, _SMALL, 32, (22_878_952, 22_915_432)),
  **_both("vit_small", _TIMM, _SMALL, 16, (22_050_664, 22_196_584)),
  "vit_small_patch8_224": _variant(_TIMM, _SMALL, 8, 22_055_272),
  **_both("vit_base", _TIMM, _BASE, 32, (88_224_232, 88_297_192)),
  **_both("vit_base", _TIMM, _BASE, 16, (86_567_656, 86_859_496)),
  "vit_base_patch8_224": _variant(_TIMM, _BASE, 8, 86_576_872),
  **_both("vit_large", _TIMM, _LARGE, 32, (306_535_400, 306_632_680)),
  **_both("vit_large", _TIMM, _LARGE, 16, (304_326_632, 304_715_752)),
  "vit_large_patch14_224": _variant(_TIMM, _LARGE, 14, 304_203_752),
  "vit_huge_patch14_224": _variant(_TIMM, _HUGE, 14, 632_045_800),
  "deit_tiny_patch16_224": _variant(_DEIT, _TINY, 16, 5_717_416),
  "deit_small_patch16_224": _variant(_DEIT, _SMALL, 16, 22_050_664),
  **_both("deit_base", _DEIT, _BASE, 16, (86_567_656, 86_859_496)),
  "deit_tiny_distilled_patch16_224": _variant(
    _DEIT, _TINY, 16, 5_910_800, distilled=True
  ),
  "deit_small_distilled_patch16_224": _variant(
    _DEIT, _SMALL, 16, 22_436_432, distilled=True
  ),
  **_both(
    "deit_base_distilled",
    _DEIT,
    _BASE,
    16,
    (87_338_192, 87_630_032),
    distilled=True,
  ),
  **_both(
    "deit3_small", _DEIT, _SMALL, 16, (22_059_496, 22_205_416), **_deit3(0.05)
  ),
  "deit3_medium_patch16_224": _variant(
    _DEIT, _MEDIUM, 16, 38_849_512, **_deit3(0.2)
  ),
  **_both(
    "deit3_base", _DEIT, _BASE, 16, (86_585_320, 86_877_160), **_deit3(0.2)
  ),
  **_both(
    "deit3_large", _DEIT, _LARGE, 16, (304_374_760, 304_763_880), **_deit3(0.45)
  ),
  "deit3_huge_patch14_224": _variant(
    _DEIT, _HUGE, 14, 632_126_440, **_deit3(0.6)
  ),
}
# HF's names are those of transformers 4; transformers 5 has other names for
# some in memory. In both, q, k and v are already joined. HF's layer norms add
# 1e-12 instead of the authors' 1e-6, with which these weights were trained.
HF_BLOCKS: Rules = (
  (r"\.layernorm_before\.", ".norm1."),
  (r"\.layernorm_after\.", ".norm2."),
  (r"\.attention\.(?:output\.dense|o_proj)\.", ".attn.proj."),
  (r"\.intermediate\.dense\.", ".mlp.fc1."),
  (r"\.output\.dense\.", ".mlp.fc2."),
)
HF_EMBEDDINGS: Rules = (
  (r"^embeddings\.patch_embeddings\.projection\.", "patch_embed.proj."),
  (r"^embeddings\.cls_token$", "cls_token"),
  (r"^embeddings\.position_embeddings$", "pos_embed"),
  (r"^(?:encoder\.layer|layers)\.", "blocks."),
  (r"^layernorm\.", "norm."),
)
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
  # The authors' own files too; they call layer scale `gamma_1`.
  "deit": ((r"\.gamma_([12])$", r".ls\1.gamma"),),
  "hf": (
    (r"^(?:vit|deit)\.", ""),
    *HF_EMBEDDINGS,
    *HF_BLOCKS,
    (r"^embeddings\.distillation_token$", "dist_token"),
    (r"^(?:cls_)?classifier\.", "head."),
    (r"^distillation_classifier\.", "head_dist."),
  ),
  # google-research/vision_transformer ("augreg") and big_vision.
  "big_vision": (
    *qkv.FLAX_NAMES,
    (r"^cls$", "cls_token"),
    (r"^(?:Transformer\.posembed_input\.)?pos_embedding$", "pos_embed"),
    (r"^embedding\.", "patch_embed.proj."),
    (r"^Transformer\.encoder_norm\.", "norm."),
    (r"^Transformer\.encoderblock_(\d+)\.", r"blocks.\1."),
    (r"\.LayerNorm_0\.", ".norm1."),
    (r"\.LayerNorm_[12]\.", ".norm2."),
    (r"\.MultiHeadDotProductAttention_\d\.qkv\.", ".attn.qkv."),
    (r"\.MultiHeadDotProductAttention_\d\.out\.", ".attn.proj."),
    (r"\.MlpBlock_\d\.Dense_0\.", ".mlp.fc1."),
    (r"\.MlpBlock_\d\.Dense_1\.", ".mlp.fc2."),
  ),
}
ORACLES = {
  name: f"torchvision:{'_'.join(name.split('_')[:3])}"
  if variant.spec.weights == "torchvision"
  else f"timm:{name}"
  for name, variant in VARIANTS.items()
}
# Of this and like networks: what comes before the first block, and each block.
STAGES = (
  # MViT's `norm_embed` is its last norm.
  r"cls_positional_encoding|\w+_token|register_tokens|(?!norm)\w+_embed|norm_pre",
  r"blocks/(\d+)",
)
EPSILON = 1e-6  # epsilon of every layer norm, in both libraries


class Attention(nnx.Module):
  """Multi-head self-attention; the softmax is computed in float32."""

  def __init__(self, width: int, heads: int, *, rngs: nnx.Rngs):
    """Create the attention; `width` is shared by the heads."""
    self.heads = heads
    self.qkv = layers.linear(width, 3 * width, rngs=rngs)
    self.proj = layers.linear(width, width, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, tokens, width]` to the same shape."""
    batch, tokens, width = x.shape
    parts = self._project(x).reshape(batch, tokens, 3, self.heads, -1)
    query, key, value = parts[:, :, 0], parts[:, :, 1], parts[:, :, 2]
    scale = (width // self.heads) ** -0.5
    scores = jnp.einsum("bqhd,bkhd->bhqk", query * scale, key)
    scores = self._masked(scores.astype(jnp.float32))
    weights = jax.nn.softmax(scores).astype(x.dtype)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value)
    return self.proj(mixed.reshape(batch, tokens, width))

  def _project(self, x: jax.Array) -> jax.Array:
    """Map `[..., width]` to queries, keys and values `[..., 3 * width]`."""
    return self.qkv(x)

  def _masked(self, scores: jax.Array) -> jax.Array:
    """Return scores `[B, heads, tokens, tokens]`; here every token counts."""
    return scores


class Scale(nnx.Module):
  """A factor per channel (Touvron et al. 2021, arXiv:2103.17239)."""

  def __init__(self, width: int):
    """Create the factors with the published networks' initial value, 1e-5."""
    self.gamma = nnx.Param(jnp.full(width, 1e-5))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[..., width]` to the same shape."""
    return x * self.gamma[...].astype(x.dtype)


class Block(nnx.Module):
  """A block of attention and MLP, each on the normalised residual stream."""

  def __init__(
    self,
    width: int,
    heads: int,
    *,
    layer_scale: bool = False,
    drop_path: float = 0.0,
    epsilon: float = EPSILON,
    mlp: Callable[..., nnx.Module] = layers.Mlp,
    attention: type[Attention] = Attention,
    rngs: nnx.Rngs,
  ):
    """Create the block; `mlp` takes the widths before, inside (four times as
    wide) and after.

    Residuals drop at the rate `drop_path`.
    """
    self.norm1 = layers.LayerNorm(width, epsilon, rngs=rngs)
    self.attn = attention(width, heads, rngs=rngs)
    self.norm2 = layers.LayerNorm(width, epsilon, rngs=rngs)
    self.mlp = mlp(width, 4 * width, width, rngs=rngs)
    self.drop_path1 = layers.StochasticDepth(drop_path)
    self.drop_path2 = layers.StochasticDepth(drop_path)
    self.scales = layer_scale
    if layer_scale:
      self.ls1, self.ls2 = Scale(width), Scale(width)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, tokens, width]` to the same shape."""
    step = self.attn(self.norm1(x))
    x = x + self.drop_path1(self.ls1(step) if self.scales else step)
    step = self.mlp(self.norm2(x))
    return x + self.drop_path2(self.ls2(step) if self.scales else step)


class Embed(nnx.Module):
  """An embedding that cuts a picture into patches and projects each."""

  def __init__(
    self, patch: int, width: int, *, bias: bool = True, rngs: nnx.Rngs
  ):
    """Create the module; `patch` is a patch's side in pixels."""
    self.proj = layers.conv(3, width, patch, patch, bias=bias, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to `[B, patches, width]`, row by row."""
    x = self.proj(x)
    return x.reshape(x.shape[0], -1, x.shape[-1])


class Network(nnx.Module):
  """Patches and one or two tokens through `depth` blocks, and a head on each token."""

  def __init__(
    self,
    *,
    side: int,
    patch: int,
    width: int,
    depth: int,
    heads: int,
    distilled: bool = False,
    layer_scale: bool = False,
    class_position: bool = True,
    drop_path: float = 0.0,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the blocks.

    Args:
      side: side of a picture, in px.
      patch: side of a patch, in px.
      width: width of a token, shared by the heads.
      depth: number of blocks.
      heads: number of attention heads.
      distilled: whether there is DeiT's second token, with a head of its own.
      layer_scale: whether what a block adds is scaled.
      class_position: whether the class token has a position.
      drop_path: rate of stochastic depth: that of the last block, growing from
        0, or with `layer_scale` that of all blocks, as in DeiT III.
      num_classes: number of logits of each head.
      rngs: for the initial weights.
    """
    patches = positions.grid(side, patch) ** 2
    tokens = patches + (1 + distilled if class_position else 0)
    draw = jax.nn.initializers.normal(0.02)  # timm: std 0.02
    self.patch_embed = Embed(patch, width, rngs=rngs)
    self.cls_token = nnx.Param(jnp.zeros((1, 1, width)))
    if distilled:
      self.dist_token = nnx.Param(jnp.zeros((1, 1, width)))
    self.pos_embed = nnx.Param(draw(rngs.params(), (1, tokens, width)))
    (rates,) = train_mode.rates(drop_path, (depth,))
    if layer_scale:
      rates = [drop_path] * depth
    self.blocks = layers.Stack(
      [
        Block(width, heads, layer_scale=layer_scale, drop_path=rate, rngs=rngs)
        for rate in rates
      ]
    )
    self.norm = layers.LayerNorm(width, EPSILON, rngs=rngs)
    self.head = layers.linear(width, num_classes, rngs=rngs)
    if distilled:
      self.head_dist = layers.linear(width, num_classes, rngs=rngs)
    self.distilled, self.class_position = distilled, class_position

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, side, side, 3]` to logits `[B, num_classes]`."""
    x, places = self.patch_embed(x), self.pos_embed[...].astype(x.dtype)
    tokens = [self.cls_token]
    if self.distilled:
      tokens.append(self.dist_token)
    if self.class_position:
      x = prepend_tokens(x, *tokens) + places
    else:
      x = prepend_tokens(x + places, *tokens)
    x = self.blocks(x)
    logits = self.head(self.norm(x[:, 0]))
    if self.distilled:
      logits = (logits + self.head_dist(self.norm(x[:, 1]))) / 2
    return logits


def prepend_tokens(x: jax.Array, *tokens: nnx.Param) -> jax.Array:
  """Prepend tokens `[1, n, width]` to those of each picture `[B, n, width]`."""
  rows = [
    jnp.broadcast_to(
      token[...].astype(x.dtype), (len(x), *token[...].shape[1:])
    )
    for token in tokens
  ]
  return jnp.concatenate([*rows, x], axis=1)


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  regroup=qkv.join,
  flax_styles=("big_vision",),
  fit=positions.fit,
  sized=True,
  # timm ported the checkpoints of big_vision.
  alike=(("timm", "big_vision"),),
  oracles=ORACLES,
  stages=STAGES,
)
