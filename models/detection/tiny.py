"""A RetinaNet for scenes of digits: three levels, trained in about a minute.

`Pyramid` is the body of all small detectors here.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers
from models.detection import anchors as anchors_lib
from models.detection import losses, single_stage
from models.detection.detector import DetectorNetwork
from models.detection.losses import Losses
from models.detection.spec import DetectorSpec
from models.detection.truth import Truth
from models.family import Family
from models.spec import Variant

SPEC = DetectorSpec(
  short_px=0,
  mean=(0.5, 0.5, 0.5),
  std=(0.25, 0.25, 0.25),
  num_classes=10,
  label_space="digits",
  weights="robust_tfds",
  parameters=380_720,
  detections=20,
  source="made here",
)
VARIANTS = {"tiny_retinanet": Variant(SPEC)}
WIDTH = 48  # channels of every level
STRIDES = (8, 16, 32)
_WIDE = (24, 32, WIDTH, 64, 96)  # widths of the body
_SIZES = ((16.0, 22.0), (30.0, 40.0), (54.0,))  # digits are 18-52 px high
_RATIOS = (1.0, 1.6)
_WEIGHTS = (5.0, 5.0, 5.0, 5.0)
_PRIOR = 0.01  # initial probability of an object, as in RetinaNet
_LEAST, _BETA = 0.1, 1 / 9  # as in `models.detection.train_rules`


class Pyramid(DetectorNetwork):
  """A pyramid of strides 8, 16 and 32 with a top-down path, without norms."""

  def __init__(self, *, rngs: nnx.Rngs):
    """Create the pyramid, without heads."""
    self.stem: nnx.Dict[nnx.Conv] = nnx.Dict()
    before = 3
    for i, width in enumerate(_WIDE):
      self.stem[f"conv{i}"] = layers.conv(before, width, 3, 2, 1, rngs=rngs)
      self.stem[f"more{i}"] = layers.conv(width, width, 3, 1, 1, rngs=rngs)
      before = width
    self.lateral = nnx.Dict(
      {
        f"level{i}": layers.conv(width, WIDTH, 1, rngs=rngs)
        for i, width in enumerate(_WIDE[2:])
      }
    )

  def levels(self, x: jax.Array) -> list[jax.Array]:
    """Map `[B, H, W, 3]` to levels, the finest first."""
    stages: list[jax.Array] = []
    for i in range(len(_WIDE)):
      x = layers.relu(self.stem[f"conv{i}"](x))
      x = x + layers.relu(self.stem[f"more{i}"](x))
      stages.append(x)
    levels: list[jax.Array] = []
    for i in reversed(range(len(STRIDES))):
      x = self.lateral[f"level{i}"](stages[i + 2])
      if levels:
        x = x + jnp.repeat(jnp.repeat(levels[0], 2, axis=1), 2, axis=2)
      levels.insert(0, x)
    return levels


class Network(Pyramid):
  """A detector with heads that all levels share."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network; `num_classes` counts objects alone."""
    super().__init__(rngs=rngs)
    self.shared = layers.conv(WIDTH, WIDTH, 3, 1, 1, rngs=rngs)
    self.tower = layers.conv(WIDTH, 2 * WIDTH, 3, 1, 1, rngs=rngs)
    each = max(map(len, _SIZES)) * len(_RATIOS)
    self.classes = layers.conv(
      2 * WIDTH, each * num_classes, 3, 1, 1, rngs=rngs
    )
    bias = self.classes.bias
    assert bias is not None  # `layers.conv` has one unless told otherwise
    bias[...] = jnp.full_like(bias[...], -math.log((1 - _PRIOR) / _PRIOR))
    self.classes.kernel[...] = self.classes.kernel[...] * 0.1
    self.boxes = layers.conv(2 * WIDTH, each * 4, 3, 1, 1, rngs=rngs)
    self.boxes.kernel[...] = self.boxes.kernel[...] * 0.1
    self.num_classes = num_classes

  def __call__(
    self, x: jax.Array, sizes: jax.Array, factor: jax.Array
  ) -> dict[str, jax.Array]:
    """Return detections, see `DetectorNetwork`."""
    del factor
    logits, offsets, counts = self._heads(x)
    return single_stage.detections(
      jax.nn.sigmoid(logits.astype(jnp.float32)),
      offsets.astype(jnp.float32),
      jnp.asarray(self._anchors(x, counts)),
      counts=[int(np.prod(c)) * self._each(i) for i, c in enumerate(counts)],
      sizes=sizes,
      weights=_WEIGHTS,
      most=SPEC.detections,
      candidates=100,
    )

  def losses(self, x: jax.Array, truth: Truth, key: jax.Array) -> Losses:
    """Return the losses; every anchor learns, so no key is needed."""
    del key
    logits, offsets, counts = self._heads(x)
    return losses.anchor_losses(
      logits,
      offsets,
      jnp.asarray(self._anchors(x, counts)),
      jnp.ones(logits.shape[:2], bool),
      truth,
      weights=_WEIGHTS,
      least=_LEAST,
      beta=_BETA,
      by_picture=False,
    )

  def _heads(
    self, x: jax.Array
  ) -> tuple[jax.Array, jax.Array, list[tuple[int, int]]]:
    """Return logits and offsets of all anchors, and (rows, columns) of each level."""
    logits: list[jax.Array] = []
    offsets: list[jax.Array] = []
    counts: list[tuple[int, int]] = []
    for i, level in enumerate(self.levels(x)):
      y = layers.relu(self.shared(level))
      y = layers.relu(self.tower(y))
      each = self._each(i)
      shape = (y.shape[0], y.shape[1] * y.shape[2] * each)
      c = self.classes(y)[..., : each * self.num_classes]
      logits.append(c.reshape(*shape, self.num_classes))
      offsets.append(self.boxes(y)[..., : each * 4].reshape(*shape, 4))
      counts.append((y.shape[1], y.shape[2]))
    return jnp.concatenate(logits, 1), jnp.concatenate(offsets, 1), counts

  def _each(self, level: int) -> int:
    return len(_SIZES[level]) * len(_RATIOS)

  def _anchors(self, x: jax.Array, counts: list[tuple[int, int]]) -> np.ndarray:
    canvas = (x.shape[1], x.shape[2])
    return anchors_lib.grid(canvas, counts, _SIZES, _RATIOS)


FAMILY = Family(Network, VARIANTS, stages=(r"stem/(?:conv|more)(\d)",))
