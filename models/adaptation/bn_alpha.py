"""Batch normalisation by a blend of the source's and the batch's statistics.

Schneider et al. 2020, section 3: the batch counts n pictures, the source `prior`
of them. The batch's variance is unbiased by default, as in bethgelab/robustness
and mariodoebler/test-time-adaptation.
"""

import dataclasses

import jax

from models.adaptation import base, bn, network


@dataclasses.dataclass(frozen=True)
class Blend(bn.RunningStatistics):
  """Batch norms by `(1 - alpha) * source + alpha * batch`.

  Attributes:
    alpha: the batch's share, 0..1; None: `n / (n + prior)` of a batch of n.
    prior: pictures that the source counts for, where `alpha` is None.
    batch_size: n of every batch, also of a smaller last one; None: the batch's
      own size.
  """

  alpha: float | None = None
  prior: float = 16
  batch_size: int | None = None

  def step(
    self,
    state: base.State,
    images: jax.Array,
    key: jax.Array,
    draws: base.Draws | None = None,
  ) -> tuple[jax.Array, base.State]:
    """Answer a batch, see the base class."""
    size = self.batch_size or len(images)
    share = self.alpha
    if share is None:
      share = size / (size + self.prior)

    def rule(
      running: network.Moments, measured: network.Moments, count: int
    ) -> tuple[network.Moments, network.Moments]:
      exact = self.counted(measured, count)
      return network.blend(running, exact, share), running

    variables = state["variables"]
    return network.forward(self.model, variables, images, rule)[0], state


METHOD = Blend
