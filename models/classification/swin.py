"""Swin transformers and Swin V2 (Liu et al., arXiv:2103.14030, 2111.09883).

`swin_t` and its like are torchvision's; `swin_tiny_patch4_window7_224` and its
like timm's, whose weights are the authors'. The networks are the same except
for the preprocessing. Maps whose sides are no multiples of the window are
padded with zeros for attention, so any size is accepted.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers
from models.classification import windows
from models.family import Family, Rules
from models.layers import train_mode
from models.spec import Spec, Variant

_TORCHVISION = Spec(
  interpolation="bicubic",
  source="torchvision 0.28 models/swin_transformer.py, IMAGENET1K_V1",
)
_TIMM = Spec(
  resize_px=248,  # 224 / 0.9
  interpolation="bicubic",
  weights="timm",
  source="timm 1.0.31 swin_transformer.py",
)
_SHALLOW, _DEEP = (2, 2, 6, 2), (2, 2, 18, 2)  # blocks per stage


def _variant(
  spec: Spec,
  parameters: int,
  width: int,
  depths: tuple[int, ...],
  drop_path: float,
  window: int = 7,
  *,
  second: bool = False,
  **facts: Any,
) -> Variant:
  spec = dataclasses.replace(spec, parameters=parameters, **facts)
  options = {"width": width, "depths": depths, "window": window}
  return Variant(spec, {**options, "drop_path": drop_path, "second": second})


_v1 = functools.partial(_variant, _TORCHVISION)
_v2 = functools.partial(_v1, window=8, second=True, input_px=256)
_timm = functools.partial(_variant, _TIMM)
_384: dict[str, Any] = {"window": 12, "input_px": 384, "resize_px": 384}
# The rates of stochastic depth are torchvision's, of the others the authors'
# configs: of those that were trained on ImageNet-22k first, when fine-tuned.
VARIANTS = {
  "swin_t": _v1(28_288_354, 96, _SHALLOW, 0.2, resize_px=232),
  "swin_s": _v1(49_606_258, 96, _DEEP, 0.3, resize_px=246),
  "swin_b": _v1(87_768_224, 128, _DEEP, 0.5, resize_px=238),
  "swin_v2_t": _v2(28_351_570, 96, _SHALLOW, 0.2, resize_px=260),
  "swin_v2_s": _v2(49_737_442, 96, _DEEP, 0.3, resize_px=260),
  "swin_v2_b": _v2(87_930_848, 128, _DEEP, 0.5, resize_px=272),
  "swin_tiny_patch4_window7_224": _timm(28_288_354, 96, _SHALLOW, 0.2),
  "swin_small_patch4_window7_224": _timm(49_606_258, 96, _DEEP, 0.2),
  "swin_base_patch4_window7_224": _timm(87_768_224, 128, _DEEP, 0.2),
  "swin_large_patch4_window7_224": _timm(196_532_476, 192, _DEEP, 0.2),
  "swin_base_patch4_window12_384": _timm(87_903_584, 128, _DEEP, 0.2, **_384),
  "swin_large_patch4_window12_384": _timm(196_735_516, 192, _DEEP, 0.2, **_384),
}


def _authors_names(merging: int) -> Rules:
  """Return rules for the names of the authors and of timm, except the head's.

  Args:
    merging: 0 if `layers.1.downsample` merges before stage 1, as in timm; 1 if
      `layers.0.downsample` does, as in the authors' code.
  """
  rules = [(r"^patch_embed\.proj\.", "features.0.0.")]
  rules.append((r"^patch_embed\.norm\.", "features.0.2."))
  for stage in range(4):
    place = 2 * (stage + merging)
    rules.append((rf"^layers\.{stage}\.downsample\.", f"features.{place}."))
    rules.append(
      (rf"^layers\.{stage}\.blocks\.(\d+)\.", rf"features.{2 * stage + 1}.\1.")
    )
  return (*rules, (r"\.mlp\.fc1\.", ".mlp.0."), (r"\.mlp\.fc2\.", ".mlp.3."))


# torchvision's names are ours.
CHECKPOINTS: dict[str, Rules] = {
  "timm": (*_authors_names(0), (r"^head\.fc\.", "head.")),
  "microsoft": _authors_names(1),
}


def regroup(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Join Swin V2's biases of queries and values, with none for keys."""
  out = {}
  for name, array in arrays.items():
    stem, _, last = name.rpartition(".")
    values = arrays.get(f"{stem}.v_bias")
    if last == "q_bias" and values is not None:
      parts = (array, np.zeros_like(array), values)
      out[f"{stem}.qkv.bias"] = np.concatenate(parts)
    elif last != "v_bias" or f"{stem}.q_bias" not in arrays:
      out[name] = array
  return out


# Tables of positions and masks that files hold; here they are computed.
IGNORED = (
  r"\.relative_position_index$",
  r"\.relative_coords_table$",
  r"\.attn_mask$",
)
ORACLES = {
  name: f"{variant.spec.weights}:{name}" for name, variant in VARIANTS.items()
}
EPSILON = 1e-5  # epsilon of every layer norm
_HEAD = 32  # channels of an attention head


class Attention(nnx.Module):
  """Attention inside windows that may be shifted, in Swin's form.

  It takes maps of pictures or clips. The softmax is computed in float32.
  """

  shrinks = False  # whether a window is at most as large as the map

  def __init__(
    self, width: int, window: tuple[int, ...], shifted: bool, *, rngs: nnx.Rngs
  ):
    """Create the attention; `window` has its sides in tokens, `shifted` moves
    it by half of them.
    """
    self.window, self.shifted = window, shifted
    self.heads = width // _HEAD
    self.qkv = layers.linear(width, 3 * width, rngs=rngs)
    self.proj = layers.linear(width, width, rngs=rngs)
    self._define_bias(rngs)

  def _define_bias(self, rngs: nnx.Rngs) -> None:
    """Create the learned table: a number per offset and head."""
    shape = (math.prod(2 * side - 1 for side in self.window), self.heads)
    draw = jax.nn.initializers.normal(0.02)
    self.relative_position_bias_table = nnx.Param(draw(rngs.params(), shape))

  def _bias(self) -> jax.Array:
    """Return the bias of each offset: `[product of 2 * side - 1, heads]`."""
    return self.relative_position_bias_table[...]

  def _project(self, x: jax.Array) -> jax.Array:
    """Map `[..., width]` to queries, keys and values `[..., 3 * width]`."""
    return self.qkv(x)

  def _score(self, query: jax.Array, key: jax.Array) -> jax.Array:
    """Map `[B, windows, tokens, heads, width]` to `[.., heads, tokens, tokens]`."""
    return jnp.einsum("bnqhd,bnkhd->bnhqk", query * _HEAD**-0.5, key)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, *sides, width]` to the same shape."""
    sides = x.shape[1:-1]
    window, axes = self._window(sides), range(1, x.ndim - 1)
    over = [(0, -side % w) for side, w in zip(sides, window, strict=True)]
    x = jnp.pad(x, ((0, 0), *over, (0, 0)))
    padded = x.shape[1:-1]
    shifts = [
      w // 2 if self.shifted and side > w else 0
      for side, w in zip(padded, window, strict=True)
    ]
    x = jnp.roll(x, [-shift for shift in shifts], axes)
    mask = _mask(padded, window, shifts)
    x = self._attend(windows.part(x, window), mask)
    x = jnp.roll(windows.join(x, window, padded), shifts, axes)
    return x[(slice(None), *(slice(side) for side in sides))]

  def _window(self, sides: tuple[int, ...]) -> tuple[int, ...]:
    """Return a window's sides on a map with these sides."""
    if not self.shrinks:
      return self.window
    return tuple(map(min, self.window, sides))

  def _attend(self, x: jax.Array, mask: np.ndarray) -> jax.Array:
    """Map `[B, windows, tokens, width]` to the same shape, each window by itself."""
    tokens = x.shape[2]
    qkv = self._project(x).reshape(*x.shape[:3], 3, self.heads, _HEAD)
    query, key, value = (qkv[..., i, :, :] for i in range(3))
    # Of a window that shrank the first rows are taken, as in torchvision.
    pairs = windows.relative_positions(self.window)[:tokens, :tokens]
    bias = self._bias()[pairs].transpose(2, 0, 1)
    scores = self._score(query, key) + bias + mask[:, None]
    weights = jax.nn.softmax(scores.astype(jnp.float32)).astype(x.dtype)
    mixed = jnp.einsum("bnhqk,bnkhd->bnqhd", weights, value)
    return self.proj(mixed.reshape(x.shape))


def _mask(
  sides: tuple[int, ...], window: tuple[int, ...], shifts: list[int]
) -> np.ndarray:
  """Return -100 between tokens that a shift brought together, else 0.

  Args:
    sides: sides of the map.
    window: sides of a window.
    shifts: shifts along each side.

  Returns:
    float32 `[windows, tokens, tokens]`.
  """
  regions = np.zeros(sides, int)
  for axis, (side, w, shift) in enumerate(
    zip(sides, window, shifts, strict=True)
  ):
    ends = (side - w, side - shift) if shift else ()
    part = np.searchsorted(ends, np.arange(side), "right")
    regions = 3 * regions + np.expand_dims(
      part, [i for i in range(len(sides)) if i != axis]
    )
  parts = np.asarray(windows.part(regions[None, ..., None], window))[0, ..., 0]
  separate = parts[:, :, None] != parts[:, None]
  return np.where(separate, -100.0, 0.0).astype(np.float32)


class CosineAttention(Attention):
  """Swin V2's attention: scores are scaled cosines, biases come from a small
  network.
  """

  def _define_bias(self, rngs: nnx.Rngs) -> None:
    """Create the bias network of sections 3.2 and 3.3 of the second paper."""
    self.logit_scale = nnx.Param(jnp.full((self.heads, 1, 1), math.log(10)))
    self.cpb_mlp = layers.Stack(
      (
        layers.linear(2, 512, rngs=rngs),
        layers.relu,
        layers.linear(512, self.heads, bias=False, rngs=rngs),
      )
    )

  def _bias(self) -> jax.Array:
    """Compute the biases from offsets in log space, scaled to 0..16."""
    line = np.linspace(-8, 8, 2 * self.window[0] - 1)
    offsets = np.stack(np.meshgrid(line, line, indexing="ij"), -1).reshape(
      -1, 2
    )
    spaced = np.sign(offsets) * np.log2(np.abs(offsets) + 1) / 3
    return 16 * jax.nn.sigmoid(self.cpb_mlp(jnp.asarray(spaced, jnp.float32)))

  def _project(self, x: jax.Array) -> jax.Array:
    """Project to queries, keys and values; keys have no bias."""
    bias = cast(nnx.Param, self.qkv.bias)[...]
    bias = bias.reshape(3, -1).at[1].set(0).ravel()
    return x @ self.qkv.kernel[...].astype(x.dtype) + bias.astype(x.dtype)

  def _score(self, query: jax.Array, key: jax.Array) -> jax.Array:
    """Compute cosines times a factor per head, at most 100."""
    factor = jnp.exp(jnp.minimum(self.logit_scale[...], math.log(100)))
    cosines = jnp.einsum("bnqhd,bnkhd->bnhqk", _unit(query), _unit(key))
    return cosines * factor


def _unit(x: jax.Array) -> jax.Array:
  """Normalise vectors to length 1 along the last axis."""
  wide = x.astype(jnp.float32)
  length = jnp.maximum(layers.length(wide, -1), 1e-12)  # torch's eps
  return (wide / length).astype(x.dtype)


class Block(nnx.Module):
  """A block of attention and MLP; the norms come before them, in V2 after them."""

  def __init__(
    self,
    width: int,
    attention: Callable[..., nnx.Module],
    rate: float,
    *,
    second: bool = False,
    rngs: nnx.Rngs,
  ):
    """Create the block; `attention` takes the width, residuals drop at `rate`,
    `second` is V2.
    """
    self.second = second
    self.drop_path1 = layers.StochasticDepth(rate)
    self.drop_path2 = layers.StochasticDepth(rate)
    self.norm1 = layers.LayerNorm(width, EPSILON, rngs=rngs)
    self.attn: Any = attention(width, rngs=rngs)
    self.norm2 = layers.LayerNorm(width, EPSILON, rngs=rngs)
    self.mlp = layers.Stack(
      (
        layers.linear(width, 4 * width, rngs=rngs),
        functools.partial(jax.nn.gelu, approximate=False),
        layers.identity,  # keeps torchvision's dropout's place; its rate is 0
        layers.linear(4 * width, width, rngs=rngs),
      )
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, *sides, width]` to the same shape."""
    if self.second:
      x = x + self.drop_path1(self.norm1(self.attn(x)))
      return x + self.drop_path2(self.norm2(self.mlp(x)))
    x = x + self.drop_path1(self.attn(self.norm1(x)))
    return x + self.drop_path2(self.mlp(self.norm2(x)))


class Merge(nnx.Module):
  """A layer that joins four neighbours into one token of twice the width."""

  def __init__(self, width: int, second: bool, *, rngs: nnx.Rngs):
    """Create the layer for an input `width`; in V2 the norm comes last."""
    self.second = second
    self.reduction = layers.linear(4 * width, 2 * width, bias=False, rngs=rngs)
    features = (2 if second else 4) * width
    self.norm = layers.LayerNorm(features, EPSILON, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[..., H, W, width]` to `[..., H / 2, W / 2, 2 * width]`, rounded up."""
    high, wide = x.shape[-3:-1]
    before = ((0, 0),) * (x.ndim - 3)
    x = jnp.pad(x, (*before, (0, high % 2), (0, wide % 2), (0, 0)))
    four = [x[..., i::2, j::2, :] for j in (0, 1) for i in (0, 1)]
    x = jnp.concatenate(four, axis=-1)
    if self.second:
      return self.norm(self.reduction(x))
    return self.reduction(self.norm(x))


def stack(
  width: int,
  rates: Sequence[float],
  window: tuple[int, ...],
  attention: type[Attention],
  *,
  second: bool = False,
  rngs: nnx.Rngs,
) -> layers.Stack:
  """Build a stage's blocks, of which every other one shifts its windows.

  Args:
    width: width of a token.
    rates: rates at which residuals drop, one per block.
    window: sides of a window, in tokens.
    attention: form of attention.
    second: whether norms come last, as in Swin V2.
    rngs: for the initial weights.
  """
  blocks = []
  for i, rate in enumerate(rates):
    kind = functools.partial(attention, window=window, shifted=i % 2 == 1)
    blocks.append(Block(width, kind, rate, second=second, rngs=rngs))
  return layers.Stack(blocks)


class Network(nnx.Module):
  """4 x 4 patches, four stages with merging between them, a mean, and a head."""

  def __init__(
    self,
    *,
    width: int,
    depths: tuple[int, ...],
    window: int,
    drop_path: float,
    second: bool,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the stages.

    Args:
      width: width of the first stage; each stage doubles it.
      depths: blocks per stage; every other one shifts its windows.
      window: side of a window in tokens.
      drop_path: rate of stochastic depth of the last block; it grows from 0.
      second: whether to build Swin V2.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    embed = layers.conv(3, width, 4, 4, rngs=rngs)
    norm = layers.LayerNorm(width, EPSILON, rngs=rngs)
    steps: list[nnx.Module] = [layers.Stack((embed, layers.identity, norm))]
    for stage, rates in enumerate(train_mode.rates(drop_path, depths)):
      if stage:
        steps.append(Merge(width, second, rngs=rngs))
        width *= 2
      attention = CosineAttention if second else Attention
      sides = (window, window)
      steps.append(
        stack(width, rates, sides, attention, second=second, rngs=rngs)
      )
    self.features = layers.Stack(steps)
    self.norm = layers.LayerNorm(width, EPSILON, rngs=rngs)
    self.head = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    return self.head(layers.global_mean(self.norm(self.features(x))))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  ignored=IGNORED,
  regroup=regroup,
  oracles=ORACLES,
  stages=(
    "features/0",
    "features/1",
    "features/[23]",
    "features/[45]",
    "features/[67]",
  ),
)
