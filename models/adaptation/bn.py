"""Batch normalisation by the statistics of each test batch.

Schneider et al. 2020 (arXiv:2006.16971) and Nado et al. 2020 (arXiv:2006.10963);
`norm.py` of DequanWang/tent: the biased variance, as in torch's train mode.
"""

import dataclasses
from typing import Any, ClassVar

import jax

from models.adaptation import base, network
from robust_tfds import errors


@dataclasses.dataclass(frozen=True)
class BatchStatistics(base.Method):
  """A method that changes what batch norms normalise by, and trains nothing."""

  def trained_paths(self, variables: Any) -> list[str]:
    """Return the paths of the running moments.

    Raises:
      UserError: the model has no batch norms.
    """
    norm_layers = network.norms(self.model, variables)
    paths = [
      f"{path}/{moment}"
      for path, layer in norm_layers.items()
      if isinstance(layer, network.BATCH_NORMS)
      for moment in ("mean", "var")
    ]
    if not paths:
      raise errors.UserError(
        f"{self.model.name} has no batch norms, whose statistics this method"
        " adapts. LayerNorm and GroupNorm have none: use tent, eata or sar."
      )
    return paths

  def rule(
    self, running: network.Moments, measured: network.Moments, count: int
  ) -> tuple[network.Moments, network.Moments]:
    """Return what a batch norm uses and keeps: here the batch's moments."""
    return network.batch(running, measured, count)

  def step(
    self,
    state: base.State,
    images: jax.Array,
    key: jax.Array,
    draws: base.Draws | None = None,
  ) -> tuple[jax.Array, base.State]:
    """Answer a batch, see the base class."""
    del key, draws
    variables = network.put(state["variables"], state["weights"])
    logits, moved = network.forward(self.model, variables, images, self.rule)
    return logits, {**state, "weights": moved}


@dataclasses.dataclass(frozen=True)
class RunningStatistics(BatchStatistics):
  """A method by more than a batch: also a batch of one picture counts.

  Attributes:
    unbiased: whether a batch's variance is the unbiased one, as in torch's running
      variance and so in the authors' code; False: the biased one.
  """

  unbiased: bool = True
  by_batch: ClassVar[bool] = False

  def counted(self, measured: network.Moments, count: int) -> network.Moments:
    """Return a batch's moments as they count, see `unbiased`."""
    return network.unbiased(measured, count) if self.unbiased else measured


METHOD = BatchStatistics
