"""SAR: sharpness-aware entropy minimisation on reliable pictures, with recovery.

Niu et al. 2023 (arXiv:2302.12400), mr-eggplant/SAR. `reset` keeps the momentum and
forgets the moving loss; the recovery does so too and puts the moving loss back, as
the authors' code does.
"""

import dataclasses
import re
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from models.adaptation import base, network

_KEPT = 0.9  # of the moving loss
_TINY = 1e-12
_FORGOTTEN = ("weights", "optimizer", "loss")
# The last stage, the last three blocks and the last norm are left as they are.
_FROZEN = re.compile(
  r"layer4/|blocks/(9|10|11)/|encoder_layer_(9|10|11)/|norm/[a-z]+$|encoder/ln/"
)


@dataclasses.dataclass(frozen=True)
class Sar(base.Learner):
  """Reliable and sharpness-aware entropy minimisation.

  Attributes:
    e_margin: entropy in nats below which a picture is reliable; None: 0.4 ln C.
    rho: how far weights climb before the gradient is taken.
    recovery: the moving loss in nats below which the weights are the source's
      again.
    full_recovery: whether a recovery forgets the momentum and the moving loss
      too, as a new object; False: the authors' code.
  """

  e_margin: float | None = None
  rho: float = 0.05
  recovery: float = 0.2
  full_recovery: bool = False
  renewed: ClassVar[bool] = True
  CIFAR: ClassVar[base.Optimizer] = base.SGD

  def trained_paths(self, variables: Any) -> list[str]:
    """Return the norms' scales and biases, without those of the last layers."""
    every = super().trained_paths(variables)
    return [path for path in every if not _FROZEN.match(path)]

  def fresh(self, weights: network.Weights) -> base.State:
    """Return the state of a new object."""
    return {
      **super().fresh(weights),
      "loss": jnp.full((), jnp.nan, jnp.result_type(*weights.values())),
      "reliable": jnp.zeros((), jnp.int32),
      "recovered": jnp.zeros((), bool),
    }

  def reset(self, state: base.State) -> base.State:
    """Return the source weights and no moving loss; the momentum stays."""
    return {**self.renew(state), "optimizer": state["optimizer"]}

  def step(
    self,
    state: base.State,
    images: jax.Array,
    key: jax.Array,
    draws: base.Draws | None = None,
  ) -> tuple[jax.Array, base.State]:
    """Answer a batch and adapt, see the base class."""
    del draws
    margin = self.e_margin
    if margin is None:
      margin = base.entropy_margin(self.model)

    def loss(
      weights: network.Weights, candidates: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
      logits = self.logits(state, weights, images, key)
      entropies = base.entropy(logits)
      kept = candidates & (jax.lax.stop_gradient(entropies) < margin)
      return base.mean_where(entropies, kept), (logits, kept)

    gradient = jax.value_and_grad(loss, has_aux=True)
    every = jnp.ones(len(images), bool)
    keys = jax.random.split(key)
    (_, (logits, reliable)), first = gradient(state["weights"], every, keys[0])
    norm = jnp.sqrt(sum((g * g).sum() for g in first.values()))
    climb = self.rho / (norm + _TINY)
    higher = jax.tree.map(lambda w, g: w + climb * g, state["weights"], first)
    (second, (_, kept)), slope = gradient(higher, reliable, keys[1])
    before = state["loss"]
    moved = _KEPT * before + (1 - _KEPT) * second
    moved = jnp.where(jnp.isnan(before), second, moved)
    moved = jnp.where(kept.any(), moved, before)
    state = {
      **state,
      **self.update(state, slope),
      "loss": moved,
      "reliable": reliable.sum(),
      "backward": state["backward"] + 2 * reliable.sum(),
    }
    lost = moved < self.recovery
    again = {"weights": state["source"]}
    if self.full_recovery:
      again = {k: self.fresh(state["source"])[k] for k in _FORGOTTEN}
    kept = {k: state[k] for k in again}
    return logits, {
      **state,
      **base.where(lost, again, kept),
      "recovered": lost,
    }


METHOD = Sar
