"""ShuffleNetV2 in four widths (Ma et al. 2018, arXiv:1807.11164).

torchvision's weights.
"""

import functools

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.classification import inverted
from models.family import Family
from models.spec import Spec, Variant


def _variant(
  parameters: int, resize_px: int, widths: tuple[int, ...]
) -> Variant:
  spec = Spec(
    resize_px=resize_px,
    parameters=parameters,
    source="torchvision 0.28 models/shufflenetv2.py, IMAGENET1K_V1",
  )
  return Variant(spec, {"widths": widths})


# Table 5 of the paper: channels of the stages and of the last convolution.
VARIANTS = {
  "shufflenet_v2_x0_5": _variant(1_366_792, 256, (48, 96, 192, 1024)),
  "shufflenet_v2_x1_0": _variant(2_278_604, 256, (116, 232, 464, 1024)),
  "shufflenet_v2_x1_5": _variant(3_503_624, 232, (176, 352, 704, 1024)),
  "shufflenet_v2_x2_0": _variant(7_393_996, 232, (244, 488, 976, 2048)),
}
ORACLES = {name: f"torchvision:{name}" for name in VARIANTS}
_STEM = 24
_DEPTHS = (4, 8, 4)  # blocks per stage


class Block(nnx.Module):
  """Two branches whose channels are shuffled (figure 3, c and d).

  With stride 1 the first branch is one half of the channels, unchanged, and the
  second reads the other half; with stride 2 both read all.
  """

  def __init__(self, inputs: int, outputs: int, stride: int, *, rngs: nnx.Rngs):
    """Create the block; each branch gives half of the `outputs`."""
    conv = functools.partial(inverted.plain, rngs=rngs)
    half, self.halves = outputs // 2, stride == 1
    reads = half if self.halves else inputs
    if not self.halves:
      self.branch1 = layers.Stack(
        (
          *conv(inputs, inputs, 3, stride, groups=inputs),
          *conv(inputs, half, 1),
          layers.relu,
        )
      )
    self.branch2 = layers.Stack(
      (
        *conv(reads, half, 1),
        layers.relu,
        *conv(half, half, 3, stride, groups=half),
        *conv(half, half, 1),
        layers.relu,
      )
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    if self.halves:
      first, second = jnp.split(x, 2, axis=-1)
    else:
      first, second = self.branch1(x), x
    # Shuffled: the channels of the two branches alternate.
    pairs = jnp.stack((first, self.branch2(second)), axis=-1)
    return pairs.reshape(*pairs.shape[:3], -1)


class Network(nnx.Module):
  """A stem with pooling, three stages, a 1 x 1 convolution, a mean, and a
  linear head.
  """

  def __init__(
    self, *, widths: tuple[int, ...], num_classes: int, rngs: nnx.Rngs
  ):
    """Create the network; `widths` are the channels of the stages and of the
    last convolution.
    """
    self.conv1 = layers.Stack(
      (*inverted.plain(3, _STEM, 3, 2, rngs=rngs), layers.relu)
    )
    stages, inputs = [], _STEM
    for outputs, depth in zip(widths, _DEPTHS, strict=False):
      blocks = [Block(inputs, outputs, 2, rngs=rngs)]
      blocks += [
        Block(outputs, outputs, 1, rngs=rngs) for _ in range(depth - 1)
      ]
      stages.append(layers.Stack(blocks))
      inputs = outputs
    self.stage2, self.stage3, self.stage4 = stages
    last = widths[-1]
    self.conv5 = layers.Stack(
      (*inverted.plain(inputs, last, 1, rngs=rngs), layers.relu)
    )
    self.fc = layers.linear(last, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = layers.max_pool(self.conv1(x), 3, 2, 1)
    x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
    return self.fc(layers.global_mean(x))


FAMILY = Family(
  Network,
  VARIANTS,
  oracles=ORACLES,
  stages=("conv1", r"stage(\d)"),
)
