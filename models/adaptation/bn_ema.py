"""Batch normalisation by a moving mean of the batches' statistics.

Two passes a batch, as mariodoebler/test-time-adaptation makes them: one in train
mode, which moves the running moments, and one in evaluation, which answers.
"""

import dataclasses

import jax

from models.adaptation import base, bn, network


@dataclasses.dataclass(frozen=True)
class MovingMean(bn.RunningStatistics):
  """Batch norms by running moments that follow the stream.

  Attributes:
    momentum: the share of each batch, torch's.
  """

  momentum: float = 0.1

  def rule(
    self, running: network.Moments, measured: network.Moments, count: int
  ) -> tuple[network.Moments, network.Moments]:
    """Return the batch's moments, and the moved ones."""
    exact = self.counted(measured, count)
    return measured, network.blend(running, exact, self.momentum)

  def step(
    self,
    state: base.State,
    images: jax.Array,
    key: jax.Array,
    draws: base.Draws | None = None,
  ) -> tuple[jax.Array, base.State]:
    """Answer a batch, see the base class."""
    _, state = super().step(state, images, key, draws)
    variables = network.put(state["variables"], state["weights"])
    logits, _ = network.forward(self.model, variables, images, network.source)
    return logits, state


METHOD = MovingMean
