"""A RetinaNet for scenes of digits: three levels, trained in about a minute."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from robust_tfds.models import layers
from robust_tfds.models.detection import anchors as anchors_lib
from robust_tfds.models.detection import losses, single_stage
from robust_tfds.models.detection.detector import DetectorNetwork
from robust_tfds.models.detection.spec import DetectorSpec
from robust_tfds.models.family import Family
from robust_tfds.models.spec import Variant

_SPEC = DetectorSpec(
  short_px=0,
  mean=(0.5, 0.5, 0.5),
  std=(0.25, 0.25, 0.25),
  num_classes=10,
  label_space="digits",
  weights="own",
  parameters=380_720,
  detections=20,
  source="made here",
)
VARIANTS = {"tiny_retinanet": Variant(_SPEC)}
_WIDTH = 48
_SIZES = ((16.0, 22.0), (30.0, 40.0), (54.0,))  # digits are 18-52 px high
_RATIOS = (1.0, 1.6)
_WEIGHTS = (5.0, 5.0, 5.0, 5.0)
_PRIOR = 0.01  # chance of an object at the start, as RetinaNet has it


class Network(DetectorNetwork):
  """Strides 8, 16 and 32 with a top-down path, and heads they share."""

  has_loss = True

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """`num_classes` counts objects alone."""
    wide = (24, 32, _WIDTH, 64, 96)
    self.stem: nnx.Dict[nnx.Conv] = nnx.Dict()
    before = 3
    for i, width in enumerate(wide):
      self.stem[f"conv{i}"] = layers.conv(before, width, 3, 2, 1, rngs=rngs)
      self.stem[f"more{i}"] = layers.conv(width, width, 3, 1, 1, rngs=rngs)
      before = width
    self.lateral = nnx.Dict(
      {
        f"level{i}": layers.conv(width, _WIDTH, 1, rngs=rngs)
        for i, width in enumerate(wide[2:])
      }
    )
    self.shared = layers.conv(_WIDTH, _WIDTH, 3, 1, 1, rngs=rngs)
    self.tower = layers.conv(_WIDTH, 2 * _WIDTH, 3, 1, 1, rngs=rngs)
    each = max(map(len, _SIZES)) * len(_RATIOS)
    self.classes = layers.conv(
      2 * _WIDTH, each * num_classes, 3, 1, 1, rngs=rngs
    )
    bias = self.classes.bias
    assert bias is not None  # `layers.conv` has one unless told otherwise
    bias[...] = jnp.full_like(bias[...], -math.log((1 - _PRIOR) / _PRIOR))
    self.classes.kernel[...] = self.classes.kernel[...] * 0.1
    self.boxes = layers.conv(2 * _WIDTH, each * 4, 3, 1, 1, rngs=rngs)
    self.boxes.kernel[...] = self.boxes.kernel[...] * 0.1
    self.num_classes = num_classes

  def __call__(
    self, x: jax.Array, sizes: jax.Array, factor: jax.Array
  ) -> dict[str, jax.Array]:
    """See `DetectorNetwork`."""
    del factor
    logits, offsets, counts = self._heads(x)
    return single_stage.detections(
      jax.nn.sigmoid(logits.astype(jnp.float32)),
      offsets.astype(jnp.float32),
      jnp.asarray(self._anchors(x, counts)),
      counts=[int(np.prod(c)) * self._each(i) for i, c in enumerate(counts)],
      sizes=sizes,
      weights=_WEIGHTS,
      most=_SPEC.detections,
      candidates=100,
    )

  def loss(
    self, x: jax.Array, boxes: jax.Array, labels: jax.Array
  ) -> jax.Array:
    """See `losses.detection_loss`."""
    logits, offsets, counts = self._heads(x)
    anchors = jnp.asarray(self._anchors(x, counts))
    return losses.detection_loss(
      logits, offsets, anchors, boxes, labels, _WEIGHTS
    )

  def _heads(
    self, x: jax.Array
  ) -> tuple[jax.Array, jax.Array, list[tuple[int, int]]]:
    """Logits, offsets of all anchors, and (rows, columns) of each level."""
    levels = []
    for i in range(5):
      x = layers.relu(self.stem[f"conv{i}"](x))
      x = x + layers.relu(self.stem[f"more{i}"](x))
      if i >= 2:
        levels.append(x)
    above: jax.Array | None = None
    logits: list[jax.Array] = []
    offsets: list[jax.Array] = []
    counts: list[tuple[int, int]] = []
    for i in reversed(range(3)):
      x = self.lateral[f"level{i}"](levels[i])
      if above is not None:
        x = x + jnp.repeat(jnp.repeat(above, 2, axis=1), 2, axis=2)
      above = x
      y = layers.relu(self.shared(x))
      y = layers.relu(self.tower(y))
      each = self._each(i)
      shape = (y.shape[0], y.shape[1] * y.shape[2] * each)
      c = self.classes(y)[..., : each * self.num_classes]
      logits.insert(0, c.reshape(*shape, self.num_classes))
      offsets.insert(0, self.boxes(y)[..., : each * 4].reshape(*shape, 4))
      counts.insert(0, (y.shape[1], y.shape[2]))
    return jnp.concatenate(logits, 1), jnp.concatenate(offsets, 1), counts

  def _each(self, level: int) -> int:
    return len(_SIZES[level]) * len(_RATIOS)

  def _anchors(self, x: jax.Array, counts: list[tuple[int, int]]) -> np.ndarray:
    canvas = (x.shape[1], x.shape[2])
    return anchors_lib.grid(canvas, counts, _SIZES, _RATIOS)


FAMILY = Family(Network, VARIANTS)
