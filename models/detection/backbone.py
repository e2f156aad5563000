"""ResNet and ResNeXt with a feature pyramid (Lin et al. 2017, arXiv:1612.03144).

Names follow torchvision: `body` is the classification network without its head,
`fpn.inner_blocks` the lateral 1 x 1 and `fpn.layer_blocks` the 3 x 3
convolutions, `fpn.extra_blocks` the layers of RetinaNet's coarsest levels.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.classification import resnet
from models.layers import deformable

WIDTH = 256  # channels of every level
# Files older than torchvision 0.13 have no container around a convolution.
TORCHVISION_OLD = (
  (r"(inner_blocks|layer_blocks)\.(\d)\.(weight|bias)$", r"\1.\2.0.\3"),
)
# The bodies of the catalogue's detectors.
BODIES = ("resnet50", "resnet101", "resnext101_32x4d", "resnext101_64x4d")
# Suffixes of bodies whose 3 x 3 convolutions from stage 2 on (c3-c5) are
# deformable: whether they are of the second version.
DEFORMABLE = {"_dconv": False, "_mdconv": True}
# mmdetection's names of the body and its pyramid.
MMDETECTION = (
  (r"^backbone\.", "backbone.body."),
  (r"\.conv2_offset\.", ".conv2.conv_offset."),  # older than 1.0
  (r"^neck\.lateral_convs\.(\d)\.conv\.", r"backbone.fpn.inner_blocks.\1.0."),
  (r"^neck\.fpn_convs\.(\d)\.conv\.", r"backbone.fpn.layer_blocks.\1.0."),
)
STAGES = (256, 512, 1024, 2048)  # channels of a bottleneck ResNet's stages
# `Family.stages` of families on a `Body`.
FROZEN_TOGETHER = (
  r"(?:backbone/)?body/(?:conv1|bn1)",
  r"(?:backbone/)?body/layer(\d)",
)


class Body(resnet.Network):
  """A ResNet that returns the features of its four stages."""

  def __init__(self, *, name: str, epsilon: float, rngs: nnx.Rngs):
    """Build the body.

    Args:
      name: name in `models.classification.resnet.VARIANTS`; with a suffix of
        `DEFORMABLE` its stages 2 to 4 have deformable convolutions.
      epsilon: epsilon of the frozen normalisation.
      rngs: for the initial weights.
    """
    end = next((e for e in DEFORMABLE if name.endswith(e)), "")
    options = resnet.VARIANTS[name.removesuffix(end)].options
    super().__init__(**options, num_classes=1, rngs=rngs)
    del self.fc
    for _, part in nnx.iter_graph(self):
      if isinstance(part, layers.BatchNorm):
        part.epsilon = epsilon
    for stage in (self.layer2, self.layer3, self.layer4) if end else ():
      for block in blocks_of(stage):
        block.conv2 = deformable.Conv(
          block.conv2, modulated=DEFORMABLE[end], rngs=rngs
        )

  def __call__(self, x: jax.Array) -> list[jax.Array]:  # type: ignore[override]
    """Map `[B, H, W, 3]` to features of strides 4, 8, 16 and 32."""
    x = layers.relu(self.bn1(self.conv1(x)))
    x = layers.max_pool(x, 3, 2, 1)
    features = []
    for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
      x = stage(x)
      features.append(x)
    return features


def redraw(layer: nnx.Conv | nnx.Linear, std: float, rngs: nnx.Rngs) -> None:
  """Redraw a head's last layer from a narrow normal distribution."""
  shape = layer.kernel.shape
  layer.kernel[...] = std * jax.random.normal(rngs.params(), shape)


def blocks_of(stage: layers.Stack) -> list[Any]:
  """Return a stage's blocks in their order, whose parts may be replaced."""
  return [getattr(stage, name) for name, _ in stage.steps]


class Coarser(nnx.Module):
  """The layers of RetinaNet's levels of strides 64 and 128."""

  def __init__(self, inputs: int, *, rngs: nnx.Rngs):
    """Create the layers; `inputs` is 256 if they start from P5, 2048 from C5."""
    self.p6 = layers.conv(inputs, WIDTH, 3, 2, 1, rngs=rngs)
    self.p7 = layers.conv(WIDTH, WIDTH, 3, 2, 1, rngs=rngs)

  def __call__(self, x: jax.Array) -> list[jax.Array]:
    """Map features of stride 32 to those of 64 and 128."""
    p6 = self.p6(x)
    return [p6, self.p7(layers.relu(p6))]


class Pyramid(nnx.Module):
  """A feature pyramid: lateral connections, a top-down path, and coarser levels."""

  def __init__(self, *, first: int, coarser: str, rngs: nnx.Rngs):
    """Build the pyramid.

    Args:
      first: finest used stage, 0 (stride 4) or 1 (stride 8).
      coarser: `pool` (every second pixel of P5), or convolutions from `p5` or
        `c5`.
      rngs: for the initial weights.
    """

    def block(inputs: int, kernel: int) -> layers.Stack:
      return layers.Stack(
        [layers.conv(inputs, WIDTH, kernel, 1, kernel // 2, rngs=rngs)]
      )

    widths = STAGES[first:]
    self.inner_blocks = layers.Stack([block(n, 1) for n in widths])
    self.layer_blocks = layers.Stack([block(WIDTH, 3) for _ in widths])
    if coarser != "pool":
      inputs = {"p5": WIDTH, "c5": STAGES[-1]}[coarser]
      self.extra_blocks = Coarser(inputs, rngs=rngs)
    self.first, self.coarser = first, coarser

  def __call__(self, stages: list[jax.Array]) -> list[jax.Array]:
    """Map stages of strides 4..32 to levels, the finest first."""
    used = stages[self.first :]
    levels: list[jax.Array] = []
    above = None
    for i in reversed(range(len(used))):
      here = getattr(self.inner_blocks, str(i))(used[i])
      if above is not None:
        here = here + jnp.repeat(jnp.repeat(above, 2, axis=1), 2, axis=2)
      above = here
      levels.insert(0, getattr(self.layer_blocks, str(i))(here))
    if self.coarser == "pool":
      return [*levels, levels[-1][:, ::2, ::2]]
    source = levels[-1] if self.coarser == "p5" else stages[-1]
    return [*levels, *self.extra_blocks(source)]


class Backbone(nnx.Module):
  """A body and its pyramid."""

  def __init__(
    self,
    *,
    name: str,
    epsilon: float,
    first: int,
    coarser: str,
    rngs: nnx.Rngs,
  ):
    """Build the backbone; the options are those of `Body` and `Pyramid`."""
    self.body = Body(name=name, epsilon=epsilon, rngs=rngs)
    self.fpn = Pyramid(first=first, coarser=coarser, rngs=rngs)

  def __call__(self, x: jax.Array) -> list[jax.Array]:
    """Map `[B, H, W, 3]`, sides multiples of 32, to levels, the finest first."""
    return self.fpn(self.body(x))
