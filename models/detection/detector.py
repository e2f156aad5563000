"""A detector: a network's shape, its spec, and pure functions of variables.

Pictures lie in the top-left corners of canvases and their sizes travel as data,
so that one compilation serves all sizes that share a canvas.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import jax
import jax.numpy as jnp
from flax import nnx

from robust_tfds import errors
from robust_tfds.models.checks import arguments
from robust_tfds.models.detection import resize
from robust_tfds.models.detection.rules import RULES, Rules
from robust_tfds.models.detection.spec import DetectorSpec as DetectorSpec
from robust_tfds.models.model import NetworkModel
from robust_tfds.models.variables import Variables


class DetectorNetwork(nnx.Module):
  """What a family's network is.

  Attributes:
    has_loss: whether `loss` is there.
    rules: of the library that its detections' boxes are as.
  """

  has_loss: ClassVar[bool] = False
  rules: Rules = RULES["torchvision"]

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

  def loss(
    self, x: jax.Array, boxes: jax.Array, labels: jax.Array
  ) -> jax.Array:
    """The training loss of pixels; boxes and labels as `Detector.loss`'s."""
    raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Detector(NetworkModel):
  """A detector of the catalogue; `init` as of any model."""

  spec: DetectorSpec

  @property
  def trainable(self) -> bool:
    """Whether its network has a loss, and no running statistics.

    Detectors have no train mode for batch norms: published ones were trained
    with frozen statistics, from a checkpoint.
    """
    return self._has_loss and not self.statistics()

  @property
  def _has_loss(self) -> bool:
    network = self.family.network
    return (
      isinstance(network, type)
      and issubclass(network, DetectorNetwork)
      and network.has_loss
    )

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

  def loss(
    self, variables: Variables, batch: Mapping[str, jax.Array]
  ) -> jax.Array:
    """The training loss of a batch; batch norms use their running statistics.

    Args:
      variables: of the network.
      batch: `image` uint8 `[B, H, W, 3]`, `size` int32 `[B, 2]`, `boxes` float32
        `[B, G, 4]` in px, `labels` int32 `[B, G]`, -1 where there is none.

    Raises:
      UserError: a network without a loss (two-stage detectors).
    """
    if not self._has_loss:
      raise errors.UserError(
        f"{self.name} has no training loss here; RetinaNets have. Convert a"
        " checkpoint of it (models.convert)."
      )
    pixels, _, factor = resize.to_network(
      batch["image"], batch["size"], self.spec
    )
    network: DetectorNetwork = self.merge(variables)
    boxes = batch["boxes"] / factor[:, None, :]
    return network.loss(pixels, boxes, batch["labels"])
