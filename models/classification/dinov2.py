"""DINOv2 with its published linear heads (Oquab et al. 2023, arXiv:2304.07193).

`..._reg4_...` have four register tokens (Darcet et al. 2023, arXiv:2309.16588).
The head of `..._linear` reads the class token beside the mean of the patches'
tokens; that of `..._linear4` the class tokens after each of the last four
blocks. The giant's MLPs are gated (SwiGLU; Shazeer 2020, arXiv:2002.05202).

Backbone and head are published as two files; `load` takes the second as `head`.
One file may hold both: HF's `dinov2-small-imagenet1k-1-layer`, or the state dict
of torch.hub's `dinov2_vits14_lc`.

Positions belong to 37 x 37 patches (518 px); the network interpolates them, as
the authors do, to the patches of any other picture.
"""

import functools
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers
from models.classification import vit
from models.family import Family, Rules
from models.layers import positions, qkv
from models.spec import Spec, Variant

_PATCH_PX, _TRAINED_PX = 14, 518
_REGISTERS = 4
_OFFSET = (
  0.1  # hub/backbones.py: interpolate_offset of models without registers
)
# Letter -> width, blocks, heads, parameters with `linear` and 0 registers.
_SIZES = {
  "s": (384, 12, 6, 22_825_192),
  "b": (768, 12, 12, 88_116_712),
  "l": (1024, 24, 16, 306_416_616),
  "g": (1536, 40, 24, 1_139_552_232),
}


def _variant(letter: str, registers: int, last: int) -> Variant:
  width, depth, heads, parameters = _SIZES[letter]
  # The file's backbone; then registers, and rows of the head.
  parameters += registers * width + (last - 1) * width * 1000
  spec = Spec(
    interpolation="bicubic",
    weights="dinov2",
    parameters=parameters,
    source="facebookresearch/dinov2: data/transforms.py, hub/classifiers.py",
  )
  options = {"width": width, "depth": depth, "heads": heads}
  more = {"registers": registers, "last": last, "gated": letter == "g"}
  return Variant(spec, {**options, **more})


VARIANTS = {
  f"dinov2_vit{letter}14{middle}_linear{'' if last == 1 else last}": _variant(
    letter, registers, last
  )
  for letter in _SIZES
  for middle, registers in (("", 0), ("_reg4", _REGISTERS))
  for last in (1, 4)
}
_HEAD = (
  (r"^(?:linear_head\.|classifier\.)?(weight|bias)$", r"head.\1"),
  (r"^backbone\.", ""),
)
CHECKPOINTS: dict[str, Rules] = {
  "dinov2": _HEAD,
  "hf": (
    *_HEAD,
    (r"^dinov2(?:_with_registers)?\.", ""),
    *vit.HF_EMBEDDINGS,
    *vit.HF_BLOCKS,
    (r"^embeddings\.register_tokens$", "register_tokens"),
    (r"\.layer_scale([12])\.lambda1$", r".ls\1.gamma"),
    (r"\.mlp\.weights_in\.", ".mlp.w12."),
    (r"\.mlp\.(?:weights_out|down_proj)\.", ".mlp.w3."),
  ),
  "timm": (
    *_HEAD,
    (r"^reg_token$", "register_tokens"),
  ),
  # Gated MLPs under the names of plain ones.
  "timm gated": (
    *_HEAD,
    (r"^reg_token$", "register_tokens"),
    (r"\.mlp\.fc1\.", ".mlp.w12."),
    (r"\.mlp\.fc2\.", ".mlp.w3."),
  ),
}


def _regroup(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Join what HF splits, and split what timm joins."""
  out = qkv.join(arrays)
  for name in [n for n in out if ".mlp.gate_proj." in n]:
    up = out.pop(name.replace("gate_proj", "up_proj"), None)
    if up is not None:
      joined = name.replace("gate_proj", "w12")
      out[joined] = np.concatenate([out.pop(name), up])
  if "reg_token" in out and "pos_embed" in out:
    # timm's class token has its position already.
    none = np.zeros_like(out["pos_embed"][:, :1])
    out["pos_embed"] = np.concatenate([none, out["pos_embed"]], axis=1)
  return out


class GatedMlp(nnx.Module):
  """A gated MLP: silu(a) * b of two projections, and a third one."""

  def __init__(self, inputs: int, inner: int, outputs: int, *, rngs: nnx.Rngs):
    """Create the MLP; `inner` is a plain one's, and two thirds of it are used,
    to a multiple of 8.
    """
    inner = -(-int(inner * 2 / 3) // 8) * 8  # layers/swiglu_ffn.py
    self.w12 = layers.linear(inputs, 2 * inner, rngs=rngs)
    self.w3 = layers.linear(inner, outputs, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[..., inputs]` to `[..., outputs]`."""
    gate, value = jnp.split(self.w12(x), 2, axis=-1)
    return self.w3(jax.nn.silu(gate) * value)


class Network(nnx.Module):
  """Patches, a class token and registers through blocks, and a linear head."""

  def __init__(
    self,
    *,
    width: int,
    depth: int,
    heads: int,
    registers: int,
    last: int,
    gated: bool,
    trained_px: int = _TRAINED_PX,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the blocks.

    Args:
      width: width of a token, shared by the heads.
      depth: number of blocks.
      heads: number of attention heads.
      registers: number of register tokens.
      last: number of last blocks that give the head their class token.
      gated: whether MLPs are gated.
      trained_px: side of the pictures that positions belong to.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    patches = positions.grid(trained_px, _PATCH_PX) ** 2
    draw = functools.partial(jax.nn.initializers.normal(0.02), rngs.params())
    self.patch_embed = vit.Embed(_PATCH_PX, width, rngs=rngs)
    self.cls_token = nnx.Param(draw((1, 1, width)))
    self.pos_embed = nnx.Param(draw((1, patches + 1, width)))
    if registers:
      self.register_tokens = nnx.Param(draw((1, registers, width)))
    block = functools.partial(vit.Block, width, heads, layer_scale=True)
    mlp = GatedMlp if gated else layers.Mlp
    self.blocks = layers.Stack(
      [block(mlp=mlp, rngs=rngs) for _ in range(depth)]
    )
    self.norm = layers.LayerNorm(width, vit.EPSILON, rngs=rngs)
    self.head = layers.linear((last + 1) * width, num_classes, rngs=rngs)
    self.depth, self.last, self.registers = depth, last, registers

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`; sides are multiples of 14."""
    sides = [positions.grid(side, _PATCH_PX) for side in x.shape[1:3]]
    x = vit.prepend_tokens(self.patch_embed(x), self.cls_token)
    x = x + self._positions(*sides).astype(x.dtype)
    if self.registers:
      rest = vit.prepend_tokens(x[:, 1:], self.register_tokens)
      x = jnp.concatenate([x[:, :1], rest], axis=1)
    read = []
    for i in range(self.depth):
      x = getattr(self.blocks, str(i))(x)
      if i >= self.depth - self.last:
        read.append(self.norm(x[:, 0]))
    patches = self.norm(x[:, 1 + self.registers :])
    return self.head(jnp.concatenate([*read, patches.mean(1)], axis=-1))

  def _positions(self, high: int, wide: int) -> jax.Array:
    """Interpolate the positions as the authors do: `[1, 1 + high * wide, width]`."""
    places = self.pos_embed[...]
    side = round((places.shape[1] - 1) ** 0.5)
    if (high, wide) == (side, side):
      return places
    matrices = [
      positions.weights(
        side,
        count,
        antialias=bool(self.registers),
        offset=0.0 if self.registers else _OFFSET,
      )
      for count in (high, wide)
    ]
    patches = positions.interpolate(places[:, 1:], *matrices)
    return jnp.concatenate([places[:, :1], patches], axis=1)


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  ignored=(r"(?:^|\.)mask_token$",),  # for training alone
  regroup=_regroup,
  alike=(("dinov2", "hf", "timm"),),
  stages=vit.STAGES,
)
