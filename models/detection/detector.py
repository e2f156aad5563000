"""A detector: a network's shape, its spec, and pure functions of variables.

Pictures lie in the top-left corners of canvases and their sizes travel as data,
so that one compilation serves all sizes that share a canvas.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from robust_tfds.models import variables as variables_lib
from robust_tfds.models.checks import arguments
from robust_tfds.models.detection import resize
from robust_tfds.models.detection import truth as truth_lib
from robust_tfds.models.detection.losses import Losses
from robust_tfds.models.detection.rules import RULES, Rules
from robust_tfds.models.detection.spec import DetectorSpec as DetectorSpec
from robust_tfds.models.detection.train_rules import TRAIN_RULES, TrainRules
from robust_tfds.models.detection.truth import Truth
from robust_tfds.models.model import NetworkModel
from robust_tfds.models.variables import Path, Variables


class DetectorNetwork(nnx.Module):
  """What a family's network is.

  Attributes:
    rules: of the library that its detections' boxes are as.
    training: name of its train rules.
    has_masks: whether it finds masks, and learns them.
  """

  rules: Rules = RULES["torchvision"]
  training: str = "torchvision"
  has_masks: bool = False

  @property
  def train_rules(self) -> TrainRules:
    """Of its library, in training."""
    return TRAIN_RULES[self.training]

  def __call__(
    self, x: jax.Array, sizes: jax.Array, factor: jax.Array
  ) -> dict[str, jax.Array]:
    """Detections of a batch, in px of the network's canvas.

    Args:
      x: pixels `[B, H, W, 3]`.
      sizes: int32 `[B, 2]`, valid (height, width).
      factor: float32 `[B, 4]`, from these pixels to the pictures', of x1, y1, x2,
        y2.
    """
    raise NotImplementedError

  def losses(self, x: jax.Array, truth: Truth, key: jax.Array) -> Losses:
    """The training losses of a batch, whose sum is the loss.

    Args:
      x: pixels `[B, H, W, 3]`.
      truth: the objects.
      key: of JAX, which boxes are chosen by.
    """
    raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Detector(NetworkModel):
  """A detector of the catalogue; `init` as of any model."""

  spec: DetectorSpec

  @property
  def trainable(self) -> bool:
    """On the sum of `apply_train`'s losses."""
    return True

  @property
  def has_masks(self) -> bool:
    """Whether it finds masks, and learns them."""
    return self._skeleton().has_masks

  def frozen_paths(
    self, *, stages: int = 0, frozen_norms: bool = True
  ) -> frozenset[Path]:
    """As of any network; and scales and offsets of norms that are constants.

    Published detectors were fine-tuned with the stem and `layer1` frozen:
    `stages=2`.

    Args:
      stages: see `NetworkModel.frozen_paths`.
      frozen_norms: as of `apply_train`; where it is so and the library keeps
        scales and offsets of norms as constants, these are among the paths.
    """
    first = super().frozen_paths(stages=stages)
    return first | self._constants() if frozen_norms else first

  def apply(
    self,
    variables: Variables,
    batch: jax.typing.ArrayLike,
    sizes: jax.typing.ArrayLike,
  ) -> dict[str, jax.Array]:
    """Detections of a batch of canvases.

    Args:
      variables: from `init` or `models.convert.load`.
      batch: uint8 `[B, H, W, 3]`, RGB.
      sizes: int32 `[B, 2]`, the valid (height, width) of each canvas.

    Returns:
      `boxes` float32 `[B, N, 4]` (x1, y1, x2, y2 in px of the canvas), `scores`
      float32 `[B, N]` by decreasing score, `classes` int32 `[B, N]`, `valid`
      bool `[B, N]`; `masks` float32 `[B, N, 28, 28]` in [0, 1] where the network
      makes them.

    Raises:
      UserError: a batch of another dtype or shape, or variables that do not
        fit.
    """
    images, valid_px = arguments.canvases(self.name, batch, sizes)
    pixels, seen_px, factor = resize.to_network(images, valid_px, self.spec)
    network: DetectorNetwork = self.merge(variables)
    with jax.default_matmul_precision("highest"):
      detections = network(pixels.astype(self.dtype), seen_px, factor)
    boxes = detections["boxes"].astype(jnp.float32) * factor[:, None, :]
    boxes += jnp.array([0, 0, 1, 1]) * network.rules.edge
    limit = jnp.concatenate([valid_px[:, ::-1]] * 2, axis=1)[:, None]
    return {**detections, "boxes": jnp.clip(boxes, 0, limit)}

  def _constants(self) -> frozenset[Path]:
    """Scales and offsets of norms, where the library keeps them as they are."""
    if not self._skeleton().train_rules.constant_norms:
      return frozenset()
    norms = {path[:-1] for path in self.statistics()}
    own = set(self.shapes()) - self.statistics()
    return frozenset(path for path in own if path[:-1] in norms)

  def _skeleton(self) -> DetectorNetwork:
    """The network, with shapes in place of arrays."""
    like = {
      path: jax.ShapeDtypeStruct(shape, jnp.float32)
      for path, shape in self.shapes().items()
    }
    network: DetectorNetwork = self.merge(variables_lib.nest(like))
    return network

  def apply_train(
    self,
    variables: Variables,
    batch: Mapping[str, jax.typing.ArrayLike],
    key: jax.Array,
    *,
    frozen_norms: bool = True,
    frozen_stages: int = 0,
  ) -> tuple[Losses, Variables]:
    """The training losses of a batch.

    Args:
      variables: as of `apply`.
      batch: `image` uint8 `[B, H, W, 3]` and `size` int32 `[B, 2]` as of
        `apply`; `boxes` float32 `[B, G, 4]` (x0, y0, x1, y1 in px of the
        canvas) and `labels` int32 `[B, G]`, -1 where there is no object. For a
        network with masks also `masks` `[B, G, H, W]`, bool of the canvas;
        HTC learns its semantic branch where there is `semantic` int32
        `[B, H, W]`, COCO-stuff's classes, 255 where none is labelled.
      key: of JAX; anchors and regions are chosen by it.
      frozen_norms: batch norms use their running statistics, as published
        detectors were trained; else those of the batch, which move them.
      frozen_stages: see `Classifier.apply_train`.

    Returns:
      Name -> float32, whose sum is the loss, by torchvision's names:
      `loss_objectness`, `loss_rpn_box_reg`, `loss_classifier`, `loss_box_reg`,
      `loss_mask`, of cascades with the stage behind them (`loss_mask_0`) and
      weighted, HTC's `loss_semantic_seg`; of RetinaNets `classification` and
      `bbox_regression`. And the variables, whose parameters are untouched.

    Raises:
      UserError: something is missing, or does not fit.
    """
    own = arguments.key(self.name, key, "apply_train")
    truth_lib.check_keys(self.name, batch, masks=False)
    images, valid_px = arguments.canvases(
      self.name, batch["image"], batch["size"]
    )
    network: DetectorNetwork = self.in_train_mode(
      variables, own, frozen_norms=frozen_norms, stages=frozen_stages
    )
    x, truth = self._prepared(network, {**batch, "image": images}, valid_px)
    with jax.default_matmul_precision("highest"):
      losses = network.losses(x, truth, own)
    return losses, self.with_statistics(variables, network)

  def _prepared(
    self, network: DetectorNetwork, batch: Mapping[str, Any], sizes: jax.Array
  ) -> tuple[jax.Array, Truth]:
    """The network's pixels, and the objects in these."""
    truth_lib.check_keys(self.name, batch, masks=network.has_masks)
    pixels, seen_px, factor = resize.to_network(
      batch["image"], sizes, self.spec
    )
    truth = truth_lib.of_batch(
      self.name,
      batch,
      factor=factor,
      sizes=seen_px,
      edge=network.rules.edge,
      num_classes=self.spec.num_classes,
      masks=network.has_masks,
    )
    return pixels.astype(self.dtype), truth
