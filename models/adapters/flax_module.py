"""A Flax module with its variables: `flax.linen` or `flax.nnx`."""

from __future__ import annotations

from typing import Any

import jax
from flax import errors as flax_errors
from flax import linen
from flax import nnx

from robust_tfds import errors
from robust_tfds.models.adapters import Adapted
from robust_tfds.models.spec import Spec

# What a linen module raises that moves statistics, or asks for keys of dropout.
_TRAINING = (
  flax_errors.ModifyScopeVariableError,
  flax_errors.InvalidRngError,
)


def adapt(
  module: linen.Module | nnx.Module,
  spec: Spec,
  variables: Any = None,
  *,
  name: str = "",
  **options: Any,
) -> Adapted:
  """Wraps a module that maps preprocessed pictures to logits.

  Args:
    module: a linen module, or an nnx module (which carries its variables).
    spec: what it expects and answers.
    variables: of the linen module, as `module.init` returns them.
    name: what reports call it; the class's name by default.
    **options: for every call, e.g. `train=False`.

  Raises:
    UserError: not a Flax module.
    UserError: a linen module without variables, or an nnx module with them.
  """
  name = name or type(module).__name__
  if isinstance(module, linen.Module):
    if variables is None:
      raise errors.UserError(
        f"{name} is a linen module: give its variables, as"
        " module.init(key, batch) returns them."
      )

    def forward(variables: Any, batch: jax.Array) -> Any:
      try:
        return module.apply(variables, batch, **options)
      except _TRAINING as error:
        raise errors.UserError(
          f"{name} is in train mode: {errors.of_user(error)}. Give the adapter"
          " what the module's `__call__` takes for evaluation, e.g."
          " `train=False` (`use_running_average=True`, `deterministic=True`)."
        ) from error

    return Adapted(name, spec, forward, variables, code=type(module))
  if not isinstance(module, nnx.Module):
    raise errors.UserError(
      f"Got {type(module).__name__}, expected a Flax module."
    )
  if variables is not None:
    raise errors.UserError(
      f"{name} is an nnx module and carries its variables."
    )
  # Keys of dropout are no weights: nothing draws in evaluation.
  graph, keys, state = nnx.split(module, nnx.RngState, ...)

  def merged(state: Any, batch: jax.Array) -> Any:
    network: Any = nnx.merge(graph, keys, state)
    return network(batch, **options)

  return Adapted(name, spec, merged, state, code=type(module))
