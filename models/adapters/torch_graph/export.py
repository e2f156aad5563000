"""Translation of a torch module into a program of JAX.

torch exports the module, and writes it in ONNX's operators.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from models.adapters.onnx_graph import file, graph
from models.adapters.torch_graph import decompositions, modules
from robust_tfds import errors

if TYPE_CHECKING:
  import onnx_ir
  import torch

# What `_single` puts before the names of a module's weights.
_WRAPPED = "wrapped_net."
# The operator at which torch's exporter fails, in its message.
_FAILED = re.compile(r"call_function\[target=torch\.ops\.([\w.]+)\]")


def export(
  net: torch.nn.Module | torch.export.ExportedProgram,
  shape: Sequence[int],
  output: str | int | None = None,
) -> torch.export.ExportedProgram:
  """Export the graph of a module, for batches of any number of rows.

  Args:
    net: a module in evaluation mode; or an exported one.
    shape: shape of a batch of two or more rows.
    output: key or index of the output to compute.

  Raises:
    UserError: torch cannot export it: its Python code depends on pixels or on
      the number of rows, or calls functions that torch cannot trace.
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
    # Strict reads the bytecode: slower, and correct if Python has side effects.
    for strict in (False, True):
      try:
        return torch.export.export(
          called, (batch,), dynamic_shapes=dynamic, strict=strict
        )
      except Exception as error:  # whatever the module's own code raises
        reasons.append(errors.user_fault(error))
  raise errors.UserError(f"torch.export cannot export it: {reasons[0]}")


def rows(exported: torch.export.ExportedProgram) -> int | None:
  """Return the only batch size that a graph takes; None: any size."""
  count = _batch(exported).meta["val"].shape[0]
  return count if isinstance(count, int) else None


def _batch(exported: torch.export.ExportedProgram) -> torch.fx.Node:
  """Return the graph's only input.

  Raises:
    UserError: it has several.
  """
  names = exported.graph_signature.user_inputs
  if len(names) != 1:
    raise errors.UserError(f"it has {len(names)} inputs, expected one batch.")
  (node,) = [n for n in exported.graph.nodes if n.name == names[0]]
  return node


def _single(net: torch.nn.Module, output: str | int) -> torch.nn.Module:
  """Return a module that returns one output of another."""
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
  """Disable the fused operator of torch's encoder layers."""
  import torch

  before = torch.backends.mha.get_fastpath_enabled()
  torch.backends.mha.set_fastpath_enabled(False)
  try:
    yield
  finally:
    torch.backends.mha.set_fastpath_enabled(before)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
  """Suppress the pages that torch prints when it cannot export."""
  words = io.StringIO()
  level = logging.root.manager.disable
  logging.disable(logging.ERROR)
  try:
    with (
      contextlib.redirect_stdout(words),
      contextlib.redirect_stderr(words),
      warnings.catch_warnings(action="ignore"),
    ):
      yield
  finally:
    logging.disable(level)


def read(exported: torch.export.ExportedProgram) -> graph.Program:
  """Return a graph as a program whose weights have the module's own names.

  Raises:
    ImportError: onnx or onnxscript is not installed.
    UserError: it has several outputs or unknown operators, changes its own
      buffers or its input, or holds whole numbers of more than 32 bits.
  """
  made = _translated(exported)
  assert made.exported_program is not None  # of dynamo=True
  _check_unchanged(made.exported_program)
  read, weights = _cut(made.model)
  if len(read.outputs) != 1:
    raise errors.UserError(f"it has {len(read.outputs)} outputs, expected one.")
  (output,) = read.outputs
  unknown = graph.unknown_operators(read, output)
  if unknown:
    raise _unknown_error(unknown)
  program = graph.Program.from_graph(read, output, weights)
  _check_bits(program, weights)
  return program


def _translated(
  exported: torch.export.ExportedProgram,
) -> torch.onnx.ONNXProgram:
  """Translate a graph into ONNX's operators.

  Raises:
    ImportError: onnx or onnxscript is not installed.
    UserError: torch cannot translate it.
  """
  import torch

  for package in ("onnx", "onnxscript"):
    if importlib.util.find_spec(package) is None:
      raise errors.missing_package_error(
        package, "torch", "A traced torch module"
      )
  simpler = decompositions.table()
  while True:
    try:
      with _quiet():
        made = torch.onnx.export(
          exported, dynamo=True, optimize=False, verbose=False
        )
        assert made is not None  # of dynamo=True
        return made
    except Exception as error:  # torch's own code, of many kinds
      # Operators that cannot be translated are decomposed, if torch knows how.
      failed = _FAILED.findall(str(error))
      plain = [name.replace("._", ".") for name in failed]
      same = [o for o in simpler if str(o).replace("._", ".") in plain]
      parts = {operator: simpler.pop(operator) for operator in same}
      if not parts:
        raise _translation_error(error, failed) from error
      with _quiet():
        exported = exported.run_decompositions(parts)


def _translation_error(
  error: Exception, failed: Sequence[str]
) -> errors.UserError:
  if failed:
    return _unknown_error(failed)
  _, _, summary = str(error).partition("## Exception summary")
  listed = [line for line in summary.splitlines() if line.strip()]
  return errors.UserError(
    "torch cannot write it in ONNX's operators:"
    f" {listed[0] if listed else errors.user_fault(error)}"
  )


def _cut(model: onnx_ir.Model) -> tuple[file.Graph, dict[str, np.ndarray]]:
  """Return a graph without its weights, and these by the module's names.

  They stay arrays: a protobuf message cannot have more than 2 GB.
  """
  import onnx_ir

  weights = {}
  for name, value in list(model.graph.initializers.items()):
    del model.graph.initializers[name]
    value.name = name.removeprefix(_WRAPPED)
    assert value.const_value is not None  # every initializer has one
    weights[value.name] = value.const_value.numpy()
  return file.from_model(onnx_ir.to_proto(model)), weights


def _unknown_error(operators: Sequence[str]) -> errors.UserError:
  return errors.UserError(
    f"its operators {', '.join(operators)} are not known to JAX here."
  )


def _check_unchanged(exported: torch.export.ExportedProgram) -> None:
  signature = exported.graph_signature
  if signature.buffers_to_mutate:
    changed = ", ".join(sorted(set(signature.buffers_to_mutate.values())))
    raise errors.UserError(f"it changes its buffers ({changed}) as it runs.")
  if signature.user_inputs_to_mutate:
    raise errors.UserError("it changes its input in place.")


def _check_bits(program: graph.Program, weights: dict[str, np.ndarray]) -> None:
  """Refuse whole numbers that JAX, which has 32 bits, would truncate."""
  bounds = np.iinfo(np.int32)
  for name in weights.keys() & program.constants.keys():
    array = weights[name]
    if array.dtype != np.int64 or not array.size:
      continue
    if array.min() < bounds.min or array.max() > bounds.max:
      raise errors.UserError(
        f"its {name} holds whole numbers of more than 32 bits."
      )
