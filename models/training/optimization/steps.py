"""A compiled step of training: gradients, the update, the updated statistics."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax

from models.model import NetworkModel
from models.training.config import Config
from models.training.optimization import schedules, state
from models.training.optimization.state import State
from models.training.recipes import base

Batch = Mapping[str, jax.Array]
Numbers = dict[str, jax.Array]


class Steps:
  """A pure function of (state, batch, scale of the rate): one step."""

  def __init__(
    self,
    model: NetworkModel,
    recipe: base.Recipe,
    optimizer: optax.GradientTransformationExtraArgs,
    rate: schedules.Rate,
    config: Config,
  ):
    """Put the step together; compiles nothing."""
    self._model, self._recipe, self._optimizer = model, recipe, optimizer
    self._rate, self._config = rate, config
    self._fixed = state.without_gradient(model, config)
    norms = state.frozen_norms(model, config)
    stages = config.model.frozen_stages
    self._apply_train = base.applied(
      model, frozen_norms=norms, frozen_stages=stages
    )

  def __call__(
    self, before: State, batch: Batch, scale: jax.Array
  ) -> tuple[State, Numbers]:
    """Return the state after a step, and numbers to log.

    Args:
      before: the state, which is donated.
      batch: batch of the recipe, with the rows of all devices.
      scale: scale of the learning rate, set by a plateau.

    Returns:
      The state; `loss`, `learning_rate` and the recipe's numbers, float32.
    """
    key = jax.random.fold_in(jax.random.key(self._config.seed), before.step)
    gradient, statistics, numbers = self._gradient(before, batch, key)
    rate = self._rate(before.step) * scale
    updates, optimizer = self._optimizer.update(
      gradient, before.optimizer, before.parameters, learning_rate=rate
    )
    parameters = optax.apply_updates(before.parameters, updates)
    ema = self._averaged(before, {**parameters, **statistics})
    after = State(before.step + 1, parameters, statistics, optimizer, ema)
    return after, {**numbers, "learning_rate": rate}

  def _gradient(
    self, before: State, batch: Batch, key: jax.Array
  ) -> tuple[Any, dict[str, jax.Array], Numbers]:
    """Compute the mean gradient over the parts of a batch, one after the other."""
    parts = self._config.optimizer.accumulate
    if parts == 1:
      return self._part_gradient(
        before.parameters, before.statistics, batch, key
      )

    def accumulate(statistics: Any, part: tuple[Batch, jax.Array]) -> Any:
      gradient, moved, numbers = self._part_gradient(
        before.parameters, statistics, *part
      )
      return moved, (gradient, numbers)

    # Every n-th row, so that each part lies on all devices.
    cut = lambda x: jnp.moveaxis(x.reshape(-1, parts, *x.shape[1:]), 1, 0)
    each = jax.tree.map(cut, batch), jax.random.split(key, parts)
    statistics, (gradient, numbers) = jax.lax.scan(
      accumulate, before.statistics, each
    )
    mean = lambda tree: jax.tree.map(lambda x: x.mean(0), tree)
    return mean(gradient), statistics, mean(numbers)

  def _part_gradient(
    self, parameters: Any, statistics: Any, batch: Batch, key: jax.Array
  ) -> tuple[Any, dict[str, jax.Array], Numbers]:
    gradient, (moved, numbers) = jax.grad(self.loss, has_aux=True)(
      parameters, statistics, batch, key
    )
    return gradient, moved, numbers

  def loss(
    self, parameters: Any, statistics: Any, batch: Batch, key: jax.Array
  ) -> tuple[jax.Array, tuple[dict[str, jax.Array], Numbers]]:
    """Compute the recipe's loss, the updated statistics, and numbers to log."""
    variables = state.nested({**parameters, **statistics})
    loss, (variables, numbers) = self._recipe.loss(
      self._apply_train, variables, batch, key
    )
    _, moved = state.parted(variables, self._fixed)
    return loss, (moved, {"loss": loss, **numbers})

  def _averaged(self, before: State, now: dict[str, jax.Array]) -> Any:
    """Update the moving average of the weights.

    The first steps count more, as in TensorFlow.

    The decay is at most (1 + n) / (10 + n) at step n:
    tf.train.ExponentialMovingAverage with `num_updates`. As there, a difference
    is added, so that constant values stay the same to the last bit.
    """
    if not before.ema:
      return {}
    n = before.step.astype(jnp.float32)
    decay = jnp.minimum(self._config.optimizer.ema, (1 + n) / (10 + n))
    return {p: x + (1 - decay) * (now[p] - x) for p, x in before.ema.items()}
