"""Execution of an ONNX graph in JAX, operator by operator, while it is traced."""

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
  """The part of a graph that computes one output.

  Attributes:
    nodes: the operators, in order.
    source: name of the graph's input.
    output: name of the computed value.
    variables: weights, which are passed to the program.
    constants: arrays that shapes depend on, and whole numbers; they are part of
      the program.
  """

  nodes: tuple[Node, ...]
  source: str
  output: str
  variables: Mapping[str, np.ndarray]
  constants: Mapping[str, np.ndarray]

  @classmethod
  def from_graph(
    cls,
    graph: file.Graph,
    output: str,
    weights: Mapping[str, np.ndarray] | None = None,
  ) -> Self:
    """Return the program of one output, without the nodes of others.

    Args:
      graph: a graph of one input.
      output: name of a value.
      weights: weights that the graph does not hold itself; they are copied.

    Raises:
      UserError: weights are damaged.
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
    """Compute the output.

    Args:
      variables: arrays like `self.variables`.
      pixels: the graph's input.
      dtype: dtype of matrix products, `float32` or `bfloat16`; the rest stays
        in float32.

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

  def fix(self, names: Iterable[str]) -> Self:
    """Return a program in which these variables are constants."""
    fixed = {n: self.variables[n] for n in names if n in self.variables}
    return dataclasses.replace(
      self,
      variables={n: a for n, a in self.variables.items() if n not in fixed},
      constants={**self.constants, **fixed},
    )

  def text(self) -> str:
    """Return the program as text: a line for each constant and node."""
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
  """Return a text that identifies a number, an array or a branch."""
  if isinstance(value, file.Graph):
    weights = [f"{n} = {_text(t.array())}" for n, t in value.tensors.items()]
    nodes = [f"{n.operator}{[*n.inputs, *_options(n)]}" for n in value.nodes]
    return "; ".join([*weights, *nodes])
  if not isinstance(value, np.ndarray):
    return repr(value)
  digest = hashlib.sha256(value.tobytes()).hexdigest()
  return f"{value.dtype}{list(value.shape)} {digest}"


def unknown_operators(graph: file.Graph, output: str) -> tuple[str, ...]:
  """Return the operators that an output needs and that are unknown here."""
  nodes = _needed(graph.nodes, output)
  return tuple(sorted({n.operator for n in _all(nodes)} - {*TABLE, _IF}))


def _all(nodes: Iterable[Node]) -> Iterator[Node]:
  """Yield nodes, and those of their branches."""
  for node in nodes:
    yield node
    for branch in _branches(node):
      yield from _all(branch.nodes)


def _branches(node: Node) -> list[file.Graph]:
  values = node.attributes.values()
  return [value for value in values if isinstance(value, file.Graph)]


def _reads(node: Node) -> Iterator[str]:
  """Yield the names of the values that a node or its branches read."""
  yield from filter(None, node.inputs)
  for branch in _branches(node):
    yield from branch.outputs
    for inner in branch.nodes:
      yield from _reads(inner)


def _needed(nodes: Iterable[Node], output: str) -> tuple[Node, ...]:
  """Return the nodes that compute an output; unread outputs lose their names."""
  needed = {output}
  used = []
  for node in reversed(tuple(nodes)):
    if needed.intersection(node.outputs):
      read = tuple(n if n in needed else "" for n in node.outputs)
      needed.update(_reads(node))
      used.append(dataclasses.replace(node, outputs=read))
  return tuple(reversed(used))


def _folded(nodes: Iterable[Node]) -> set[str]:
  """Return the values that shapes depend on, directly or not."""
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
  """Return whether an array is a weight: floats, or quantised to eight bits."""
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
      f"no operator computes the value {name!r}: the graph is damaged."
    )
  return values[name]


def _apply(node: Node, inputs: list[Any], dtype: str) -> tuple:
  if node.operator not in TABLE:
    raise UntraceableError(f"{node.operator}: unknown to JAX here.")
  operator = TABLE[node.operator]
  for place in operator.static:
    if place < len(inputs) and not is_static(inputs[place]):
      raise node.refuse(
        f"its input {node.inputs[place]!r} determines a shape and depends on the"
        " pixels, which JAX cannot trace."
      )
  narrow = operator.product and not all(map(is_static, inputs))
  if narrow:
    inputs = [_recast(x, "float32", dtype) for x in inputs]
  try:
    outputs = operator.function(node, *inputs)
  except errors.UserError:
    raise
  except Exception as error:
    raise errors.UserError(
      f"{node.operator} ({node.outputs[0]}): {errors.user_fault(error)}"
    ) from error
  if narrow:
    outputs = _recast(outputs, dtype, "float32")
  return outputs if isinstance(outputs, tuple) else (outputs,)


def _recast(value: Any, old: str, new: str) -> Any:
  """Convert arrays of one dtype to another; other values stay."""
  if value is None or value.dtype != jnp.dtype(old):
    return value
  return value.astype(jnp.dtype(new))


def _branch(node: Node, values: Mapping[str, Any], dtype: str) -> tuple:
  """Return the outputs of the branch that a known condition chooses."""
  condition = _value(values, node.inputs[0])
  if not is_static(condition):
    raise node.refuse("its condition depends on the pixels.")
  branch = node.attributes["then_branch" if condition else "else_branch"]
  inner = dict(values)
  inner.update({n: t.array() for n, t in branch.tensors.items()})
  _run(branch.nodes, inner, dtype)
  return tuple(_value(inner, name) for name in branch.outputs)
