"""Pooled outputs of a network's layers: `Classifier.apply(..., capture=...)`.

A layer is named by its path in the network, as in checkpoints: `layer4`,
`layer4.0.conv2`, `blocks.11`. `FEATURES` is the input of the last layer, whatever
its name: a linear layer on it gives the logits. With several heads it is all their
inputs; if no layer gives the logits, as in CLIP, it is the last layer's output.

For one call, a captured layer is replaced by a stand-in that keeps its output, so
families need no code for it. The result is the mean over all axes between examples
and channels, float32 `[B, channels]`; several arrays (pathways, tokens) are
concatenated. A layer that is called several times keeps its last output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from models.variables import Path
from robust_tfds import errors

FEATURES = "features"
Keep = Callable[[Any, Any], None]  # takes a layer's input and output
Captured = dict[str, jax.Array]


def names(paths: Iterable[Path]) -> tuple[str, ...]:
  """Return the layers that hold some variables, in order.

  >>> names([("stem", "0", "kernel"), ("stem", "0", "bias"), ("head", "kernel")])
  ('stem', 'stem.0', 'head')
  """
  layers = {
    ".".join(path[:depth]): None
    for path in paths
    for depth in range(1, len(path))
  }
  return tuple(layers)


def check(model: str, layers: Sequence[str], capture: Sequence[str]) -> None:
  """Refuse names that are no layers of a model.

  Args:
    model: name of the model, for the refusal.
    layers: its layers; () if it names none.
    capture: names of the layers to capture.

  Raises:
    UserError: a name is unknown; the message has the nearest one.
  """
  if isinstance(capture, str):
    raise errors.UserError(
      f"{model}: capture={capture!r}: expected several names, e.g."
      f" ({capture!r},)."
    )
  if not layers:
    raise errors.UserError(
      f"{model} names no layers, so none can be captured: it is a function, or"
      " not from the catalogue. Networks of models.names() name their layers."
    )
  for name in capture:
    if name not in (FEATURES, *layers):
      raise errors.unknown_error(f"layer of {model}", name, (FEATURES, *layers))


class Capture:
  """The outputs of layers of one network in one call."""

  def __init__(self, network: nnx.Module, layers: Sequence[str], classes: int):
    """Put stand-ins into the network.

    Args:
      network: the network of this call alone: it is changed.
      layers: names of layers, see `check`.
      classes: number of logits.
    """
    self._layers, self._classes = layers, classes
    self._outputs: dict[str, Any] = {}
    self._features: list[Any] = []  # inputs of the layers that give the logits
    self._previous: Any = None  # output of the last other layer
    for path, parent, name in list(_children(network)):
      layer = vars(parent)[name]
      ends = FEATURES in layers and _multiplies(layer)
      if ends or path in layers:
        vars(parent)[name] = _StandIn(layer, self._keeper(path, ends))

  def pooled(self, rows: int) -> Captured:
    """Return float32 `[rows, channels]` by layer, after the call.

    Raises:
      UserError: a layer was not called, or its output has other rows than the
        batch.
    """
    if FEATURES in self._layers:
      self._outputs[FEATURES] = tuple(self._features) or self._previous
    out = {}
    for name in self._layers:
      if name not in self._outputs:
        raise errors.UserError(
          f"Layer {name!r} was not called: it is no part of evaluation, or its"
          " parent reads its weights. Capture its parent."
        )
      out[name] = _pooled(name, self._outputs[name], rows)
    return out

  def _keeper(self, path: str, ends: bool) -> Keep:
    def keep(value: Any, output: Any) -> None:
      if path in self._layers:
        self._outputs[path] = output
      if ends and output.shape[-1] == self._classes:
        self._features.append(value)
      elif ends:  # the layers before were not the last ones
        self._features.clear()
        self._previous = output

    return keep


class _StandIn:
  """A layer that also reports its input and output."""

  def __init__(self, layer: nnx.Module, keep: Keep):
    self._layer, self._keep = layer, keep

  def __call__(self, *args: Any, **kwargs: Any) -> Any:
    output = self._layer(*args, **kwargs)  # type: ignore[operator]
    self._keep(args[0], output)
    return output

  def __iter__(self) -> Iterator[Any]:  # for a stack whose items are called
    return iter(self._layer)  # type: ignore[call-overload]

  def __getattr__(self, name: str) -> Any:
    return getattr(self._layer, name)


def _children(
  module: nnx.Module, prefix: str = ""
) -> Iterator[tuple[str, nnx.Module, str]]:
  """Yield (path, parent, attribute) of all layers below a module."""
  for name, value in vars(module).items():
    if isinstance(value, nnx.Module):
      yield f"{prefix}{name}", module, name
      yield from _children(value, f"{prefix}{name}.")


def _multiplies(layer: nnx.Module) -> bool:
  """Return whether a layer is linear or a convolution."""
  return hasattr(layer, "kernel")


def _pooled(name: str, output: Any, rows: int) -> jax.Array:
  arrays = [x for x in jax.tree.leaves(output) if getattr(x, "ndim", 0) > 1]
  if not arrays or any(len(x) % rows for x in arrays):
    shapes = ", ".join(str(list(x.shape)) for x in arrays) or "no arrays"
    raise errors.UserError(
      f"Layer {name!r} gives {shapes}, which are no features of {rows} examples."
      " Capture its parent."
    )
  means = [
    x.astype(jnp.float32).reshape(rows, -1, x.shape[-1]).mean(1) for x in arrays
  ]
  return jnp.concatenate(means, axis=-1)
