"""Runs an ONNX graph in JAX, operator by operator, inside of a traced function."""

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from models.adapters.onnx_graph import file
from models.adapters.onnx_graph.operators import TABLE
from models.adapters.onnx_graph.operators.node import (
  Node,
  UntraceableError,
  is_static,
)
from robust_tfds import errors

_IF = "If"  # whose branches are graphs: not an operator of the table


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
  """What a graph's output needs.

  Attributes:
    nodes: in order.
    source: the name of the graph's input.
    output: the name of the value that it answers with.
    variables: weights, which the program is given.
    constants: what shapes depend on, and whole numbers; part of the program.
  """

  nodes: tuple[Node, ...]
  source: str
  output: str
  variables: Mapping[str, np.ndarray]
  constants: Mapping[str, np.ndarray]

  @classmethod
  def of(
    cls,
    graph: file.Graph,
    output: str,
    weights: Mapping[str, np.ndarray] | None = None,
  ) -> Self:
    """The program of one output; other outputs' nodes are left out.

    Args:
      graph: of one input.
      output: the name of a value.
      weights: those that the graph does not hold itself; copied.

    Raises:
      UserError: damaged weights.
    """
    nodes = _needed(graph.nodes, output)
    read = {name for node in nodes for name in _reads(node)} | {output}
    arrays = {n: t.array() for n, t in graph.tensors.items() if n in read}
    arrays.update(
      (n, np.array(a)) for n, a in (weights or {}).items() if n in read
    )
    fixed = _folded(nodes)
    variables = {
      n: a for n, a in arrays.items() if n not in fixed and _is_weight(a)
    }
    constants = {n: a for n, a in arrays.items() if n not in variables}
    (source,) = graph.inputs
    return cls(nodes, source.name, output, variables, constants)

  def __call__(
    self,
    variables: Mapping[str, jax.Array],
    pixels: jax.Array,
    dtype: str = "float32",
  ) -> jax.Array:
    """The output's value.

    Args:
      variables: as `self.variables`.
      pixels: as the graph takes them.
      dtype: `float32`, or `bfloat16`, in which matrices are then multiplied;
        all else stays in float32.

    Raises:
      UntraceableError: a shape depends on the pixels.
      UserError: an operator fails.
    """
    values = {**variables, **self.constants}
    values[self.source] = jnp.asarray(pixels)
    precision = "highest" if dtype == "float32" else "default"
    with jax.default_matmul_precision(precision):
      _run(self.nodes, values, dtype)
      return jnp.asarray(_value(values, self.output))

  def with_constants(self, names: Iterable[str]) -> Self:
    """The same with these of its variables as constants."""
    fixed = {n: self.variables[n] for n in names if n in self.variables}
    return dataclasses.replace(
      self,
      variables={n: a for n, a in self.variables.items() if n not in fixed},
      constants={**self.constants, **fixed},
    )

  def text(self) -> str:
    """A line for each node and constant, which say what it computes."""
    lines = [
      f"{n} = {_text(self.constants[n])}" for n in sorted(self.constants)
    ]
    for node in self.nodes:
      given = [*node.inputs, *_options(node)]
      results = ", ".join(node.outputs)
      lines.append(f"{results} = {node.operator}({', '.join(given)})")
    return "\n".join([*lines, f"return {self.output}"])


def _options(node: Node) -> list[str]:
  return [f"{k}={_text(v)}" for k, v in sorted(node.attributes.items())]


def _text(value: Any) -> str:
  """Of numbers, arrays and branches: what tells them from others."""
  if isinstance(value, file.Graph):
    weights = [f"{n} = {_text(t.array())}" for n, t in value.tensors.items()]
    nodes = [f"{n.operator}{[*n.inputs, *_options(n)]}" for n in value.nodes]
    return "; ".join([*weights, *nodes])
  if not isinstance(value, np.ndarray):
    return repr(value)
  digest = hashlib.sha256(value.tobytes()).hexdigest()
  return f"{value.dtype}{list(value.shape)} {digest}"


def unknown_operators(graph: file.Graph, output: str) -> tuple[str, ...]:
  """Names of the operators that an output needs and that are not known here."""
  nodes = _needed(graph.nodes, output)
  return tuple(sorted({n.operator for n in _all(nodes)} - {*TABLE, _IF}))


def _all(nodes: Iterable[Node]) -> Iterator[Node]:
  """Nodes, and those of their branches."""
  for node in nodes:
    yield node
    for branch in _branches(node):
      yield from _all(branch.nodes)


def _branches(node: Node) -> list[file.Graph]:
  values = node.attributes.values()
  return [value for value in values if isinstance(value, file.Graph)]


def _reads(node: Node) -> Iterator[str]:
  """Values that a node or its branches are given."""
  yield from filter(None, node.inputs)
  for branch in _branches(node):
    yield from branch.outputs
    for inner in branch.nodes:
      yield from _reads(inner)


def _needed(nodes: Iterable[Node], output: str) -> tuple[Node, ...]:
  """The nodes that an output is computed by; what nothing reads has no name."""
  needed = {output}
  kept = []
  for node in reversed(tuple(nodes)):
    if needed.intersection(node.outputs):
      read = tuple(n if n in needed else "" for n in node.outputs)
      needed.update(_reads(node))
      kept.append(dataclasses.replace(node, outputs=read))
  return tuple(reversed(kept))


def _folded(nodes: Iterable[Node]) -> set[str]:
  """Values that shapes depend on, and all that these are computed of."""
  fixed: set[str] = set()
  for node in reversed(tuple(nodes)):
    operator = TABLE.get(node.operator)
    if operator is None:
      fixed.update(_reads(node))
      continue
    places = (*operator.static, *operator.folded)
    if fixed.intersection(node.outputs):
      places = tuple(range(len(node.inputs)))
    read = set(places).difference(operator.unread)
    fixed.update(node.inputs[i] for i in read if i < len(node.inputs))
  return fixed


def _is_weight(array: np.ndarray) -> bool:
  """Numbers of a layer; whole ones are places and sizes, but for eight bits."""
  return jnp.issubdtype(array.dtype, jnp.floating) or array.dtype.itemsize == 1


def _run(
  nodes: Iterable[Node], values: dict[str, Any], dtype: str = "float32"
) -> None:
  """Add the outputs of nodes to the values."""
  for node in nodes:
    if node.operator == _IF:
      outputs = _branch(node, values, dtype)
    else:
      inputs = [_value(values, name) for name in node.inputs]
      outputs = _apply(node, inputs, dtype)
    values.update(zip(node.outputs, outputs))


def _value(values: Mapping[str, Any], name: str) -> Any:
  if not name:
    return None
  if name not in values:
    raise errors.UserError(
      f"nothing before it computes the value {name!r}: it is damaged."
    )
  return values[name]


def _apply(node: Node, inputs: list[Any], dtype: str) -> tuple:
  if node.operator not in TABLE:
    raise UntraceableError(f"{node.operator}: not known to JAX here.")
  operator = TABLE[node.operator]
  for place in operator.static:
    if place < len(inputs) and not is_static(inputs[place]):
      raise node.refuse(
        f"its input {node.inputs[place]!r} decides on a shape and depends on the"
        " pixels, which JAX cannot trace."
      )
  narrow = operator.product and not all(map(is_static, inputs))
  if narrow:
    inputs = [_in_place_of("float32", x, dtype) for x in inputs]
  try:
    outputs = operator.function(node, *inputs)
  except errors.UserError:
    raise
  except Exception as error:
    raise errors.UserError(
      f"{node.operator} ({node.outputs[0]}): {errors.user_fault(error)}"
    ) from error
  if narrow:
    outputs = _in_place_of(dtype, outputs, "float32")
  return outputs if isinstance(outputs, tuple) else (outputs,)


def _in_place_of(dtype: str, value: Any, other: str) -> Any:
  """An array of a dtype in another one; all else as it is."""
  if value is None or value.dtype != jnp.dtype(dtype):
    return value
  return value.astype(jnp.dtype(other))


def _branch(node: Node, values: Mapping[str, Any], dtype: str) -> tuple:
  """The outputs of the branch that a known condition chooses."""
  condition = _value(values, node.inputs[0])
  if not is_static(condition):
    raise node.refuse("its condition depends on the pixels.")
  branch = node.attributes["then_branch" if condition else "else_branch"]
  inner = dict(values)
  inner.update({n: t.array() for n, t in branch.tensors.items()})
  _run(branch.nodes, inner, dtype)
  return tuple(_value(inner, name) for name in branch.outputs)
