"""3-D ResNet-50s: Slow ("R3D-50"), I3D and R(2+1)D, as in pytorchvideo.

Slow is SlowFast's slow pathway alone (Feichtenhofer et al. 2019,
arXiv:1812.03982), the R3D of Schiappa et al.; I3D is ResNet-50 inflated
(Carreira and Zisserman 2017, arXiv:1705.07750, as in PySlowFast); R(2+1)D is
that of Tran et al. (2018, arXiv:1711.11248); for 18 layers see `resnet3d`.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Variant
from models.video import bottleneck, volumes
from models.video.spec import VideoSpec

_SPEC = VideoSpec(source="pytorchvideo 0.1.5 model zoo, Kinetics-400")


def _variant(parameters: int, clip: tuple[int, int], **options: Any) -> Variant:
  spec = dataclasses.replace(
    _SPEC,
    parameters=parameters,
    frames=clip[0],
    rate=clip[1],
  )
  return Variant(spec, options)


VARIANTS = {
  "slow_r50": _variant(
    32_454_096,
    (8, 8),
    a_frames=((1,), (1,), (3,), (3,)),
    window=(8, 7, 7),
  ),
  "i3d_r50": _variant(
    28_043_472,
    (8, 8),
    stem_frames=5,
    a_frames=((3,), (3, 1), (3, 1), (1, 3)),
    window=(4, 7, 7),
    pooled=True,
  ),
  "r2plus1d_r50": _variant(
    28_107_600,
    (16, 4),
    a_frames=((1,),) * 4,
    window=(4, 7, 7),
    split=True,
  ),
}


def _pyslowfast(numbers: Sequence[int]) -> tuple[tuple[str, str], ...]:
  """Return rules from PySlowFast's names; `numbers` are those of the stages and
  the head.
  """
  stages = (
    (rf"^s{i + 2}\.pathway0_res(\d+)\.", rf"blocks.{number}.res_blocks.\1.")
    for i, number in enumerate(numbers[:-1])
  )
  return (
    (r"^s1\.pathway0_stem\.conv\.", "blocks.0.conv."),
    (r"^s1\.pathway0_stem\.bn\.", "blocks.0.norm."),
    *stages,
    *bottleneck.PYSLOWFAST,
    (r"^head\.projection\.", f"blocks.{numbers[-1]}.proj."),
  )


# pytorchvideo's names are ours.
CHECKPOINTS: dict[str, Rules] = {
  "pyslowfast": _pyslowfast((1, 2, 3, 4, 5)),
  "pyslowfast i3d": _pyslowfast((1, 3, 4, 5, 6)),
}


class Network(nnx.Module):
  """A stem, four stages of bottlenecks, and a pooled linear head."""

  def __init__(
    self,
    *,
    a_frames: tuple[tuple[int, ...], ...],
    window: tuple[int, int, int],
    stem_frames: int = 1,
    pooled: bool = False,
    split: bool = False,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the stages.

    Args:
      a_frames: lengths of the first convolutions of the blocks, per stage.
      window: window of the head's mean: the last grid's size for published
        clips.
      stem_frames: length of the stem's kernel.
      pooled: whether time is halved by pooling after the first stage (I3D).
      split: whether convolutions are (2+1)-D; then the last stages halve time
        and the stem does not pool.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    steps: list = [bottleneck.Stem(64, stem_frames, pool=not split, rngs=rngs)]
    inputs = 64
    for i, depth in enumerate((3, 4, 6, 3)):
      strides = (2 if split and i > 1 else 1, 2 if split or i else 1)
      steps.append(
        bottleneck.Stage(
          inputs,
          64 << i,
          256 << i,
          depth,
          strides,
          a_frames[i],
          split=split,
          rngs=rngs,
        )
      )
      inputs = 256 << i
      if pooled and i == 0:
        steps.append(
          functools.partial(
            volumes.max_pool, window=(2, 1, 1), stride=(2, 1, 1)
          )
        )
    steps.append(bottleneck.Head(inputs, window, num_classes, rngs=rngs))
    self.blocks = layers.Stack(steps)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, 3]` to logits `[B, num_classes]`."""
    return self.blocks(x)


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  ignored=bottleneck.TRAINING,
  alike=(("pytorchvideo", "pyslowfast"),),
  stages=bottleneck.STAGES,
)
