"""A fully convolutional network for scenes of digits, trained in minutes.

Long et al. 2015 (arXiv:1411.4038): coarse features are enlarged and added to finer
ones. Here from stride 16 up to 2.
"""

from __future__ import annotations

import jax
from flax import nnx

from models import layers
from models.family import Family
from models.layers import valid
from models.segmentation import inference
from models.segmentation.segmenter import SegmenterNetwork
from models.segmentation.spec import SegmenterSpec
from models.spec import Variant

SPEC = SegmenterSpec(
  mean=(0.5, 0.5, 0.5),
  std=(0.25, 0.25, 0.25),
  num_classes=11,
  parameters=136_851,
  label_space="digits_segmentation",
  weights="robust_tfds",
  source="made here",
)
_WIDTHS = (24, 32, 48, 64)  # of the body, from stride 2 on
_WIDTH = 32  # of the way up


class Network(SegmenterNetwork):
  """A body of strides 2 to 16, and a way up to stride 2."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network."""
    self.stem: nnx.Dict[layers.ConvNorm] = nnx.Dict()
    self.lateral: nnx.Dict[nnx.Conv] = nnx.Dict()
    before = 3
    for i, width in enumerate(_WIDTHS):
      self.stem[f"conv{i}"] = layers.ConvNorm(before, width, 3, 2, 1, rngs=rngs)
      self.stem[f"more{i}"] = layers.ConvNorm(width, width, 3, 1, 1, rngs=rngs)
      self.lateral[f"level{i}"] = layers.conv(width, _WIDTH, 1, rngs=rngs)
      before = width
    self.last = layers.ConvNorm(_WIDTH, _WIDTH, 3, 1, 1, rngs=rngs)
    self.head = layers.conv(_WIDTH, num_classes, 1, rngs=rngs)

  def __call__(
    self, x: jax.Array, sizes: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    """Return logits at half the sides, see `SegmenterNetwork`."""
    stages: list[tuple[jax.Array, jax.Array]] = []
    for i in range(len(_WIDTHS)):
      x, sizes = self.stem[f"conv{i}"](x), valid.strided(sizes, 2)
      x = valid.inside(x, sizes)
      x = valid.inside(x + self.stem[f"more{i}"](x), sizes)
      stages.append((self.lateral[f"level{i}"](x), sizes))
    up, covered = stages.pop()
    while stages:
      finer, sizes = stages.pop()
      up = finer + inference.enlarged(
        up, finer.shape[1:3], sizes=sizes, valid=covered
      ).astype(finer.dtype)
      covered = sizes
    up = valid.inside(layers.relu(up), covered)
    return self.head(self.last(up)), covered


FAMILY = Family(
  Network,
  {"tiny_fcn": Variant(SPEC)},
  stages=(r"stem/(?:conv|more)(\d)",),
  paper=(
    "Long et al. 2015, Fully Convolutional Networks for Semantic Segmentation,"
    " arXiv:1411.4038 (its way up, on a small body)"
  ),
)
