"""Stability training: predictions that stay the same under uniform noise.

Hendrycks & Dietterich 2019, section 5.2, fine-tune 5 epochs with bound and
weight each of .01, .05 and .1. The loss is docs/evidence/specs/training.md's, section 2:
CE(clean) + w CE(p_noisy, p_clean), with noise on [0, 1] pixels [U]; noisy
pixels are rounded to bytes [U]; both halves share one forward pass and the
statistics of its norms [U].
"""

import dataclasses
from typing import Annotated

import jax
import jax.numpy as jnp
import pydantic

from models.training.recipes import base

_Bound = Annotated[
  float | int,
  pydantic.Field(ge=0, le=1, description="a number from 0 to 1"),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stability(base.Recipe):
  """The recipe of this file.

  Attributes:
    bound: bound of the noise, on pixels in [0, 1].
    weight: weight of the noisy predictions' part of the loss.
  """

  bound: _Bound = 0.05
  weight: base.Weight = 0.05

  @property
  def passes(self) -> int:
    """The number of forward passes: clean and noisy."""
    return 2

  def transform(self, images: jax.Array, keys: jax.Array) -> jax.Array:
    """Return the pictures, then each with noise: uint8 `[2 * B, H, W, 3]`."""
    clean = self.moved(images, keys)
    most = 255 * self.bound

    def noisy(image: jax.Array, words: jax.Array) -> jax.Array:
      key = jax.random.wrap_key_data(words, impl="threefry2x32")
      noise = jax.random.uniform(key, image.shape, minval=-most, maxval=most)
      return jnp.clip(jnp.round(image + noise), 0, 255).astype(jnp.uint8)

    return jnp.concatenate(
      [clean, jax.vmap(noisy)(clean, base.stream(keys, 0))]
    )

  def logits_loss(
    self, logits: jax.Array, label: jax.Array
  ) -> tuple[jax.Array, base.Numbers]:
    """Compute the loss; its gradient goes through both predictions."""
    clean, noisy = jnp.split(logits, 2)
    instability = -jnp.sum(
      jax.nn.softmax(clean) * jax.nn.log_softmax(noisy), axis=-1
    ).mean()
    loss, numbers = super().logits_loss(clean, label)
    numbers["instability"] = instability
    return loss + self.weight * instability, numbers
