"""EATA: ETA that holds weights near the source where the source depends on them.

Niu et al. 2022 (arXiv:2204.02610), mr-eggplant/EATA: the Fisher information is the
mean over clean batches of squared gradients of the cross-entropy to the network's
own labels.
"""

import dataclasses
import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from models.adaptation import base, eta, network

_ALPHAS = {"imagenet": 2000.0, "cifar10": 1.0, "cifar100": 1.0}


@dataclasses.dataclass(frozen=True)
class Eata(eta.Eta):
  """ETA with a Fisher penalty.

  Attributes:
    fisher_alpha: weight of the penalty; None: the papers'.
    clean_batch: clean pictures a batch, where they are given as one array.
  """

  fisher_alpha: float | None = None
  clean_batch: int = 64
  needs_clean: ClassVar[bool] = True

  def prepare(self, state: base.State, clean: Any) -> base.State:
    """Return the Fisher information of the adapted weights, `fisher`."""
    compute = jax.jit(functools.partial(self._squares, state))
    groups = list(base.batches(clean, self.clean_batch))
    keys = jax.random.split(jax.random.key(0), len(groups))
    squares = [compute(*each) for each in zip(groups, keys, strict=True)]
    return {
      "fisher": jax.tree.map(lambda *rows: sum(rows) / len(rows), *squares)
    }

  def _squares(
    self, state: base.State, images: jax.Array, key: jax.Array
  ) -> network.Weights:
    """Return squared gradients of one clean batch."""

    def loss(weights: network.Weights) -> jax.Array:
      logs = jax.nn.log_softmax(self.logits(state, weights, images, key))
      return -logs.max(-1).mean()

    gradient = jax.grad(loss)(state["weights"])
    return jax.tree.map(jnp.square, gradient)

  def penalty(self, state: base.State, weights: network.Weights) -> jax.Array:
    """Return how far the weights are from the source, by importance."""
    alpha = self.fisher_alpha
    if alpha is None:
      alpha = _ALPHAS[base.published(self.model)]
    away = (
      (state["fisher"][path] * (value - state["source"][path]) ** 2).sum()
      for path, value in weights.items()
    )
    return alpha * sum(away)


METHOD = Eata
