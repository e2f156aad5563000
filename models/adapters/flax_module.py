"""A Flax module with its variables: `flax.linen` or `flax.nnx`."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
from flax import errors as flax_errors
from flax import linen, nnx

from models.adapters import Adapted
from models.spec import Spec
from robust_tfds import errors

# The errors of a linen module that updates statistics or draws dropout.
_TRAINING = (
  flax_errors.ModifyScopeVariableError,
  flax_errors.InvalidRngError,
)


@dataclasses.dataclass(frozen=True, eq=False)
class _Module(Adapted):
  """An nnx module, whose layers can be reached.

  Attributes:
    opened: makes the module of its variables.
    options: further arguments of every call.
  """

  opened: Callable[[Any], nnx.Module] | None = None
  options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

  def merge(self, variables: Any) -> Any:
    """Return the module with these variables."""
    assert self.opened is not None
    return self.opened(variables)

  def answer(self, network: Any, pixels: jax.Array) -> jax.Array:
    """Return the logits of a module from `merge`."""

    def call(_: Any, batch: jax.Array) -> Any:
      return network(batch, **self.options)

    return dataclasses.replace(self, function=call)._logits(None, pixels)


def adapt(
  module: linen.Module | nnx.Module,
  spec: Spec,
  variables: Any = None,
  *,
  name: str = "",
  channels_first: bool = False,
  output: str | int | None = None,
  **options: Any,
) -> Adapted:
  """Wrap a module that maps preprocessed pictures to logits.

  Args:
    module: a linen module, or an nnx module (which carries its variables).
    spec: its preprocessing and labels.
    variables: the linen module's variables, as `module.init` returns them.
    name: name in reports; the class's name by default.
    channels_first: whether it takes `[B, 3, H, W]`.
    output: key or index of the output that holds the logits.
    **options: further arguments of every call, e.g. `train=False`. Call
      `module.eval()` first on an nnx module that needs none.

  Raises:
    UserError: `module` is no Flax module, a linen module without variables, an
      nnx module with them, or in train mode.
  """
  name = name or type(module).__name__
  layout: dict[str, Any] = {"channels_first": channels_first, "output": output}
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
          f"{name} is in train mode: {errors.user_fault(error)}. Pass the adapter"
          " the arguments that the module's `__call__` takes for evaluation,"
          " e.g. `train=False` (`use_running_average=True`,"
          " `deterministic=True`)."
        ) from error

    return Adapted(name, spec, forward, variables, code=type(module), **layout)
  if not isinstance(module, nnx.Module):
    raise errors.UserError(
      f"Got {type(module).__name__}, expected a Flax module."
    )
  if variables is not None:
    raise errors.UserError(
      f"{name} is an nnx module and carries its variables."
    )
  if not options:
    _check_evaluation(name, module)
  # Dropout's keys are no weights: nothing is drawn in evaluation.
  graph, *states = nnx.split(module, nnx.RngState, ...)
  keys, state = states

  def opened(state: Any) -> Any:
    return nnx.merge(graph, keys, state)

  def merged(state: Any, batch: jax.Array) -> Any:
    return opened(state)(batch, **options)

  layout |= {"opened": opened, "options": options}
  return _Module(name, spec, merged, state, code=type(module), **layout)


def _check_evaluation(name: str, module: nnx.Module) -> None:
  """Refuse layers that depend on the rest of the batch, or on chance."""
  for path, layer in nnx.iter_modules(module):
    where = ".".join(map(str, path)) or "it"
    if isinstance(layer, nnx.BatchNorm) and not layer.use_running_average:
      reason = f"{where} (BatchNorm) normalises by the batch"
    elif (
      isinstance(layer, nnx.Dropout)
      and layer.rate
      and not (layer.deterministic)
    ):
      reason = f"{where} (Dropout) drops at random"
    else:
      continue
    raise errors.UserError(
      f"{name} is in train mode, as nnx modules are by default: {reason}. Call"
      " module.eval() before you pass it to the adapter."
    )
