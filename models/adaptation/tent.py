"""Tent: the mean entropy of each batch, minimised over the norms' affine weights.

Wang et al. 2021 (arXiv:2006.10726), DequanWang/tent: the logits returned are those
before the step.
"""

import dataclasses

import jax
import jax.numpy as jnp

from models.adaptation import base, network


@dataclasses.dataclass(frozen=True)
class Tent(base.Learner):
  """Tent: minimisation of the mean entropy.

  Attributes:
    steps: gradient steps a batch.
  """

  steps: int = 1

  def loss(self, logits: jax.Array) -> jax.Array:
    """Return the loss of a batch's logits."""
    return base.entropy(logits).mean()

  def step(
    self,
    state: base.State,
    images: jax.Array,
    key: jax.Array,
    draws: base.Draws | None = None,
  ) -> tuple[jax.Array, base.State]:
    """Answer a batch and adapt, see the base class."""
    del draws

    def loss(
      weights: network.Weights, key: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
      logits = self.logits(state, weights, images, key)
      return self.loss(logits), logits

    logits = jnp.zeros(())
    gradients = jax.grad(loss, has_aux=True)
    for i in range(self.steps):
      drawn = jax.random.fold_in(key, i)
      gradient, logits = gradients(state["weights"], drawn)
      state = {**state, **self.update(state, gradient)}
    state["backward"] += self.steps * len(images)
    return logits, state


METHOD = Tent
