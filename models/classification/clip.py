"""CLIP's vision transformers (Radford et al. 2021, arXiv:2103.00020).

`clip_vit_b_32` and its like are OpenAI's, `openclip_vit_b_32` and its like
OpenCLIP's (Cherti et al. 2022, arXiv:2212.07143), without QuickGELU. They
classify by given texts: a logit is `exp(logit_scale)` times the cosine between
a picture and the class's text. The texts' embeddings, `[num_classes, n]`, are made
from prompts and class names by the text tower in the same file
(`models/zero_shot`), or come from a second file, in an array `text`, which `load`
takes as `head`.

`vit_base_patch32_clip_224` and its like are timm's fine-tuned towers with a
linear head on the class token.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers
from models.classification import vit
from models.family import Family, Rules
from models.layers import positions, qkv
from models.spec import Spec, Variant

EPSILON = 1e-5  # epsilon of every layer norm
_LOGIT_SCALE = np.log(1 / 0.07).astype(np.float32)  # before training
# clip/clip.py: _transform.
_OPENAI = Spec(
  resize_px=224,
  interpolation="bicubic",
  mean=(0.48145466, 0.4578275, 0.40821073),
  std=(0.26862954, 0.26130258, 0.27577711),
  flexible=False,
  weights="clip",
  source="openai/CLIP clip.py",
)
_OPENCLIP = dataclasses.replace(
  _OPENAI, weights="openclip", source="mlfoundations/open_clip transform.py"
)
_TIMM = dataclasses.replace(
  _OPENAI, weights="timm", source="timm 1.0.31 vision_transformer.py"
)
_HALF = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}
# Width, blocks, heads, size of an embedding.
_BASE, _LARGE = (768, 12, 12, 512), (1024, 24, 16, 768)
_HUGE = (1280, 32, 16, 1024)


def _variant(
  spec: Spec,
  size: tuple[int, int, int, int],
  patch: int,
  parameters: int,
  side: int = 224,
  *,
  text: bool = True,
) -> Variant:
  width, depth, heads, embedding = size
  if spec.input_px != side:
    spec = dataclasses.replace(spec, input_px=side, resize_px=side)
  spec = dataclasses.replace(spec, parameters=parameters)
  options = {"width": width, "depth": depth, "heads": heads, "patch": patch}
  more = {
    "side": side,
    "embedding": embedding if text else 0,
    "quick": spec.weights == "clip",
  }
  return Variant(spec, {**options, **more})


def _linear(
  size: tuple[int, int, int, int],
  patch: int,
  parameters: int,
  **fields: Any,
) -> Variant:
  """Return the variant of timm's first weights of a name (crop_pct, crop_mode)."""
  side = fields.get("input_px", 224)
  spec = dataclasses.replace(_TIMM, **{"resize_px": side, **fields})
  return _variant(spec, size, patch, parameters, side, text=False)


VARIANTS = {
  "clip_vit_b_32": _variant(_OPENAI, _BASE, 32, 88_361_217),
  "clip_vit_b_16": _variant(_OPENAI, _BASE, 16, 86_704_641),
  "clip_vit_l_14": _variant(_OPENAI, _LARGE, 14, 304_734_209),
  "clip_vit_l_14_336": _variant(_OPENAI, _LARGE, 14, 305_061_889, 336),
  "openclip_vit_b_32": _variant(_OPENCLIP, _BASE, 32, 88_361_217),
  "openclip_vit_b_16": _variant(_OPENCLIP, _BASE, 16, 86_704_641),
  "openclip_vit_l_14": _variant(_OPENCLIP, _LARGE, 14, 304_734_209),
  "openclip_vit_h_14": _variant(_OPENCLIP, _HUGE, 14, 633_100_801),
  "vit_base_patch32_clip_224": _linear(_BASE, 32, 88_225_000, resize_px=248),
  "vit_base_patch32_clip_384": _linear(_BASE, 32, 88_297_960, input_px=384),
  "vit_base_patch16_clip_224": _linear(_BASE, 16, 86_568_424, resize_px=235),
  "vit_base_patch16_clip_384": _linear(
    _BASE, 16, 86_860_264, input_px=384, resize="squash"
  ),
  "vit_large_patch14_clip_224": _linear(_LARGE, 14, 304_204_776, **_HALF),
  "vit_large_patch14_clip_336": _linear(
    _LARGE, 14, 304_532_456, input_px=336, resize="squash", **_HALF
  ),
  "vit_huge_patch14_clip_224": _linear(_HUGE, 14, 632_047_080),
  "vit_huge_patch14_clip_336": _linear(
    _HUGE, 14, 632_456_680, input_px=336, resize="squash"
  ),
}
_OPENAI_NAMES: Rules = (
  (r"^visual\.", ""),
  (r"^class_embedding$", "cls_token"),
  (r"^positional_embedding$", "pos_embed"),
  (r"^conv1\.", "patch_embed.proj."),
  (r"^ln_pre\.", "norm_pre."),
  (r"^ln_post\.", "norm."),
  (r"^transformer\.resblocks\.", "blocks."),
  (r"\.ln_([12])\.", r".norm\1."),
  (r"\.attn\.in_proj_", ".attn.qkv."),
  (r"\.attn\.out_proj\.", ".attn.proj."),
  (r"\.mlp\.c_fc\.", ".mlp.fc1."),
  (r"\.mlp\.c_proj\.", ".mlp.fc2."),
)
CHECKPOINTS: dict[str, Rules] = {
  "clip": _OPENAI_NAMES,
  "openclip": _OPENAI_NAMES,
  "hf": (
    (r"^vision_model\.", ""),
    (r"^embeddings\.class_embedding$", "cls_token"),
    (r"^embeddings\.patch_embedding\.", "patch_embed.proj."),
    (r"^embeddings\.position_embedding\.weight$", "pos_embed"),
    (r"^pre_layrnorm\.", "norm_pre."),
    (r"^post_layernorm\.", "norm."),
    (r"^visual_projection\.", "proj."),
    (r"^encoder\.layers\.", "blocks."),
    (r"\.layer_norm([12])\.", r".norm\1."),
    (r"\.self_attn\.out_proj\.", ".attn.proj."),
  ),
  "timm": (),
}
# The text tower in OpenAI's and OpenCLIP's files, and in HF's.
IGNORED = (
  r"^(?:module\.)?(?:token_embedding|text_projection|ln_final|text_model)(?:\.|$)",
  r"^(?:module\.)?(?:transformer\.resblocks\.|positional_embedding$|attn_mask$)",
  r"^(?:input_resolution|context_length|vocab_size)$",
  r"\.position_ids$",
)
ORACLES = {name: f"timm:{name}" for name in VARIANTS if "_patch" in name}


def _regroup(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Join HF's q, k and v, and lay OpenAI's projection, `[width, n]`, like torch."""
  return {
    f"{name}.weight" if name.endswith("visual.proj") else name: (
      array.T if name.endswith("visual.proj") else array
    )
    for name, array in qkv.join(arrays).items()
  }


class QuickMlp(layers.Mlp):
  """An MLP with x * sigmoid(1.702 x) in place of GELU (OpenAI's `QuickGELU`)."""

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[..., inputs]` to `[..., outputs]`."""
    x = self.fc1(x)
    return self.fc2(x * jax.nn.sigmoid(1.702 * x))


class Network(nnx.Module):
  """Patches and a class token through blocks, then texts or a linear head."""

  def __init__(
    self,
    *,
    side: int,
    patch: int,
    width: int,
    depth: int,
    heads: int,
    embedding: int,
    quick: bool,
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
      embedding: width of a text's embedding; 0 for a linear head.
      quick: whether MLPs have QuickGELU.
      num_classes: number of texts, or logits.
      rngs: for the initial weights.
    """
    patches = positions.grid(side, patch) ** 2
    draw = jax.nn.initializers.normal(0.02)
    norm = functools.partial(layers.LayerNorm, width, EPSILON, rngs=rngs)
    self.patch_embed = vit.Embed(patch, width, bias=False, rngs=rngs)
    self.cls_token = nnx.Param(draw(rngs.params(), (1, 1, width)))
    self.pos_embed = nnx.Param(draw(rngs.params(), (1, patches + 1, width)))
    self.norm_pre = norm()
    mlp = QuickMlp if quick else layers.Mlp
    block = functools.partial(vit.Block, width, heads, epsilon=EPSILON)
    self.blocks = layers.Stack(
      [block(mlp=mlp, rngs=rngs) for _ in range(depth)]
    )
    self.norm = norm()
    self.by_text = embedding > 0
    if self.by_text:
      self.proj = layers.linear(width, embedding, bias=False, rngs=rngs)
      self.text = nnx.Param(draw(rngs.params(), (num_classes, embedding)))
      self.logit_scale = nnx.Param(jnp.asarray(_LOGIT_SCALE))
    else:
      self.head = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, side, side, 3]` to logits `[B, num_classes]`."""
    x = vit.prepend_tokens(self.patch_embed(x), self.cls_token)
    x = self.norm_pre(x + self.pos_embed[...].astype(x.dtype))
    x = self.norm(self.blocks(x)[:, 0])
    if not self.by_text:
      return self.head(x)
    pictures, texts = unit(self.proj(x)), unit(self.text[...])
    return jnp.exp(self.logit_scale[...]) * (pictures @ texts.T)


def unit(x: jax.Array) -> jax.Array:
  """Normalise rows `[n, width]` to length 1, in float32."""
  x = x.astype(jnp.float32)
  return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  ignored=IGNORED,
  regroup=_regroup,
  fit=positions.fit,
  sized=True,
  # No styles are equal: the names do not say which of the two has QuickGELU.
  oracles=ORACLES,
  stages=vit.STAGES,
)
