"""CLIP's text towers (Radford et al. 2021, section 2.4), read from both towers' file.

Ids pass through causal blocks; a text's feature is its last block's output at the
end's id, which is the largest, normalised and projected. A tower belongs to a
vision tower of `models/classification/clip.py` and has its activation.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import catalogue, layers
from models.classification import clip, vit
from models.convert import formats, match, sources
from models.family import Family, Rules
from models.layers import qkv
from models.model import NetworkModel
from models.spec import Spec, Variant
from models.variables import Variables
from models.zero_shot import tokenizer
from robust_tfds import errors

# Size of an embedding -> width, blocks, heads: paper, table 20; of H/14 OpenCLIP's
# model_configs/ViT-H-14.json.
SIZES = {512: (512, 12, 8), 768: (768, 12, 12), 1024: (1024, 24, 16)}
_TOKENS = "token_embedding.weight"
_BATCH = 128  # texts
_STEP = (
  8  # ids: texts are padded to a multiple, so that few shapes are compiled
)
_OPENAI: Rules = (
  (r"^token_embedding\.weight$", "token_embedding"),
  (r"^ln_final\.", "norm."),
  (r"^transformer\.resblocks\.", "blocks."),
  (r"\.ln_([12])\.", r".norm\1."),
  (r"\.attn\.in_proj_", ".attn.qkv."),
  (r"\.attn\.out_proj\.", ".attn.proj."),
  (r"\.mlp\.c_fc\.", ".mlp.fc1."),
  (r"\.mlp\.c_proj\.", ".mlp.fc2."),
)
_CHECKPOINTS: dict[str, Rules] = {
  "openclip": _OPENAI,
  "hf": (
    (r"^text_model\.", ""),
    (r"^embeddings\.token_embedding\.weight$", "token_embedding"),
    (r"^embeddings\.position_embedding\.weight$", "positional_embedding"),
    (r"^final_layer_norm\.", "norm."),
    (r"^encoder\.layers\.", "blocks."),
    (r"\.layer_norm([12])\.", r".norm\1."),
    (r"\.self_attn\.out_proj\.", ".attn.proj."),
  ),
}
# The vision tower, what both share, and numbers of OpenAI's archives.
_IGNORED = (
  r"^(?:module\.)?(?:visual|vision_model|visual_projection)\.",
  r"^(?:module\.)?(?:logit_scale|logit_bias|attn_mask)$",
  r"^(?:input_resolution|context_length|vocab_size)$",
  r"\.position_ids$",
)


def _regroup(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Join HF's q, k and v, and lay OpenAI's projection, `[width, n]`, like torch."""
  joined = qkv.join(arrays)
  for name in ("text_projection", "module.text_projection"):
    if name in joined:
      joined[f"{name}.weight"] = joined.pop(name).T
  return joined


class CausalAttention(vit.Attention):
  """Self-attention of each id to itself and those before it."""

  def _masked(self, scores: jax.Array) -> jax.Array:
    """Return scores `[B, heads, ids, ids]` with those of later ids infinite."""
    count = scores.shape[-1]
    return jnp.where(jnp.tri(count, dtype=bool), scores, -jnp.inf)


class Network(nnx.Module):
  """Ids to embeddings."""

  def __init__(
    self,
    *,
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
      width: width of an id's token, shared by the heads.
      depth: number of blocks.
      heads: number of attention heads.
      embedding: width of a text's embedding.
      quick: whether MLPs have QuickGELU.
      num_classes: number of ids.
      rngs: for the initial weights.
    """
    draw = jax.nn.initializers.normal(0.01)  # clip/model.py
    self.token_embedding = nnx.Param(draw(rngs.params(), (num_classes, width)))
    self.positional_embedding = nnx.Param(
      draw(rngs.params(), (tokenizer.CONTEXT, width))
    )
    block = functools.partial(
      vit.Block,
      width,
      heads,
      epsilon=clip.EPSILON,
      mlp=clip.QuickMlp if quick else layers.Mlp,
      attention=CausalAttention,
    )
    self.blocks = layers.Stack([block(rngs=rngs) for _ in range(depth)])
    self.norm = layers.LayerNorm(width, clip.EPSILON, rngs=rngs)
    self.text_projection = layers.linear(
      width, embedding, bias=False, rngs=rngs
    )

  def __call__(self, ids: jax.Array) -> jax.Array:
    """Map ids `[B, up to 77]` to embeddings `[B, embedding]`."""
    places = self.positional_embedding[...][: ids.shape[1]]
    x = self.blocks(self.token_embedding[...][ids] + places)
    ends = self.norm(x[jnp.arange(len(ids)), ids.argmax(1)])
    return self.text_projection(ends)


@dataclasses.dataclass(frozen=True)
class TextTower(NetworkModel):
  """A text tower; its spec's `num_classes` is the number of its ids."""

  def apply(
    self, variables: Variables, batch: Any, *args: Any, **kwargs: Any
  ) -> jax.Array:
    """Return embeddings of length 1, float32 `[B, n]`, of ids int32 `[B, ids]`."""
    network = self.merge(variables)
    with jax.default_matmul_precision("highest"):
      return clip.unit(network(batch))


def load(name: str, checkpoint: str | os.PathLike[str] | Any) -> match.Loaded:
  """Load the text tower of a CLIP model from the file that has both towers.

  Args:
    name: of the model with the vision tower.
    checkpoint: as for `models.convert.load`, or already located.

  Raises:
    UserError: the model or the file has no text tower, or it is of another one.
  """
  variant = _variant(name)
  located = sources.locate(checkpoint)
  arrays = formats.read(located.path)
  tokens = [a for n, a in arrays.items() if n.endswith(_TOKENS)]
  if not tokens:
    raise errors.UserError(
      f"{located.name} has no text tower (no array {_TOKENS}): expected a file of"
      " both towers, as OpenAI's state dict, OpenCLIP's"
      " open_clip_model.safetensors or transformers' CLIPModel. timm's files, and"
      " those that robust-tfds convert writes, have the vision tower alone."
    )
  spec = Spec(num_classes=len(tokens[0]), weights="openclip")
  model = TextTower(f"{name}'s text tower", spec, variant, FAMILY)
  return match.match_arrays(model, arrays, located.name)


def check(name: str) -> str:
  """Return the name of a model that has a text tower, without enhancements.

  Raises:
    UserError: the model has none.
  """
  base, _ = catalogue.split(name)
  known = [n for n, v in clip.VARIANTS.items() if v.options["embedding"]]
  if base not in known:
    raise errors.UserError(
      f"{name} has no text tower, which prompts need: expected one of"
      f" {', '.join(known)}."
    )
  return base


def _variant(name: str) -> Variant:
  """Return the variant of a model's text tower; refuse a model without one."""
  vision = clip.VARIANTS[check(name)]
  embedding = vision.options["embedding"]
  width, depth, heads = SIZES[embedding]
  options = {"width": width, "depth": depth, "heads": heads}
  shared = {"embedding": embedding, "quick": vision.options["quick"]}
  return Variant(vision.spec, {**options, **shared})


def embed(tower: match.Loaded, ids: np.ndarray) -> np.ndarray:
  """Return embeddings of length 1, float32 `[N, n]`.

  Ids after a text's end change nothing, so that batches hold texts of like
  lengths and are as long as these.

  Args:
    tower: from `load`.
    ids: int32 `[N, 77]`, from a `Tokenizer`.
  """
  lengths = -(-(ids.argmax(1) + 1) // _STEP) * _STEP
  variables = jax.device_put(tower.variables)
  compute = jax.jit(tower.model.apply)
  out: np.ndarray | None = None
  for length in np.unique(lengths):
    places = np.flatnonzero(lengths == length)
    for start in range(0, len(places), _BATCH):
      rows = places[start : start + _BATCH]
      batch = np.zeros((_BATCH, min(length, ids.shape[1])), np.int32)
      batch[: len(rows)] = ids[rows, :length]
      got = np.asarray(compute(variables, batch))[: len(rows)]
      if out is None:
        out = np.empty((len(ids), got.shape[1]), np.float32)
      out[rows] = got
  assert out is not None  # there are texts
  return out


FAMILY = Family(Network, {}, _CHECKPOINTS, ignored=_IGNORED, regroup=_regroup)
