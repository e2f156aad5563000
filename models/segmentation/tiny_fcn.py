"""A fully convolutional network for scenes of digits, trained in about a minute.

Long et al. 2015 (arXiv:1411.4038): coarse features are enlarged and added to finer
ones. Here from stride 16 up to 4; the head gives four pixels of stride 2 for each of
them, as Shi et al. 2016 (arXiv:1609.05158) do: few positions are cheap on CPUs.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family
from models.layers import valid
from models.segmentation.segmenter import SegmenterNetwork
from models.segmentation.spec import SegmenterSpec
from models.spec import Variant

_WIDTHS = (24, 48, 64)  # of the body, at strides 4, 8 and 16
_FINER = 2  # pixels of the head's logits for one of stride 4, down and across
SPEC = SegmenterSpec(
  mean=(0.5, 0.5, 0.5),
  std=(0.25, 0.25, 0.25),
  num_classes=11,
  parameters=183_932,
  label_space="digits_segmentation",
  weights="robust_tfds",
  source="made here",
)


class Network(SegmenterNetwork):
  """A body of strides 4 to 16, a way up to stride 4, and logits at stride 2."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network."""
    self.stem: nnx.Dict[layers.ConvNorm] = nnx.Dict()
    self.lateral: nnx.Dict[nnx.Conv] = nnx.Dict()
    before, common = 3, _WIDTHS[0]
    for i, width in enumerate(_WIDTHS):
      kernel, stride = (3, 2) if i else (7, 4)
      self.stem[f"conv{i}"] = layers.ConvNorm(
        before, width, kernel, stride, kernel // 2, rngs=rngs
      )
      for name in ("more", "last"):
        self.stem[f"{name}{i}"] = layers.ConvNorm(
          width, width, 3, 1, 1, rngs=rngs
        )
      self.lateral[f"level{i}"] = layers.conv(width, common, 1, rngs=rngs)
      before = width
    self.norm = layers.BatchNorm(common, rngs=rngs)
    self.last = layers.ConvNorm(common, 2 * common, 3, 1, 1, rngs=rngs)
    self.head = layers.conv(2 * common, _FINER**2 * num_classes, 1, rngs=rngs)

  def __call__(
    self, x: jax.Array, sizes: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    """Return logits at half the sides, see `SegmenterNetwork`."""
    pictures_px = sizes
    levels: list[tuple[jax.Array, jax.Array]] = []
    for i in range(len(_WIDTHS)):
      x, sizes = self.stem[f"conv{i}"](x), valid.strided(sizes, 2 if i else 4)
      x = valid.inside(x, sizes)
      x = valid.inside(x + self.stem[f"more{i}"](x), sizes)
      x = valid.inside(x + self.stem[f"last{i}"](x), sizes)
      levels.append((self.lateral[f"level{i}"](x), sizes))
    up, sizes = levels.pop()
    while levels:
      finer, sizes = levels.pop()
      up = finer + _twice(up)[:, : finer.shape[1], : finer.shape[2]]
    up = valid.inside(layers.relu(self.norm(up)), sizes)
    grid = pictures_px.astype(jnp.float32) / 2
    return _finer(self.head(self.last(up))), grid


def _twice(x: jax.Array) -> jax.Array:
  """Return `[B, 2 H, 2 W, C]`, each pixel four times."""
  return x.repeat(2, axis=1).repeat(2, axis=2)


def _finer(x: jax.Array) -> jax.Array:
  """Return `[B, 2 H, 2 W, C]` of `[B, H, W, 4 C]`."""
  count, height, width, channels = x.shape
  parts = x.reshape(count, height, width, _FINER, _FINER, -1)
  rows = parts.transpose(0, 1, 3, 2, 4, 5)
  return rows.reshape(
    count, _FINER * height, _FINER * width, channels // _FINER**2
  )


FAMILY = Family(
  Network,
  {"tiny_fcn": Variant(SPEC)},
  stages=(r"stem/(?:conv|more|last)(\d)",),
  paper=(
    "Long et al. 2015, Fully Convolutional Networks for Semantic Segmentation,"
    " arXiv:1411.4038 (its way up, on a small body)"
  ),
)
