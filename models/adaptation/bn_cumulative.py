"""Batch normalisation by the mean of all batches' statistics so far.

Layer by layer, as bethgelab/robustness has it: a layer adds the batch that it
sees to its mean, and normalises by that mean at once.
"""

import dataclasses

import jax
import jax.numpy as jnp

from models.adaptation import base, bn, network


@dataclasses.dataclass(frozen=True)
class CumulativeMean(bn.RunningStatistics):
  """Batch norms by the plain mean over the stream; the source's do not count."""

  def fresh(self, weights: network.Weights) -> base.State:
    """Return the state before any batch."""
    return {"weights": weights, "batches": jnp.zeros((), jnp.int32)}

  def step(
    self,
    state: base.State,
    images: jax.Array,
    key: jax.Array,
    draws: base.Draws | None = None,
  ) -> tuple[jax.Array, base.State]:
    """Answer a batch, see the base class."""
    batches = state["batches"] + 1

    def rule(
      running: network.Moments, measured: network.Moments, count: int
    ) -> tuple[network.Moments, network.Moments]:
      exact = self.counted(measured, count)
      share = 1 / batches.astype(exact.mean.dtype)
      mean = network.blend(running, exact, share)
      return mean, mean

    variables = network.put(state["variables"], state["weights"])
    logits, moved = network.forward(self.model, variables, images, rule)
    return logits, {**state, "weights": moved, "batches": batches}


METHOD = CumulativeMean
