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

from models import variables as variables_lib
from models.checks import arguments
from models.detection import resize
from models.detection import truth as truth_lib
from models.detection.losses import Losses
from models.detection.rules import RULES, Rules
from models.detection.spec import DetectorSpec as DetectorSpec
from models.detection.train_rules import TRAIN_RULES, TrainRules
from models.detection.truth import Truth
from models.model import NetworkModel
from models.variables import Path, Variables


class DetectorNetwork(nnx.Module):
  """The base class of the families' networks.

  Attributes:
    rules: rules of the library whose boxes it follows.
    training: name of its train rules.
    has_masks: whether it finds masks, and learns them.
  """

  rules: Rules = RULES["torchvision"]
  training: str = "torchvision"
  has_masks: bool = False

  @property
  def train_rules(self) -> TrainRules:
    """The library's rules of training."""
    return TRAIN_RULES[self.training]

  def __call__(
    self, x: jax.Array, sizes: jax.Array, factor: jax.Array
  ) -> dict[str, jax.Array]:
    """Return detections of a batch, in px of the network's canvas.

    Args:
      x: pixels `[B, H, W, 3]`.
      sizes: int32 `[B, 2]`, valid (height, width).
      factor: float32 `[B, 4]`, factors of x1, y1, x2, y2 from these pixels to
        the pictures'.
    """
    raise NotImplementedError

  def losses(self, x: jax.Array, truth: Truth, key: jax.Array) -> Losses:
    """Return the training losses of a batch, whose sum is the loss.

    Args:
      x: pixels `[B, H, W, 3]`.
      truth: the objects.
      key: JAX key that chooses boxes.
    """
    raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Detector(NetworkModel):
  """A detector of the catalogue, with the `init` of all models."""

  spec: DetectorSpec

  @property
  def trainable(self) -> bool:
    """Whether it can be trained: it can, on the sum of `apply_train`'s losses."""
    return True

  @property
  def has_masks(self) -> bool:
    """Whether it finds masks, and learns them."""
    return self._skeleton().has_masks

  def frozen_paths(
    self, *, stages: int = 0, frozen_norms: bool = True
  ) -> frozenset[Path]:
    """Return the frozen paths of any network, and those of norms that stay constant.

    Published detectors were fine-tuned with the stem and `layer1` frozen:
    `stages=2`.

    Args:
      stages: see `NetworkModel.frozen_paths`.
      frozen_norms: as for `apply_train`; if it is True and the library keeps
        scales and offsets of norms constant, these are among the paths.
    """
    first = super().frozen_paths(stages=stages)
    return first | self._constants() if frozen_norms else first

  def apply(
    self,
    variables: Variables,
    batch: jax.typing.ArrayLike,
    sizes: jax.typing.ArrayLike | None = None,
  ) -> dict[str, jax.Array]:
    """Return detections of a batch of canvases.

    Args:
      variables: from `init` or `models.convert.load`.
      batch: uint8 `[B, H, W, 3]`, RGB.
      sizes: int32 `[B, 2]`, the valid (height, width) of each canvas; None: the
        whole canvas.

    Returns:
      `boxes` float32 `[B, N, 4]` (x1, y1, x2, y2 in px of the canvas), `scores`
      float32 `[B, N]` by decreasing score, `classes` int32 `[B, N]`, `valid`
      bool `[B, N]`; `masks` float32 `[B, N, 28, 28]` in [0, 1] if the network
      makes them.

    Raises:
      UserError: the batch has a wrong dtype or shape, or the variables do not
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
    """Return scales and offsets of norms, if the library keeps them constant."""
    if not self._skeleton().train_rules.constant_norms:
      return frozenset()
    norms = {path[:-1] for path in self.statistics()}
    own = set(self.shapes()) - self.statistics()
    return frozenset(path for path in own if path[:-1] in norms)

  def _skeleton(self) -> DetectorNetwork:
    """Return the network, with shapes in place of arrays."""
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
    """Return the training losses of a batch.

    Args:
      variables: as for `apply`.
      batch: `image` uint8 `[B, H, W, 3]` and `size` int32 `[B, 2]` as for
        `apply`; `boxes` float32 `[B, G, 4]` (x0, y0, x1, y1 in px of the
        canvas) and `labels` int32 `[B, G]`, -1 for padding. For a network with
        masks also `masks` `[B, G, H, W]`, bool on the canvas; HTC learns its
        semantic branch from `semantic` int32 `[B, H, W]`, if given:
        COCO-stuff's classes, 255 if unlabelled.
      key: JAX key that chooses anchors and regions.
      frozen_norms: whether batch norms use their running statistics, as
        published detectors were trained; else those of the batch, which update
        them.
      frozen_stages: see `Classifier.apply_train`.

    Returns:
      The float32 losses, whose sum is the loss, by torchvision's names:
      `loss_objectness`, `loss_rpn_box_reg`, `loss_classifier`, `loss_box_reg`,
      `loss_mask`, for cascades weighted and with the stage behind the name
      (`loss_mask_0`), HTC's `loss_semantic_seg`; for RetinaNets
      `classification` and `bbox_regression`. And the variables, whose
      parameters are unchanged.

    Raises:
      UserError: an entry is missing, or does not fit.
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
    return losses, self.replace_statistics(variables, network)

  def _prepared(
    self, network: DetectorNetwork, batch: Mapping[str, Any], sizes: jax.Array
  ) -> tuple[jax.Array, Truth]:
    """Return the network's input pixels, and the objects in these pixels."""
    truth_lib.check_keys(self.name, batch, masks=network.has_masks)
    pixels, seen_px, factor = resize.to_network(
      batch["image"], sizes, self.spec
    )
    truth = truth_lib.from_batch(
      self.name,
      batch,
      factor=factor,
      sizes=seen_px,
      edge=network.rules.edge,
      num_classes=self.spec.num_classes,
      masks=network.has_masks,
    )
    return pixels.astype(self.dtype), truth
