"""TimeSformer, divided space-time attention (Bertasius et al. 2021, 2102.05095).

Attribute names follow the authors' repository; transformers' names are known
too.
"""

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.classification import vit
from models.family import Family, Rules
from models.layers import train_mode
from models.spec import Variant
from models.video.spec import VideoSpec

_SPEC = VideoSpec(
  resize_px=224,
  frames=8,
  rate=32,
  any_length=False,
  flexible=False,
  weights="timesformer",
  parameters=121_566_352,
  source="facebookresearch/TimeSformer, TimeSformer_divST_8x32_224_K400",
)
VARIANTS = {
  "timesformer_base": Variant(
    _SPEC, {"frames": 8, "side": 224, "width": 768, "depth": 12, "heads": 12}
  )
}
CHECKPOINTS: dict[str, Rules] = {
  "timesformer": ((r"^model\.", ""),),
  "transformers": (
    (r"^timesformer\.embeddings\.cls_token$", "cls_token"),
    (r"^timesformer\.embeddings\.position_embeddings$", "pos_embed"),
    (r"^timesformer\.embeddings\.time_embeddings$", "time_embed"),
    (
      r"^timesformer\.embeddings\.patch_embeddings\.projection\.",
      "patch_embed.proj.",
    ),
    (r"^timesformer\.encoder\.layer\.", "blocks."),
    (r"^timesformer\.layernorm\.", "norm."),
    (r"\.temporal_attention\.attention\.", ".temporal_attn."),
    (r"\.temporal_attention\.output\.dense\.", ".temporal_attn.proj."),
    (r"\.attention\.attention\.", ".attn."),
    (r"\.attention\.output\.dense\.", ".attn.proj."),
    (r"\.temporal_dense\.", ".temporal_fc."),
    (r"\.temporal_layernorm\.", ".temporal_norm1."),
    (r"\.layernorm_before\.", ".norm1."),
    (r"\.layernorm_after\.", ".norm2."),
    (r"\.intermediate\.dense\.", ".mlp.fc1."),
    (r"\.output\.dense\.", ".mlp.fc2."),
    (r"^classifier\.", "head."),
  ),
}
_PATCH_PX = 16
_EPSILON = 1e-6  # epsilon of every layer norm (vit.py of the repository)


class Block(nnx.Module):
  """A block: attention over time, then over space, then an MLP.

  Patches and the class token are kept apart: the token takes no part in time,
  and in space it attends to every frame, and the results are averaged.
  """

  def __init__(self, width: int, heads: int, rate: float, *, rngs: nnx.Rngs):
    """Create the block; the MLP is four times as wide, and residuals drop at `rate`.

    In time they are drawn for every place, in space for every frame, like the
    authors' rows.
    """
    self.temporal_drop_path = layers.StochasticDepth(rate)
    self.drop_path1 = layers.StochasticDepth(rate)
    self.drop_path2 = layers.StochasticDepth(rate)
    self.norm1 = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.attn = vit.Attention(width, heads, rngs=rngs)
    self.temporal_norm1 = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.temporal_attn = vit.Attention(width, heads, rngs=rngs)
    self.temporal_fc = layers.linear(width, width, rngs=rngs)
    self.norm2 = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.mlp = layers.Mlp(width, 4 * width, width, rngs=rngs)

  def __call__(
    self, state: tuple[jax.Array, jax.Array]
  ) -> tuple[jax.Array, jax.Array]:
    """Map class token `[B, 1, width]` and patches `[B, T, N, width]` to the
    same shapes.
    """
    token, x = state
    batch, frames, places, width = x.shape
    times = x.swapaxes(1, 2).reshape(-1, frames, width)
    times = self.temporal_attn(self.temporal_norm1(times))
    times = self.temporal_fc(self.temporal_drop_path(times))
    x = x + times.reshape(batch, places, frames, width).swapaxes(1, 2)

    tokens = jnp.broadcast_to(token[:, None], (batch, frames, 1, width))
    spaces = jnp.concatenate([tokens, x], axis=2)
    spaces = spaces.reshape(-1, 1 + places, width)
    spaces = self.drop_path1(self.attn(self.norm1(spaces)))
    spaces = spaces.reshape(batch, frames, 1 + places, width)
    token = token + spaces[:, :, 0].mean(1, keepdims=True)
    x = x + spaces[:, :, 1:]
    # Called twice, a layer draws the same for an example.
    return (
      token + self.drop_path2(self.mlp(self.norm2(token))),
      x + self.drop_path2(self.mlp(self.norm2(x))),
    )


class Network(nnx.Module):
  """Patches of frames and a class token through `depth` blocks."""

  def __init__(
    self,
    *,
    frames: int,
    side: int,
    width: int,
    depth: int,
    heads: int,
    drop_path: float = 0.1,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `frames` and `side` (in pixels) of the clips fix the
    positions.

    Stochastic depth grows from 0 to `drop_path`, by default the repository's.
    """
    draw = jax.nn.initializers.normal(0.02)  # the repository: std 0.02
    places = (side // _PATCH_PX) ** 2
    self.patch_embed = vit.Embed(_PATCH_PX, width, rngs=rngs)
    self.cls_token = nnx.Param(draw(rngs.params(), (1, 1, width)))
    self.pos_embed = nnx.Param(draw(rngs.params(), (1, 1 + places, width)))
    self.time_embed = nnx.Param(jnp.zeros((1, frames, width)))
    (rates,) = train_mode.rates(drop_path, (depth,))
    self.blocks = layers.Stack(
      [Block(width, heads, rate, rngs=rngs) for rate in rates]
    )
    self.norm = layers.LayerNorm(width, _EPSILON, rngs=rngs)
    self.head = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, frames, side, side, 3]` to logits `[B, num_classes]`."""
    batch, frames = x.shape[:2]
    x = self.patch_embed(x.reshape(-1, *x.shape[2:]))
    x = x.reshape(batch, frames, *x.shape[1:])
    position = self.pos_embed[...].astype(x.dtype)
    x = x + position[:, None, 1:]
    x = x + self.time_embed[...].astype(x.dtype)[:, :, None]
    token = self.cls_token[...].astype(x.dtype) + position[:, :1]
    token = jnp.broadcast_to(token, (batch, *token.shape[1:]))
    token, _ = self.blocks((token, x))
    return self.head(self.norm(token[:, 0]))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  alike=(("timesformer", "transformers"),),
  stages=vit.STAGES,
)
