"""ETA: entropy minimisation on reliable pictures that are unlike earlier ones.

Niu et al. 2022 (arXiv:2204.02610), mr-eggplant/EATA without its Fisher term.
`reset` keeps the moving mean of the probabilities, as the authors' code does.
"""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp

from models.adaptation import base, network

_KEPT = 0.9  # of the moving mean
_TINY = 1e-8  # torch's cosine_similarity
# Largest |cosine| to the moving mean: the papers', by data set.
_COSINES = {"imagenet": 0.05, "cifar10": 0.4, "cifar100": 0.1}


@dataclasses.dataclass(frozen=True)
class Eta(base.Learner):
  """Entropy minimisation with two filters.

  Attributes:
    e_margin: entropy in nats below which a picture is reliable; None: 0.4 ln C.
    d_margin: |cosine| to the moving mean of probabilities below which a picture
      is new; None: the papers', by the number of classes.
  """

  e_margin: float | None = None
  d_margin: float | None = None
  side_by_side: ClassVar[bool] = False

  def fresh(self, weights: network.Weights) -> base.State:
    """Return the state of a new object."""
    classes = self.model.spec.num_classes
    return {
      **super().fresh(weights),
      # Not a number until a first reliable picture was seen.
      "probabilities": jnp.full(classes, jnp.nan, _dtype(weights)),
      "reliable": jnp.zeros((), jnp.int32),
      "used": jnp.zeros((), jnp.int32),
    }

  def reset(self, state: base.State) -> base.State:
    """Return the state with the source weights; the moving mean stays."""
    return {**self.renew(state), "probabilities": state["probabilities"]}

  def penalty(
    self, state: base.State, weights: network.Weights
  ) -> jax.Array | float:
    """Return what is added to the loss: nothing."""
    del state, weights
    return 0.0

  def step(
    self,
    state: base.State,
    images: jax.Array,
    key: jax.Array,
    draws: base.Draws | None = None,
  ) -> tuple[jax.Array, base.State]:
    """Answer a batch and adapt, see the base class."""
    del draws
    e_margin, d_margin = self.margins()
    before = state["probabilities"]
    unset = jnp.isnan(before).any()

    def loss(weights: network.Weights) -> tuple[jax.Array, tuple]:
      logits = self.logits(state, weights, images, key)
      entropies = base.entropy(logits)
      stopped = jax.lax.stop_gradient(logits)
      reliable = jax.lax.stop_gradient(entropies) < e_margin
      cosine = _cosine(jax.nn.softmax(stopped), jnp.where(unset, 1.0, before))
      used = reliable & (unset | (jnp.abs(cosine) < d_margin))
      weight = jnp.exp(e_margin - jax.lax.stop_gradient(entropies))
      total = base.mean_where(weight * entropies, used)
      return total + self.penalty(state, weights), (logits, reliable, used)

    gradient, seen = jax.grad(loss, has_aux=True)(state["weights"])
    logits, reliable, used = seen
    some = used.any()
    old = {k: state[k] for k in ("weights", "optimizer")}
    chosen = used[:, None]
    mean = jnp.where(chosen, jax.nn.softmax(logits), 0).sum(0)
    mean = mean / jnp.maximum(used.sum(), 1)
    moved = jnp.where(unset, mean, _KEPT * before + (1 - _KEPT) * mean)
    return logits, {
      **state,
      **base.where(some, self.update(state, gradient), old),
      "probabilities": jnp.where(some, moved, before),
      "backward": state["backward"] + used.sum(),
      "reliable": reliable.sum(),
      "used": used.sum(),
    }

  def margins(self) -> tuple[float, float]:
    """Return `e_margin` and `d_margin`, given or the papers'."""
    e_margin, d_margin = self.e_margin, self.d_margin
    if e_margin is None:
      e_margin = base.entropy_margin(self.model)
    if d_margin is None:
      d_margin = _COSINES[base.published(self.model)]
    return e_margin, d_margin


def _cosine(rows: jax.Array, vector: jax.Array) -> jax.Array:
  """Return the cosine of each row to a vector, `[B]`."""
  lengths = jnp.linalg.norm(rows, axis=-1) * jnp.linalg.norm(vector)
  return rows @ vector / jnp.maximum(lengths, _TINY)


def _dtype(weights: network.Weights) -> jnp.dtype:
  """Return the dtype of the weights: what logits are computed in."""
  return jnp.result_type(jnp.float32, *weights.values())


METHOD = Eta
