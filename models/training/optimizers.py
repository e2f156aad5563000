"""Optimizers: optax's parts, put together as torch and TensorFlow put theirs.

The learning rate is given at each update, so that a plateau may change it. Where
it multiplies differs: torch's SGD multiplies what its momentum gives, TensorFlow's
RMSProp what its momentum is given.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from robust_tfds import errors
from robust_tfds.models.training.config import Optimizer
from robust_tfds.models.variables import Path

_NAMES = ("sgd", "adam", "adamw", "rmsprop")
# torch.optim.Adam's; tf.train.RMSPropOptimizer's.
_EPSILON = {"adam": 1e-8, "adamw": 1e-8, "rmsprop": 1e-10}


def of(
  config: Optimizer, decayed: Collection[Path]
) -> optax.GradientTransformationExtraArgs:
  """What makes updates of gradients; `update` takes `learning_rate`.

  Args:
    decayed: what decays where norms and biases do not, see
      `NetworkModel.decayed_paths`; the updates' names are paths, by "/".

  Raises:
    UserError: no such optimizer, or a momentum of one that has none.
  """
  if config.name not in _NAMES:
    raise errors.unknown("optimizer", config.name, _NAMES)
  for key in ("momentum", "dampening", "nesterov"):
    if config.name in ("adam", "adamw") and getattr(config, key):
      raise errors.UserError(
        f"config.optimizer.{key}: got {getattr(config, key)} with {config.name},"
        " which has none: expected 0 (beta1 is its own)."
      )
  clip = [optax.clip_by_global_norm(config.clip_norm)]
  return optax.chain(*clip * bool(config.clip_norm), *_steps(config, decayed))


def _steps(
  config: Optimizer, decayed: Collection[Path]
) -> list[optax.GradientTransformation]:
  decay = [_decay(config, decayed)] * bool(config.weight_decay)
  epsilon = config.epsilon or _EPSILON.get(config.name, 0.0)
  adam = optax.scale_by_adam(config.beta1, config.beta2, epsilon)
  if config.name == "adam":
    return [*decay, adam, _by_rate()]
  if config.name == "adamw":
    return [adam, *decay, _by_rate()]
  if config.name == "rmsprop":
    # TensorFlow 1 begins its mean square with ones.
    mean_square = optax.scale_by_rms(config.rho, epsilon, initial_scale=1.0)
    return [*decay, mean_square, _by_rate(), optax.trace(config.momentum)]
  if config.nesterov and not config.momentum:
    raise errors.UserError(
      "config.optimizer.momentum: got 0 with nesterov, expected more than 0, as"
      " torch does."
    )
  momentum = [_momentum(config)] * bool(config.momentum)
  return [*decay, *momentum, _by_rate()]


def _decay(
  config: Optimizer, decayed: Collection[Path]
) -> optax.GradientTransformation:
  names = {"/".join(path) for path in decayed}
  chosen = lambda parameters: {name: name in names for name in parameters}
  mask = None if config.decay_all else chosen
  return optax.add_decayed_weights(config.weight_decay, mask)


def _by_rate() -> optax.GradientTransformationExtraArgs:
  """Multiplies by the learning rate of the step, and turns downhill."""

  def update(
    updates: Any,
    state: Any,
    params: Any = None,
    *,
    learning_rate: Any,
    **_: Any,
  ) -> tuple[Any, Any]:
    del params
    return jax.tree.map(lambda u: -learning_rate * u, updates), state

  return optax.GradientTransformationExtraArgs(
    lambda params: optax.EmptyState(), update
  )


class _Momentum(NamedTuple):
  """Of torch's SGD."""

  begun: jax.Array
  trace: Any


def _momentum(config: Optimizer) -> optax.GradientTransformation:
  """torch's: the first gradient enters whole, later ones without their dampening."""
  momentum, nesterov = config.momentum, config.nesterov
  if nesterov and config.dampening:
    raise errors.UserError(
      f"config.optimizer.dampening: got {config.dampening} with nesterov,"
      " expected 0, as torch does."
    )

  def init(params: Any) -> _Momentum:
    return _Momentum(
      jnp.zeros((), jnp.bool_), jax.tree.map(jnp.zeros_like, params)
    )

  def update(
    updates: Any, state: _Momentum, params: Any = None
  ) -> tuple[Any, _Momentum]:
    del params
    share = jnp.where(state.begun, 1 - config.dampening, 1.0)
    trace = jax.tree.map(
      lambda t, u: momentum * t + share * u, state.trace, updates
    )
    out = trace
    if nesterov:
      out = jax.tree.map(lambda t, u: u + momentum * t, trace, updates)
    return out, _Momentum(jnp.ones((), jnp.bool_), trace)

  return optax.GradientTransformation(init, update)
