"""No adaptation: the model as it is, beside which adapted ones stand."""

from typing import ClassVar

import jax

from models.adaptation import base, network


class Source(base.Method):
  """The model without adaptation."""

  by_batch: ClassVar[bool] = False

  def trained_paths(self, variables: object) -> list[str]:
    """Return nothing: no weight moves."""
    del variables
    return []

  def step(
    self,
    state: base.State,
    images: jax.Array,
    key: jax.Array,
    draws: base.Draws | None = None,
  ) -> tuple[jax.Array, base.State]:
    """Answer a batch, see the base class."""
    del key, draws
    logits, _ = network.forward(
      self.model, state["variables"], images, network.source
    )
    return logits, state


METHOD = Source
