"""MLP-Mixer (Tolstikhin et al. 2021, arXiv:2105.01601).

timm's names, and Google's files of vision_transformer (`Mixer-B_16.npz`).
"""

import dataclasses

import jax
from flax import nnx

from models import layers
from models.classification.vit import Embed
from models.family import Family, Rules
from models.layers import positions, qkv
from models.spec import Spec, Variant

# timm 1.0.31 mlp_mixer.py, goog_in21k_ft_in1k: crop_pct 0.875, statistics 0.5.
_SPEC = Spec(
  interpolation="bicubic",
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  flexible=False,
  weights="timm",
  source="timm 1.0.31 mlp_mixer.py (goog_in21k_ft_in1k)",
)


def _variant(patch: int, width: int, depth: int, parameters: int) -> Variant:
  spec = dataclasses.replace(_SPEC, parameters=parameters)
  options = {"patch": patch, "width": width, "depth": depth}
  return Variant(spec, {"side": spec.input_px, **options})


# Table 1.
VARIANTS = {
  "mixer_s32_224": _variant(32, 512, 8, 19_104_624),
  "mixer_s16_224": _variant(16, 512, 8, 18_528_264),
  "mixer_b32_224": _variant(32, 768, 12, 60_293_428),
  "mixer_b16_224": _variant(16, 768, 12, 59_880_472),
  "mixer_l32_224": _variant(32, 1024, 24, 206_939_264),
  "mixer_l16_224": _variant(16, 1024, 24, 208_196_168),
}
CHECKPOINTS: dict[str, Rules] = {
  "timm": (),
  # google-research/vision_transformer.
  "google": (
    *qkv.FLAX_NAMES,
    (r"^stem\.", "stem.proj."),
    (r"^pre_head_layer_norm\.", "norm."),
    (r"^MixerBlock_(\d+)\.", r"blocks.\1."),
    (r"\.LayerNorm_0\.", ".norm1."),
    (r"\.LayerNorm_1\.", ".norm2."),
    (r"\.token_mixing\.", ".mlp_tokens."),
    (r"\.channel_mixing\.", ".mlp_channels."),
    (r"\.Dense_0\.", ".fc1."),
    (r"\.Dense_1\.", ".fc2."),
  ),
}
ORACLES = {name: f"timm:{name}" for name in VARIANTS}
_EPSILON = 1e-6  # epsilon of every layer norm


class Block(nnx.Module):
  """A block: an MLP over the patches, then one over the channels, each added."""

  def __init__(self, tokens: int, width: int, *, rngs: nnx.Rngs):
    """Create the block with hidden widths of half and four times `width` (table 1)."""
    self.norm1 = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.mlp_tokens = layers.Mlp(tokens, width // 2, tokens, rngs=rngs)
    self.norm2 = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.mlp_channels = layers.Mlp(width, 4 * width, width, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, tokens, width]` to the same shape."""
    mixed = self.mlp_tokens(self.norm1(x).swapaxes(1, 2))
    x = x + mixed.swapaxes(1, 2)
    return x + self.mlp_channels(self.norm2(x))


class Network(nnx.Module):
  """Patches through `depth` blocks, a mean, and a linear head."""

  def __init__(
    self,
    *,
    side: int,
    patch: int,
    width: int,
    depth: int,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `side` and `patch` are in px, and `width` is that of
    a patch.
    """
    tokens = positions.grid(side, patch) ** 2
    self.stem = Embed(patch, width, rngs=rngs)
    self.blocks = layers.Stack(
      [Block(tokens, width, rngs=rngs) for _ in range(depth)]
    )
    self.norm = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.head = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, side, side, 3]` to logits `[B, num_classes]`."""
    x = self.norm(self.blocks(self.stem(x)))
    return self.head(x.mean(1))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  flax_styles=("google",),
  sized=True,
  alike=(("timm", "google"),),  # timm ported Google's weights
  oracles=ORACLES,
  stages=("stem", r"blocks/(\d+)"),
)
