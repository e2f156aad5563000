"""A detector: a network's shape, its spec, and pure functions of variables.

Pictures lie in the top-left corners of canvases and their sizes travel as data,
so that one compilation serves all sizes that share a canvas.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from models.detection import resize
from models.model import Model
from models.model import Variables


@dataclasses.dataclass(frozen=True)
class DetectorSpec:
  """Preprocessing and labels of a detector.

  Attributes:
    short_px: the shorter side is resized to this; 0: pictures stay as they are.
    long_px: unless the longer side would exceed this.
    mean: subtracted from pixels * scale, a value per channel (RGB).
    std: divided by.
    scale: factor on 0..255 pixels.
    num_classes: how many; classes are 0..num_classes - 1.
    label_space: whose classes.
    detections: most detections of a picture.
    channel_order: `rgb` or `bgr`.
    source: where these values are written down.
  """

  short_px: int = 800
  long_px: int = 1333
  mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
  std: tuple[float, float, float] = (0.229, 0.224, 0.225)
  scale: float = 1 / 255
  num_classes: int = 80
  label_space: str = "coco"
  detections: int = 100
  channel_order: str = "rgb"
  source: str = ""

  def with_classes(self, num_classes: int | None) -> DetectorSpec:
    """This spec with another head."""
    if num_classes is None or num_classes == self.num_classes:
      return self
    if num_classes < 1:
      raise ValueError(f"Got num_classes={num_classes}, expected 1 or more.")
    return dataclasses.replace(
      self, num_classes=num_classes, label_space="custom"
    )

  def normalize(self, batch: jax.Array) -> jax.Array:
    """RGB `[B, H, W, 3]` in 0..255 -> what the network takes."""
    pixels = jnp.asarray(batch).astype(jnp.float32)
    if self.channel_order == "bgr":
      pixels = pixels[..., ::-1]
    mean = jnp.array(self.mean, jnp.float32)
    return (pixels * jnp.float32(self.scale) - mean) / jnp.array(self.std)


@dataclasses.dataclass(frozen=True)
class Detector(Model):
  """A detector of the registry; `init` as of any model."""

  def apply(  # type: ignore[override]
    self, variables: Variables, batch: jax.Array, sizes: jax.Array
  ) -> dict[str, jax.Array]:
    """Detections of a batch of canvases.

    Args:
      variables: from `init` or `models.detection.convert.load`.
      batch: uint8 `[B, H, W, 3]`, RGB.
      sizes: int32 `[B, 2]`, the valid (height, width) of each canvas.

    Returns:
      `boxes` float32 `[B, N, 4]` (x1, y1, x2, y2 in px of the canvas), `scores`
      float32 `[B, N]` by decreasing score, `classes` int32 `[B, N]`, `valid`
      bool `[B, N]`; `masks` float32 `[B, N, 28, 28]` in [0, 1] where the network
      makes them.

    Raises:
      ValueError: a batch of another dtype or shape, or variables that do not
        fit.
    """
    batch = jnp.asarray(batch)
    if batch.ndim != 4 or batch.shape[-1] != 3 or batch.dtype != jnp.uint8:
      raise ValueError(
        f"{self.name} got {batch.dtype} {batch.shape}, expected uint8"
        " [B, H, W, 3]."
      )
    pixels, shown, factor = resize.to_network(batch, sizes, self.spec)
    with jax.default_matmul_precision("highest"):
      found = self._merge(variables)(pixels.astype(self.dtype), shown)
    boxes = found["boxes"].astype(jnp.float32) * factor[:, None, :]
    limit = jnp.concatenate([sizes[:, ::-1]] * 2, axis=1)[:, None]
    return {**found, "boxes": jnp.clip(boxes, 0, limit)}

  def loss(
    self, variables: Variables, batch: dict[str, jax.Array]
  ) -> jax.Array:
    """The training loss of a batch.

    Args:
      variables: of the network.
      batch: `image` uint8 `[B, H, W, 3]`, `size` int32 `[B, 2]`, `boxes` float32
        `[B, G, 4]` in px, `labels` int32 `[B, G]`, -1 where there is none.

    Raises:
      ValueError: a network without a loss (two-stage detectors).
    """
    if not hasattr(self.network, "loss"):
      raise ValueError(
        f"{self.name} has no training loss here; RetinaNets have. Convert a"
        " checkpoint of it (models.detection.convert)."
      )
    pixels, _, factor = resize.to_network(
      batch["image"], batch["size"], self.spec
    )
    network: Any = self._merge(variables)
    boxes = batch["boxes"] / factor[:, None, :]
    return network.loss(pixels, boxes, batch["labels"])
