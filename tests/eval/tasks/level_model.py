"""Models that read nothing but the mean level: of the 1,000 classes, of motions."""

import jax
import jax.numpy as jnp

from models import adapters
from models.spec import Spec
from models.video.spec import VideoSpec

# Indices of a bird (class 4 of ImageNet-Vid) and of a dog (class 8).
BIRD, DOG = 10, 200


def build() -> adapters.Adapted:
  """`tests.eval.tasks.level_model:build`."""
  spec = Spec(input_px=32, resize_px=32, mean=(0, 0, 0), std=(1, 1, 1))
  return adapters.get("callable")(_logits, spec, name="level_model")


def build_motions() -> adapters.Adapted:
  """`tests.eval.tasks.level_model:build_motions`."""
  spec = VideoSpec(num_classes=8, frames=4, rate=2, input_px=32, resize_px=32)
  return adapters.get("callable")(_motions, spec, name="level_model")


def _motions(clips: jax.Array) -> jax.Array:
  level = clips.mean(axis=(1, 2, 3, 4))
  return -jnp.abs(level[:, None] - jnp.linspace(-2, 0, 8))


def _logits(batch: jax.Array) -> jax.Array:
  level = batch.mean(axis=(1, 2, 3))
  out = jnp.zeros((batch.shape[0], 1000))
  out = out.at[:, BIRD].set(1 + level)
  return out.at[:, DOG].set(3.1 - 3 * level)
