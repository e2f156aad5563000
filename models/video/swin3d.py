"""Video Swin transformers T, S and B (Liu et al. 2021, arXiv:2106.13230).

Swin's blocks (`models.classification.swin`) with windows of 8 x 7 x 7 tokens of
2 x 4 x 4 px. Attribute names are torchvision's, whose weights are the authors'.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.classification import swin
from models.family import Family, Rules
from models.layers import train_mode
from models.spec import Variant
from models.video import volumes
from models.video.spec import VideoSpec

_SPEC = VideoSpec(
  mean=(0.485, 0.456, 0.406),
  std=(0.229, 0.224, 0.225),
  weights="torchvision",
  # 32 frames of a video resampled to 15 fps (the weights' description).
  frames=32,
  rate=2,
  source="torchvision 0.28 models/video/swin_transformer.py, KINETICS400_V1",
)
_PATCH = (2, 4, 4)
_WINDOW = (8, 7, 7)


def _variant(width: int, deep: int, parameters: int) -> Variant:
  spec = dataclasses.replace(_SPEC, parameters=parameters)
  return Variant(spec, {"width": width, "depths": (2, 2, deep, 2)})


VARIANTS = {
  "swin3d_t": _variant(96, 6, 28_158_070),
  "swin3d_s": _variant(96, 18, 49_816_678),
  "swin3d_b": _variant(128, 18, 88_048_984),
}
_AUTHORS: Rules = (
  (r"^backbone\.", ""),
  *(
    rule
    for stage in range(4)
    for rule in (
      (rf"^layers\.{stage}\.blocks\.", f"features.{2 * stage}."),
      (rf"^layers\.{stage}\.downsample\.", f"features.{2 * stage + 1}."),
    )
  ),
  (r"\.mlp\.fc1\.", ".mlp.0."),
  (r"\.mlp\.fc2\.", ".mlp.3."),
  (r"^cls_head\.fc_cls\.", "head."),
)
CHECKPOINTS: dict[str, Rules] = {"torchvision": (), "microsoft": _AUTHORS}


class Attention(swin.Attention):
  """An attention whose windows shrink to clips that are smaller than a window."""

  shrinks = True


class Network(nnx.Module):
  """Patches of clips, four stages with merging between, a mean, and a head."""

  def __init__(
    self,
    *,
    width: int,
    depths: tuple[int, ...],
    drop_path: float = 0.1,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the module; `width` of the first stage, each doubles it; `depths`
    are blocks.

    Stochastic depth grows from 0 to `drop_path`, by default torchvision's.
    """
    self.patch_embed = layers.Stack(
      {
        "proj": volumes.Conv3d(3, width, _PATCH, _PATCH, bias=True, rngs=rngs),
        "norm": layers.LayerNorm(width, swin.EPSILON, rngs=rngs),
      }
    )
    steps: list[nnx.Module] = []
    for stage, rates in enumerate(train_mode.rates(drop_path, depths)):
      if stage:
        steps.append(swin.Merge(width, second=False, rngs=rngs))
        width *= 2
      steps.append(swin.stack(width, rates, _WINDOW, Attention, rngs=rngs))
    self.features = layers.Stack(steps)
    self.norm = layers.LayerNorm(width, swin.EPSILON, rngs=rngs)
    self.head = layers.linear(width, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to logits `[B, num_classes]`."""
    over = [
      (0, -n % step) for n, step in zip(x.shape[1:4], _PATCH, strict=True)
    ]
    x = self.patch_embed(jnp.pad(x, ((0, 0), *over, (0, 0))))
    return self.head(volumes.mean(self.norm(self.features(x))))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  ignored=swin.IGNORED,
  alike=(("torchvision", "microsoft"),),
  stages=(
    "patch_embed",
    "features/0",
    "features/[12]",
    "features/[34]",
    "features/[56]",
  ),
)
