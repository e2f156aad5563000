"""Optimizers: optax's parts, put together as torch and TensorFlow do.

The learning rate is given at each update, so that a plateau may change it.
Libraries apply it at different places: torch's SGD to the output of its
momentum, TensorFlow's RMSProp to the input.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from models.training.config import Optimizer
from models.variables import Path
from robust_tfds import errors

_NAMES = ("sgd", "adam", "adamw", "rmsprop")
# Defaults of torch.optim.Adam and of tf.train.RMSPropOptimizer.
_EPSILON = {"adam": 1e-8, "adamw": 1e-8, "rmsprop": 1e-10}


def make_optimizer(
  config: Optimizer, decayed: Collection[Path]
) -> optax.GradientTransformationExtraArgs:
  """Build the optimizer of a config; its `update` takes `learning_rate`.

  Args:
    decayed: paths of the weights that decay if norms and biases do not, see
      `NetworkModel.decayed_paths`; the updates' names are paths, joined by "/".

  Raises:
    UserError: the optimizer is unknown, or has no momentum and is given one.
  """
  if config.name not in _NAMES:
    raise errors.unknown_error("optimizer", config.name, _NAMES)
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
    return [*decay, adam, _scale_by_rate()]
  if config.name == "adamw":
    return [adam, *decay, _scale_by_rate()]
  if config.name == "rmsprop":
    # TensorFlow 1 begins its mean square with ones.
    mean_square = optax.scale_by_rms(config.rho, epsilon, initial_scale=1.0)
    return [*decay, mean_square, _scale_by_rate(), optax.trace(config.momentum)]
  if config.nesterov and not config.momentum:
    raise errors.UserError(
      "config.optimizer.momentum: got 0 with nesterov, expected more than 0, as"
      " torch does."
    )
  momentum = [_momentum(config)] * bool(config.momentum)
  return [*decay, *momentum, _scale_by_rate()]


def _decay(
  config: Optimizer, decayed: Collection[Path]
) -> optax.GradientTransformation:
  names = {"/".join(path) for path in decayed}
  chosen = lambda parameters: {name: name in names for name in parameters}
  mask = None if config.decay_all else chosen
  return optax.add_decayed_weights(config.weight_decay, mask)


def _scale_by_rate() -> optax.GradientTransformationExtraArgs:
  """Build the part that multiplies by the step's learning rate, negated."""

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
  """The state of torch's SGD momentum."""

  begun: jax.Array
  trace: Any


def _momentum(config: Optimizer) -> optax.GradientTransformation:
  """Build torch's momentum: only later gradients are dampened."""
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
