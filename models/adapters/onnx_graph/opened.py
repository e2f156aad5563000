"""A traced graph as a network whose norms can be reached and replaced.

The norms are those of operators with all their arrays as weights; a norm that an
export takes apart into sums and products is not found.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import adapters, layers
from models.adapters.onnx_graph import graph
from models.adapters.onnx_graph.operators.node import Node
from models.model import Model
from robust_tfds import errors

_ARRAYS = {
  "BatchNormalization": ("scale", "bias", "mean", "var"),
  "LayerNormalization": ("scale", "bias"),
}
_REST = "rest"  # of the variables: those of no norm


class _Weights(nnx.Module):
  """Arrays by their names in the graph."""


class _Network(nnx.Module):
  """Norms, and the graph's other weights."""

  rest: _Weights


@dataclasses.dataclass(frozen=True)
class Opened(Model):
  """A traced model with its norms apart.

  Attributes:
    traced: its program.
    channels_first: whether it takes `[B, 3, H, W]`.
  """

  traced: graph.Program
  channels_first: bool

  @classmethod
  def from_model(cls, model: Any) -> tuple[Opened, dict[str, Any]] | None:
    """Return a traced torch module opened, and its variables; None of others.

    Raises:
      UserError: its program is of one batch size.
    """
    if not isinstance(model, adapters.Adapted):
      return None
    program = getattr(model.function, "main", None)
    if not isinstance(program, graph.Program):
      return None
    if model.rows is not None:
      raise errors.UserError(
        f"{model.name} was exported for batches of {model.rows}, and a batch that"
        " adapts is one computation. Give the module itself."
      )
    opened = cls(model.name, model.spec, program, model.channels_first)
    return opened, opened._split_norms(model.variables)

  def init(self, key: jax.Array) -> Any:
    """Return the weights that it came with."""
    del key
    return self._split_norms(self.traced.variables)

  def apply(self, variables: Any, batch: Any) -> jax.Array:
    """Compute logits, as the module in evaluation."""
    return self.answer(self.merge(variables), self.pixels(batch))

  def merge(self, variables: Any) -> Any:
    """Return the network with these variables."""
    network, rngs = _Network(), nnx.Rngs(0)
    for name, node in self._norms.items():
      arrays = variables[name]
      epsilon = float(node.attributes.get("epsilon", 1e-5))
      kind = layers.BatchNorm if "mean" in arrays else layers.LayerNorm
      layer = kind(len(arrays["scale"]), epsilon, rngs=rngs)
      for part, value in arrays.items():
        getattr(layer, part)[...] = jnp.asarray(value)
      setattr(network, name, layer)
    rest = _Weights()
    for name, value in variables[_REST].items():
      setattr(rest, name, nnx.Param(jnp.asarray(value)))
    network.rest = rest
    return network

  def answer(self, network: Any, pixels: jax.Array) -> jax.Array:
    """Return the logits of a network from `merge`."""
    if self.channels_first:
      pixels = jnp.moveaxis(pixels, -1, 1)
    norms = {n.outputs[0]: name for name, n in self._norms.items()}
    nodes = tuple(
      _layer_node(node, getattr(network, norms[node.outputs[0]]))
      if node.outputs[0] in norms
      else node
      for node in self.traced.nodes
    )
    weights = {k: v[...] for k, v in vars(network.rest).items() if _is_array(v)}
    program = dataclasses.replace(self.traced, nodes=nodes)
    return program(weights, pixels).astype(jnp.float32)

  @property
  def _norms(self) -> dict[str, Node]:
    """Name of a norm -> its operator; all of its arrays are weights of it alone."""
    read = [name for node in self.traced.nodes for name in node.inputs]
    out: dict[str, Node] = {}
    for node in self.traced.nodes:
      arrays = node.inputs[1:]
      expected = _ARRAYS.get(node.operator, ())
      if (
        expected
        and len(arrays) == len(expected)
        and all(
          name in self.traced.variables and read.count(name) == 1
          for name in arrays
        )
      ):
        out[f"norm{len(out)}"] = node
    return out

  def _split_norms(self, variables: Any) -> dict[str, Any]:
    """Return the graph's variables, those of each norm under the norm's name."""
    rest, out = dict(variables), {}
    for name, node in self._norms.items():
      arrays = [np.asarray(rest.pop(array)) for array in node.inputs[1:]]
      out[name] = dict(zip(_ARRAYS[node.operator], arrays, strict=True))
    return {**out, _REST: rest}


def _is_array(value: Any) -> bool:
  return isinstance(value, nnx.Variable)


def _layer_node(node: Node, layer: Any) -> Node:
  """Replace an operator by a layer, which expects its channels last."""
  along = -1 if node.operator == "LayerNormalization" else 1

  def call(x: jax.Array) -> jax.Array:
    return jnp.moveaxis(layer(jnp.moveaxis(x, along, -1)), -1, along)

  attributes = {"layer": call}
  return dataclasses.replace(
    node, inputs=node.inputs[:1], attributes=attributes
  )
