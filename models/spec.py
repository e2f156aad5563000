"""What a published model expects of its pictures, and what it answers.

A `Spec` is data: where a picture is resized and cropped (on the host), how
uint8 pixels become the numbers the network was trained on (on the device), and
which labels the logits stand for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

_RESIZE_RULES = ("squash", "short_side", "fraction")
_ORDERS = ("rgb", "bgr")


@dataclasses.dataclass(frozen=True)
class Spec:
  """Preprocessing, labels and published size of one model.

  Pixels `p` (0..255, in `channel_order`) enter as `(p * scale - mean) / std`.

  Attributes:
    input_px: side of the square picture that the network sees.
    resize: `short_side` (the shorter side becomes `resize_px`, then a centre
      crop of `input_px`), `squash` (both sides become `resize_px`, then the
      crop), `fraction` (a centre crop of `crop_fraction` of each side, then
      both sides become `input_px`).
    resize_px: see `resize`; unused for `fraction`.
    crop_fraction: see `resize`; used for `fraction` alone.
    interpolation: `bilinear` or `bicubic`.
    channel_order: `rgb` or `bgr`; `mean` and `std` are in this order.
    scale: factor on 0..255 pixels before mean and std.
    mean: subtracted, a value per channel.
    std: divided by, a value per channel.
    label_space: whose class ids the logits follow: `imagenet1k` is the 1000
      classes in the order of their sorted WordNet ids.
    num_classes: number of logits.
    flexible: whether the network accepts other sizes than `input_px`.
    weights: layout and preprocessing family of the public checkpoint:
      `torchvision`, `caffe`, `cadene`, `timm`, or `own` if trained here.
    parameters: published count of trainable numbers with `num_classes` logits;
      None where there is none.
    source: where these values are written down.
  """

  input_px: int = 224
  resize: str = "short_side"
  resize_px: int = 256
  crop_fraction: float = 1.0
  interpolation: str = "bilinear"
  channel_order: str = "rgb"
  scale: float = 1 / 255
  # torchvision's presets: the statistics of ImageNet's training pictures.
  mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
  std: tuple[float, float, float] = (0.229, 0.224, 0.225)
  label_space: str = "imagenet1k"
  num_classes: int = 1000
  flexible: bool = True
  weights: str = "torchvision"
  parameters: int | None = None
  source: str = ""

  def __post_init__(self):
    """Refuses rules that do not exist or do not fit."""
    if self.resize not in _RESIZE_RULES:
      raise ValueError(
        f"Got resize {self.resize!r}, expected one of {_RESIZE_RULES}."
      )
    if self.channel_order not in _ORDERS:
      raise ValueError(
        f"Got channel_order {self.channel_order!r}, expected one of {_ORDERS}."
      )
    if self.resize != "fraction" and self.resize_px < self.input_px:
      raise ValueError(
        f"Got resize_px {self.resize_px}, expected at least input_px"
        f" {self.input_px}: the crop must lie inside the picture."
      )

  def normalize(self, batch: jax.Array) -> jax.Array:
    """uint8 RGB `[B, H, W, 3]` in 0..255 -> float32 pixels of the network."""
    pixels = jnp.asarray(batch).astype(jnp.float32)
    if self.channel_order == "bgr":
      pixels = pixels[..., ::-1]
    mean = jnp.asarray(self.mean, jnp.float32)
    std = jnp.asarray(self.std, jnp.float32)
    return (pixels * jnp.float32(self.scale) - mean) / std

  def with_classes(self, num_classes: int | None) -> Spec:
    """This spec with another head; its labels are then the user's own."""
    if num_classes is None or num_classes == self.num_classes:
      return self
    if num_classes < 2:
      raise ValueError(f"Got num_classes={num_classes}, expected 2 or more.")
    return dataclasses.replace(
      self, num_classes=num_classes, label_space="custom", parameters=None
    )


@dataclasses.dataclass(frozen=True)
class Variant:
  """One line of a family's catalogue.

  Attributes:
    spec: what the published weights expect.
    options: keyword arguments of the family's `Network` besides `num_classes`
      and `rngs`.
  """

  spec: Spec
  options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

  def __hash__(self):
    """By value; options are plain data."""
    return hash((self.spec, repr(sorted(self.options.items()))))
