"""A video model: clips in, logits out, two pure functions."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp

from models.model import Model
from models.model import Variables
from models.video.spec import VideoSpec


@dataclasses.dataclass(frozen=True)
class VideoModel(Model):
  """A network of `models.video`; `models.model.Model`, for clips.

  One compilation serves one shape of clips.
  """

  spec: VideoSpec

  def preprocess(self, batch: jax.Array) -> jax.Array:
    """uint8 RGB `[B, T, H, W, 3]` in 0..255 -> float32, as the spec says."""
    return self.spec.normalize(batch)

  def apply(self, variables: Variables, batch: jax.Array) -> jax.Array:
    """Logits of a batch of clips.

    Args:
      variables: from `init` or `models.video.convert.load`.
      batch: `[B, T, H, W, 3]`; uint8 RGB in 0..255, which is preprocessed
        first, or float pixels that already are.

    Returns:
      float32 `[B, num_classes]`.

    Raises:
      ValueError: the batch or the variables do not fit this model.
    """
    return super().apply(variables, batch)

  def _checked(self, batch: jax.Array) -> jax.Array:
    batch, spec = jnp.asarray(batch), self.spec
    if batch.ndim != 5 or batch.shape[-1] != 3:
      raise ValueError(
        f"{self.name} got a batch of shape {batch.shape}, expected"
        " [B, T, H, W, 3]."
      )
    if batch.dtype != jnp.uint8 and not jnp.issubdtype(
      batch.dtype, jnp.floating
    ):
      raise ValueError(
        f"{self.name} got {batch.dtype} pixels, expected uint8 (RGB 0..255)"
        " or preprocessed floats."
      )
    if not spec.any_length and batch.shape[1] != spec.frames:
      raise ValueError(
        f"{self.name} got clips of {batch.shape[1]} frames, expected"
        f" {spec.frames}: sample them by its spec first."
      )
    if not spec.flexible and batch.shape[2:4] != (spec.input_px,) * 2:
      raise ValueError(
        f"{self.name} got frames of {batch.shape[2]} x {batch.shape[3]},"
        f" expected {spec.input_px} x {spec.input_px}: resize them by its"
        " spec first."
      )
    return batch
