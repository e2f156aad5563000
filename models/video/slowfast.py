"""SlowFast ResNet-50 (Feichtenhofer et al. 2019, arXiv:1812.03982).

Two pathways read one clip: the fast one every frame, the slow one every fourth
(`frames` of the spec are the fast one's, so a published 8 x 8 network takes 32
frames of rate 2). Attribute names follow pytorchvideo.
"""

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Variant
from models.video import bottleneck, volumes
from models.video.spec import VideoSpec
from robust_tfds import errors

_SPEC = VideoSpec(
  frames=32,
  rate=2,
  parameters=34_566_488,
  source="pytorchvideo 0.1.5 model zoo, Kinetics-400",
)
_ALPHA = 4  # frames of the fast pathway per frame of the slow one
_BETA = 8  # channels of the slow pathway per channel of the fast one
VARIANTS = {"slowfast_r50": Variant(_SPEC)}
CHECKPOINTS: dict[str, Rules] = {
  # pytorchvideo's names are ours.
  "pyslowfast": (
    (
      r"^s1\.pathway(\d)_stem\.conv\.",
      r"blocks.0.multipathway_blocks.\1.conv.",
    ),
    (r"^s1\.pathway(\d)_stem\.bn\.", r"blocks.0.multipathway_blocks.\1.norm."),
    *(
      (
        rf"^s{i + 1}\.pathway(\d)_res(\d+)\.",
        rf"blocks.{i}.multipathway_blocks.\1.res_blocks.\2.",
      )
      for i in range(1, 5)
    ),
    *(
      (rf"^s{i + 1}_fuse\.", f"blocks.{i}.multipathway_fusion.")
      for i in range(4)
    ),
    (r"_fusion\.conv_f2s\.", "_fusion.conv_fast_to_slow."),
    (r"_fusion\.bn\.", "_fusion.norm."),
    *bottleneck.PYSLOWFAST,
    (r"^head\.projection\.", "blocks.6.proj."),
  )
}


class Fusion(nnx.Module):
  """A fusion that brings fast features to the slow pathway by a strided convolution."""

  def __init__(self, channels: int, *, rngs: nnx.Rngs):
    """Create the fusion of `channels` of the fast pathway into twice as many."""
    self.conv_fast_to_slow = volumes.Conv3d(
      channels, 2 * channels, (7, 1, 1), (_ALPHA, 1, 1), (3, 0, 0), rngs=rngs
    )
    self.norm = layers.BatchNorm(2 * channels, rngs=rngs)

  def __call__(self, slow: jax.Array, fast: jax.Array) -> jax.Array:
    """Return the slow features with the fast ones appended."""
    from_fast = layers.relu(self.norm(self.conv_fast_to_slow(fast)))
    return jnp.concatenate([slow, from_fast], axis=-1)


class Level(nnx.Module):
  """A stem or a stage of each pathway, and their fusion."""

  def __init__(
    self,
    slow: nnx.Module,
    fast: nnx.Module,
    fused: int | None,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the level; `fused` is the number of the fast pathway's channels,
    None without fusion.
    """
    self.multipathway_blocks = layers.Stack((slow, fast))
    if fused:
      self.multipathway_fusion = Fusion(fused, rngs=rngs)
    self.fuses = fused is not None

  def __call__(
    self, pathways: tuple[jax.Array, jax.Array]
  ) -> tuple[jax.Array, jax.Array]:
    """Map slow and fast features to the next ones."""
    slow = getattr(self.multipathway_blocks, "0")(pathways[0])
    fast = getattr(self.multipathway_blocks, "1")(pathways[1])
    return self.multipathway_fusion(slow, fast) if self.fuses else slow, fast


class Network(nnx.Module):
  """A stem and four stages of two pathways, and a linear head."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network, for clips of a multiple of four frames."""
    levels: list = [
      Level(
        bottleneck.Stem(64, 1, rngs=rngs),
        bottleneck.Stem(64 // _BETA, 5, rngs=rngs),
        64 // _BETA,
        rngs=rngs,
      )
    ]
    inputs = 64
    for i, depth in enumerate((3, 4, 6, 3)):
      inner, outputs, stride = 64 << i, 256 << i, (1, 2 if i else 1)
      slow = bottleneck.Stage(
        # A quarter more than its own: 2 / _BETA of them come from the fast one.
        inputs + 2 * inputs // _BETA,
        inner,
        outputs,
        depth,
        stride,
        (3,) if i > 1 else (1,),
        rngs=rngs,
      )
      fast = bottleneck.Stage(
        inputs // _BETA,
        inner // _BETA,
        outputs // _BETA,
        depth,
        stride,
        (3,),
        rngs=rngs,
      )
      fused = outputs // _BETA if i < 3 else None
      levels.append(Level(slow, fast, fused, rngs=rngs))
      inputs = outputs
    # Block 5 is the pooling, which has no weights.
    head = bottleneck.Head(
      inputs + inputs // _BETA, None, num_classes, rngs=rngs
    )
    self.blocks = layers.Stack((*levels, _pooled, head))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to logits `[B, num_classes]`.

    Raises:
      UserError: T is not a multiple of four.
    """
    if x.shape[1] % _ALPHA:
      raise errors.UserError(
        f"SlowFast got clips of {x.shape[1]} frames, expected a multiple of"
        f" {_ALPHA}."
      )
    return self.blocks((_slow_frames(x), x))


def _slow_frames(x: jax.Array) -> jax.Array:
  """Return a quarter of the frames, from the first to the last.

  PySlowFast (pack_pathway_output) truncates linspace(0, T - 1, T / 4). Whole
  numbers are used here, since linspace's float32 may fall just short of one.
  """
  count = x.shape[1] // _ALPHA
  steps = max(count - 1, 1)
  return x[:, [i * (x.shape[1] - 1) // steps for i in range(count)]]


def _pooled(pathways: tuple[jax.Array, jax.Array]) -> jax.Array:
  """Return both pathways' means over windows of 8 (32) x 7 x 7, concatenated."""
  parts = [
    volumes.window_mean(part, (frames, 7, 7))
    for part, frames in zip(pathways, (8, 32), strict=True)
  ]
  if parts[0].shape[1] != parts[1].shape[1]:  # clips longer than published
    parts = [part.mean(1, keepdims=True) for part in parts]
  return jnp.concatenate(parts, axis=-1)


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  ignored=bottleneck.TRAINING,
  alike=(("pytorchvideo", "pyslowfast"),),
  stages=bottleneck.STAGES,
)
