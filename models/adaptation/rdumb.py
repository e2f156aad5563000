"""RDumb: ETA that starts anew every 1,000 batches.

Press et al. 2023 (arXiv:2306.05401), oripress/CCC: weights, optimizer and moving
mean are the source's again.
"""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp

from models.adaptation import base, eta, network


@dataclasses.dataclass(frozen=True)
class RDumb(eta.Eta):
  """ETA with periodic resets.

  Attributes:
    every: batches between two resets.
  """

  every: int = 1000
  side_by_side: ClassVar[bool] = True

  def fresh(self, weights: network.Weights) -> base.State:
    """Return the state of a new object."""
    return {**super().fresh(weights), "batches": jnp.zeros((), jnp.int32)}

  def reset(self, state: base.State) -> base.State:
    """Return the state of a new object."""
    return self.renew(state)

  def step(
    self,
    state: base.State,
    images: jax.Array,
    key: jax.Array,
    draws: base.Draws | None = None,
  ) -> tuple[jax.Array, base.State]:
    """Answer a batch and adapt, see the base class."""
    batches, backward = state["batches"], state["backward"]
    renewed = {**self.fresh(state["source"]), "backward": backward}
    due = batches % self.every == 0
    now = {name: state[name] for name in renewed}
    state = {**state, **base.where(due, renewed, now)}
    logits, state = super().step(state, images, key, draws)
    return logits, {**state, "batches": batches + 1}


METHOD = RDumb
