"""VideoMAE's fine-tuned transformers (Tong et al. 2022, arXiv:2203.12602).

A vision transformer on tubes of 2 x 16 x 16 px with fixed positions; the mean
of its tokens is classified. Attribute names follow the authors' repository;
transformers' names are known too. transformers' layer norms add 1e-12 and 1e-5
instead of the authors' 1e-6, with which the weights were trained.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers
from models.classification import vit
from models.family import Family, Rules
from models.layers import qkv, train_mode
from models.spec import Variant
from models.video import volumes
from models.video.spec import VideoSpec

_SPEC = VideoSpec(
  resize_px=224,
  # The repository's datasets.py, VideoClsDataset.
  mean=(0.485, 0.456, 0.406),
  std=(0.229, 0.224, 0.225),
  frames=16,
  rate=4,
  any_length=False,
  flexible=False,
  weights="videomae",
  source="MCG-NJU/VideoMAE, modeling_finetune.py and scripts/kinetics",
)
_TUBE = (2, 16, 16)


def _variant(
  width: int, depth: int, heads: int, parameters: int, **rates: float
) -> Variant:
  spec = dataclasses.replace(_SPEC, parameters=parameters)
  options = {"width": width, "depth": depth, "heads": heads}
  return Variant(spec, {**options, **rates})


VARIANTS = {
  "videomae_small": _variant(384, 12, 6, 22_033_936),
  "videomae_base": _variant(768, 12, 12, 86_534_800),
  "videomae_large": _variant(1024, 24, 16, 304_270_736),
  # From scripts/kinetics/*huge*/finetune.sh; the other scripts name no rates.
  "videomae_huge": _variant(
    1280, 32, 16, 632_119_440, drop_path=0.2, dropout=0.5
  ),
}
CHECKPOINTS: dict[str, Rules] = {
  "videomae": (),
  "transformers": (
    (r"^videomae\.", ""),
    *vit.HF_EMBEDDINGS,
    (r"^encoder\.layer\.", "blocks."),
    *vit.HF_BLOCKS,
    (r"^classifier\.", "head."),
  ),
}
# transformers 4 and 5 have different names for the two biases.
_BIASES = re.compile(
  r"attention\.attention\.(?:([qv])_bias|(query|value)\.bias)$"
)


def regroup(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Join transformers' queries, keys and values, with the authors' biases."""
  return qkv.join(
    {
      _BIASES.sub(lambda m: f"attn.{(m[1] or m[2])[0]}_bias", name): array
      for name, array in arrays.items()
    }
  )


class Attention(vit.Attention):
  """The attention of a vision transformer, without a bias of keys."""

  def __init__(self, width: int, heads: int, *, rngs: nnx.Rngs):
    """Create the attention; `width` is shared by the heads."""
    super().__init__(width, heads, rngs=rngs)
    self.qkv = layers.linear(width, 3 * width, bias=False, rngs=rngs)
    self.q_bias = nnx.Param(jnp.zeros(width))
    self.v_bias = nnx.Param(jnp.zeros(width))

  def _project(self, x: jax.Array) -> jax.Array:
    query, value = self.q_bias[...], self.v_bias[...]
    bias = jnp.concatenate([query, jnp.zeros_like(query), value])
    return self.qkv(x) + bias.astype(x.dtype)


class Network(nnx.Module):
  """Tubes through `depth` blocks, and a head on their mean."""

  def __init__(
    self,
    *,
    width: int,
    depth: int,
    heads: int,
    drop_path: float = 0.1,
    dropout: float = 0.0,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `width` is shared by the heads.

    Stochastic depth grows from 0 to `drop_path`, and `dropout` is before the
    head; the defaults are those of the repository's run_class_finetuning.py.
    """
    embed = volumes.Conv3d(3, width, _TUBE, _TUBE, bias=True, rngs=rngs)
    self.patch_embed = layers.Stack({"proj": embed})
    block = functools.partial(vit.Block, width, heads, attention=Attention)
    (rates,) = train_mode.rates(drop_path, (depth,))
    self.blocks = layers.Stack(
      [block(drop_path=rate, rngs=rngs) for rate in rates]
    )
    self.fc_norm = layers.LayerNorm(width, vit.EPSILON, rngs=rngs)
    self.dropout = layers.Dropout(dropout)
    self.head = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to logits `[B, num_classes]`."""
    x = self.patch_embed(x)
    x = x.reshape(x.shape[0], -1, x.shape[-1])
    x = self.blocks(x + positions(*x.shape[1:]).astype(x.dtype))
    return self.head(self.dropout(self.fc_norm(x.mean(1))))


@functools.cache
def positions(tokens: int, width: int) -> np.ndarray:
  """Return sines and cosines of positions (Vaswani et al. 2017, section 3.5).

  Args:
    tokens: number of tokens, in time, then row by row.
    width: numbers of a token; even ones are sines, odd ones cosines.

  Returns:
    float32 `[tokens, width]`.
  """
  pairs = np.arange(width) // 2 * 2
  angles = np.arange(tokens)[:, None] / 10_000 ** (pairs / width)
  even = np.arange(width) % 2 == 0
  return np.where(even, np.sin(angles), np.cos(angles)).astype(np.float32)


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  regroup=regroup,
  alike=(("videomae", "transformers"),),
  stages=vit.STAGES,
)
