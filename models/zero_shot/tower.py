"""CLIP's text towers (Radford et al. 2021, section 2.4), read from both towers' file.

Ids pass through causal blocks; a text's feature is the last block's output at the
end's id, which is the largest, normalised and projected. A tower belongs to a
vision tower of `models/classification/clip.py` and has its activation.
"""

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
from models.family import Family
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
_PROJECTIONS = ("text_projection", "module.text_projection")  # OpenAI's
_BATCH = 128  # texts, a power of two
_STEP = (
  8  # ids: texts are padded to a multiple, so that few shapes are compiled
)
_OPENAI = (
  (r"^token_embedding\.weight$", "token_embedding"),
  (r"^ln_final\.", "norm."),
  *clip.CHECKPOINTS["openclip"],
)
_HF = (
  (r"^text_model\.", ""),
  (r"^embeddings\.token_embedding\.weight$", "token_embedding"),
  (r"^final_layer_norm\.", "norm."),
  *clip.CHECKPOINTS["hf"],
)
# The vision tower, what both share, and numbers of OpenAI's archives.
_IGNORED = (
  r"^(?:module\.)?(?:visual|vision_model|visual_projection)\.",
  r"^(?:module\.)?(?:logit_scale|logit_bias|attn_mask)$",
  r"^(?:input_resolution|context_length|vocab_size)$",
  r"\.position_ids$",
)


def _regroup(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Join HF's q, k and v, and lay OpenAI's projection, `[width, n]`, like torch."""
  return {
    f"{name}.weight" if name in _PROJECTIONS else name: (
      array.T if name in _PROJECTIONS else array
    )
    for name, array in qkv.join(arrays).items()
  }


class CausalAttention(vit.Attention):
  """Self-attention of each id to itself and to those before it."""

  def _masked(self, scores: jax.Array) -> jax.Array:
    """Return scores `[B, heads, ids, ids]`, those of later ids infinite."""
    return jnp.where(jnp.tri(scores.shape[-1], dtype=bool), scores, -jnp.inf)


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
    """Build the blocks; see `clip.Network`. `num_classes` is the number of ids."""
    draw = jax.nn.initializers.normal(0.01)  # clip/model.py
    norm = functools.partial(layers.LayerNorm, width, clip.EPSILON, rngs=rngs)
    places = (tokenizer.CONTEXT, width)
    self.token_embedding = nnx.Param(draw(rngs.params(), (num_classes, width)))
    self.pos_embed = nnx.Param(draw(rngs.params(), places))
    mlp = clip.QuickMlp if quick else layers.Mlp
    block = functools.partial(
      vit.Block, width, heads, epsilon=clip.EPSILON, attention=CausalAttention
    )
    self.blocks = layers.Stack(
      [block(mlp=mlp, rngs=rngs) for _ in range(depth)]
    )
    self.norm = norm()
    self.text_projection = layers.linear(
      width, embedding, bias=False, rngs=rngs
    )

  def __call__(self, ids: jax.Array) -> jax.Array:
    """Map ids `[B, up to 77]` to embeddings `[B, embedding]`."""
    x = self.token_embedding[...][ids] + self.pos_embed[...][: ids.shape[1]]
    ends = self.blocks(x)[jnp.arange(len(ids)), ids.argmax(1)]
    return self.text_projection(self.norm(ends))


@dataclasses.dataclass(frozen=True)
class TextTower(NetworkModel):
  """A text tower; its spec's `num_classes` is the number of its ids."""

  def apply(
    self, variables: Variables, batch: Any, *args: Any, **kwargs: Any
  ) -> jax.Array:
    """Return embeddings of length 1, float32 `[B, n]`, of ids int32 `[B, ids]`."""
    with jax.default_matmul_precision("highest"):
      return clip.unit(self.merge(variables)(batch))


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


def model(name: str, ids: int) -> TextTower:
  """Return the text tower of a model for a number of ids.

  Raises:
    UserError: the model has none.
  """
  vision = clip.VARIANTS[check(name)].options
  sizes = dict(zip(("width", "depth", "heads"), SIZES[vision["embedding"]]))
  shared = {key: vision[key] for key in ("embedding", "quick")}
  spec = Spec(num_classes=ids, weights="openclip")
  variant = Variant(spec, {**sizes, **shared})
  return TextTower(f"{name}'s text tower", spec, variant, FAMILY)


def load(
  name: str, checkpoint: str | os.PathLike[str] | sources.Located
) -> match.Loaded:
  """Load the text tower of a CLIP model from the file that has both towers.

  Args:
    name: name of the model with the vision tower.
    checkpoint: as for `models.convert.load`, or already located.

  Raises:
    UserError: the model or the file has no text tower, or it is of another one.
  """
  check(name)
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
  return match.match_arrays(model(name, len(tokens[0])), arrays, located.name)


def embed(tower: match.Loaded, ids: np.ndarray) -> np.ndarray:
  """Return embeddings of length 1, float32 `[N, n]`.

  Ids after a text's end change nothing, so that a batch holds texts of like
  lengths and is as long as these.

  Args:
    tower: from `load`.
    ids: int32 `[N, 77]`, from a `Tokenizer`.
  """
  lengths = -(-(ids.argmax(1) + 1) // _STEP) * _STEP
  variables = jax.device_put(tower.variables)
  compute = jax.jit(tower.model.apply)
  width = tower.model.variant.options["embedding"]
  out = np.empty((len(ids), width), np.float32)
  for length in np.unique(lengths):
    places = np.flatnonzero(lengths == length)
    for start in range(0, len(places), _BATCH):
      rows = places[start : start + _BATCH]
      size = 1 << (len(rows) - 1).bit_length()  # few shapes, of little padding
      batch = np.zeros((size, min(length, ids.shape[1])), np.int32)
      batch[: len(rows)] = ids[rows, :length]
      out[rows] = np.asarray(compute(variables, batch))[: len(rows)]
  return out


FAMILY = Family(
  Network,
  {},
  {"openclip": _OPENAI, "hf": _HF},
  ignored=_IGNORED,
  regroup=_regroup,
)
