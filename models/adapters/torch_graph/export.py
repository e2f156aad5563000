"""From a torch module to a `Program`: torch exports, its graph is read.

Torch writes the graph in its core operators; those that `operators/` knows are
kept whole (attention, norms, rolls, ...), the rest is taken apart by torch.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from robust_tfds import errors
from robust_tfds.models.adapters.torch_graph import modules, program
from robust_tfds.models.adapters.torch_graph.operators import OPERATORS

if TYPE_CHECKING:
  import torch

# What is torch's alone: where an array lies, and how.
_TORCH_ALONE = frozenset(
  ("device", "layout", "memory_format", "non_blocking", "pin_memory")
)
# What `_single` puts before the names of a module's weights.
_WRAPPED = "wrapped_net."


def export(
  net: Any, shape: Sequence[int], output: str | int | None = None
) -> torch.export.ExportedProgram:
  """The graph of a module, for batches of any number of rows.

  Args:
    net: a module in evaluation mode; or what torch.export made of one.
    shape: of a batch of two or more rows.
    output: which of the module's outputs is wanted.

  Raises:
    UserError: torch cannot export it: its Python code depends on pixels, or on
      the number of rows, or calls what torch cannot follow.
  """
  import torch

  if isinstance(net, torch.export.ExportedProgram):
    size = tuple(_batch(net).meta["val"].shape[1:])
    if size != tuple(shape[1:]):
      raise errors.UserError(
        f"it was exported for inputs of {size}, and got {tuple(shape[1:])}."
      )
    return net
  batch = torch.zeros(tuple(shape), device=modules.place(net)[0])
  dynamic = ({0: torch.export.Dim("rows")},)
  called = net if output is None else _single(net, output)
  reasons = []
  with _plain_attention(), _quiet():
    # Strict reads the bytecode: slower, and right where Python has side effects.
    for strict in (False, True):
      try:
        return torch.export.export(
          called, (batch,), dynamic_shapes=dynamic, strict=strict
        )
      except Exception as error:  # whatever the module's own code raises
        reasons.append(errors.of_user(error))
  raise errors.UserError(f"torch.export cannot export it: {reasons[0]}")


def rows(exported: torch.export.ExportedProgram) -> int | None:
  """Of the only batches that a graph takes; None: any number."""
  count = _batch(exported).meta["val"].shape[0]
  return count if isinstance(count, int) else None


def _batch(exported: torch.export.ExportedProgram) -> torch.fx.Node:
  """The graph's input.

  Raises:
    UserError: it has several.
  """
  names = exported.graph_signature.user_inputs
  if len(names) != 1:
    raise errors.UserError(f"it has {len(names)} inputs, expected one batch.")
  (node,) = [n for n in exported.graph.nodes if n.name == names[0]]
  return node


def _single(net: torch.nn.Module, output: str | int) -> torch.nn.Module:
  """A module that answers with one of another's outputs."""
  import torch

  class Single(torch.nn.Module):
    def __init__(self) -> None:
      super().__init__()
      self.wrapped_net = net

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
      answer = modules.plain(self.wrapped_net(batch), lambda tensor: tensor)
      return answer[output]

  return Single().eval()


@contextlib.contextmanager
def _plain_attention() -> Iterator[None]:
  """Without the fused operator of torch's encoder layers."""
  import torch

  before = torch.backends.mha.get_fastpath_enabled()
  torch.backends.mha.set_fastpath_enabled(False)
  try:
    yield
  finally:
    torch.backends.mha.set_fastpath_enabled(before)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
  """Without the pages that torch prints of what it cannot export."""
  words = io.StringIO()
  level = logging.root.manager.disable
  logging.disable(logging.ERROR)
  try:
    with contextlib.redirect_stdout(words), contextlib.redirect_stderr(words):
      yield
  finally:
    logging.disable(level)


def read(
  exported: torch.export.ExportedProgram,
) -> tuple[program.Program, dict[str, np.ndarray]]:
  """A graph as a program, and its variables: name -> float32 or int32 array.

  Raises:
    UserError: it has several inputs, changes its own buffers or its input, or
      holds numbers that are neither real nor whole.
  """
  try:
    with _quiet():
      exported = exported.run_decompositions(_decompositions())
  except Exception as error:  # torch's own code, of many kinds
    raise errors.UserError(
      f"torch cannot take its graph apart: {errors.of_user(error)}."
    ) from error
  signature = exported.graph_signature
  if signature.buffers_to_mutate:
    changed = ", ".join(sorted(set(signature.buffers_to_mutate.values())))
    raise errors.UserError(f"it changes its buffers ({changed}) as it runs.")
  if signature.user_inputs_to_mutate:
    raise errors.UserError("it changes the pixels that it is given in place.")
  batch = _batch(exported)
  steps = [_step(n) for n in exported.graph.nodes if n.op == "call_function"]
  answer = _answer(exported)
  needed = _needed(steps, answer)
  sources = {
    **signature.inputs_to_parameters,
    **signature.inputs_to_buffers,
    **signature.inputs_to_lifted_tensor_constants,
  }
  sources = {key: name for key, name in sources.items() if key in needed}
  tensors = {**exported.state_dict, **exported.constants}
  arrays = {name: _array(name, tensors[name]) for name in sources.values()}
  weights = {*signature.parameters, *signature.buffers}
  if all(name.startswith(_WRAPPED) for name in weights):
    sources = {key: _own(name) for key, name in sources.items()}
    arrays = {_own(name): array for name, array in arrays.items()}
    weights = {_own(name) for name in weights}
  return (
    program.Program(
      steps=tuple(step for step in steps if step.result in needed),
      batch=batch.name,
      variables=sources,
      constants={n: a for n, a in arrays.items() if n not in weights},
      answer=answer,
      rows=rows(exported),
    ),
    {n: a for n, a in arrays.items() if n in weights},
  )


def _own(name: str) -> str:
  """A weight's name in the module that `_single` wrapped."""
  return name.removeprefix(_WRAPPED)


def _decompositions() -> Any:
  """How torch takes apart what it does not find in our table."""
  import torch

  table = torch.export.default_decompositions()
  for operator in list(table):
    # What changes its input (`aten.relu_.default`) becomes what does not.
    if str(operator).replace("_.", ".") in OPERATORS:
      table.pop(operator)
  return table


def _step(node: torch.fx.Node) -> program.Step:
  """A node of torch's graph as a step."""
  arguments, options = _bound(node)
  return program.Step(
    operator=_name(node.target),
    arguments=tuple(_plain(a) for a in arguments),
    options={key: _plain(value) for key, value in options.items()},
    result=node.name,
  )


def _name(target: Any) -> str:
  """An operator's name in our table."""
  import torch

  if isinstance(target, torch._ops.OperatorBase):
    return str(target)
  return f"{target.__module__}.{target.__name__}"


def _bound(node: torch.fx.Node) -> tuple[list[Any], dict[str, Any]]:
  """Arguments in the order of the operator's schema, and those after its `*`."""
  import torch

  if not isinstance(node.target, torch._ops.OpOverload):
    return list(node.args), dict(node.kwargs)
  arguments: list[Any] = list(node.args)
  options: dict[str, Any] = {}
  skipped: list[Any] = []  # defaults before one that is given by name
  schema = node.target._schema.arguments
  for parameter in schema[len(arguments) :]:
    given = parameter.name in node.kwargs
    if parameter.kwarg_only:
      if given and parameter.name not in _TORCH_ALONE:
        options[parameter.name] = node.kwargs[parameter.name]
    elif given:
      arguments += [*skipped, node.kwargs[parameter.name]]
      skipped = []
    else:
      skipped.append(parameter.default_value)
  return arguments, options


def _plain(value: Any) -> Any:
  """Without torch's own classes."""
  import torch

  if isinstance(value, torch.fx.Node):
    return program.Result(value.name)
  if isinstance(value, Mapping):
    return {key: _plain(v) for key, v in value.items()}
  if isinstance(value, (tuple, list)):
    return [_plain(v) for v in value]
  if isinstance(value, torch.dtype):
    return _dtype(value)
  if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
    return None
  return value


def _dtype(dtype: torch.dtype) -> np.dtype:
  """As JAX computes: in 32 bits."""
  import torch

  if dtype.is_complex:
    raise errors.UserError(f"it computes with {dtype} numbers.")
  if dtype == torch.bool:
    return np.dtype(np.bool_)
  if dtype == torch.uint8:
    return np.dtype(np.uint8)
  if dtype == torch.float16:
    return np.dtype(np.float16)
  if dtype == torch.bfloat16:
    import jax.numpy as jnp

    return np.dtype(jnp.bfloat16)
  return np.dtype(np.float32 if dtype.is_floating_point else np.int32)


def _array(name: str, tensor: torch.Tensor) -> np.ndarray:
  """A variable's numbers, copied."""
  array = tensor.detach().cpu().numpy()
  dtype = _dtype(tensor.dtype)
  if dtype == np.int32 and array.size:
    low, high = array.min(), array.max()
    bounds = np.iinfo(np.int32)
    if low < bounds.min or high > bounds.max:
      raise errors.UserError(
        f"its {name} holds whole numbers of more than 32 bits."
      )
  copied: np.ndarray = np.array(array, dtype)
  return copied


def _answer(exported: torch.export.ExportedProgram) -> Any:
  """The module's answer with `Result`s in place of its tensors."""
  import torch.utils._pytree as pytree

  (output,) = [n for n in exported.graph.nodes if n.op == "output"]
  flat = [_plain(value) for value in output.args[0]]
  return pytree.tree_unflatten(flat, exported.call_spec.out_spec)


def _needed(steps: Sequence[program.Step], answer: Any) -> set[str]:
  """Names of all that the answer is computed from."""
  needed = set(_results(answer))
  for step in reversed(steps):
    if step.result in needed:
      needed.update(_results((step.arguments, step.options)))
  return needed


def _results(value: Any) -> Iterator[str]:
  if isinstance(value, program.Result):
    yield value.name
  elif isinstance(value, Mapping):
    for inner in value.values():
      yield from _results(inner)
  elif isinstance(value, (tuple, list)):
    for inner in value:
      yield from _results(inner)
