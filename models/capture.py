"""What a network's layers answer, pooled: `Classifier.apply(..., capture=...)`.

A layer is called by its path in the network, as checkpoints call it: `layer4`,
`layer4.0.conv2`, `blocks.11`. `FEATURES` is what the last layer reads, whatever
that is called: a linear layer on it gives the logits (of several heads all that
they read; where no layer gives them, as where CLIP compares with words, what the
last one gives).

A captured layer is replaced, in the network of one call alone, by a stand-in that
keeps what it gave; so families need to say nothing. What is kept is the mean over
all axes between examples and channels, float32 `[B, channels]`, of several arrays
(pathways, tokens) one after the other; of a layer that is called several times,
of the last time.
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
Keep = Callable[[Any, Any], None]  # of what a layer reads and what it gives
Captured = dict[str, jax.Array]


def names(paths: Iterable[Path]) -> tuple[str, ...]:
  """The layers around some variables, in their order.

  >>> names([("stem", "0", "kernel"), ("stem", "0", "bias"), ("head", "kernel")])
  ('stem', 'stem.0', 'head')
  """
  layers = {
    ".".join(path[:depth]): None
    for path in paths
    for depth in range(1, len(path))
  }
  return tuple(layers)


def check(model: str, layers: Sequence[str], wanted: Sequence[str]) -> None:
  """Refuses what is no layer of a model.

  Args:
    model: its name, for the refusal.
    layers: all that it has; empty: it names none.
    wanted: the names that were asked for.

  Raises:
    UserError: with the nearest name.
  """
  if isinstance(wanted, str):
    raise errors.UserError(
      f"{model}: capture={wanted!r}: expected several names, e.g. ({wanted!r},)."
    )
  if not layers:
    raise errors.UserError(
      f"{model} names no layers, so none can be captured: it is a function, or a"
      " model from elsewhere. Networks of models.names() name theirs."
    )
  for name in wanted:
    if name not in (FEATURES, *layers):
      raise errors.unknown_error(f"layer of {model}", name, (FEATURES, *layers))


class Capture:
  """Keeps what layers of one network give in one call."""

  def __init__(self, network: nnx.Module, wanted: Sequence[str], classes: int):
    """Puts stand-ins into the network.

    Args:
      network: of this call alone: it is changed.
      wanted: names of layers, see `check`.
      classes: how many logits there are.
    """
    self._wanted, self._classes = wanted, classes
    self._kept: dict[str, Any] = {}
    self._last: list[Any] = []  # what the layers that give the logits read
    self._before: Any = None  # what the last other layer gave
    for path, parent, name in list(_children(network)):
      layer = vars(parent)[name]
      ends = FEATURES in wanted and _multiplies(layer)
      if ends or path in wanted:
        vars(parent)[name] = _StandIn(layer, self._keeper(path, ends))

  def pooled(self, rows: int) -> Captured:
    """Name -> float32 `[rows, channels]`, after the call.

    Raises:
      UserError: a layer was not called, or gave other rows than the batch has.
    """
    if FEATURES in self._wanted:
      self._kept[FEATURES] = tuple(self._last) or self._before
    out = {}
    for name in self._wanted:
      if name not in self._kept:
        raise errors.UserError(
          f"Layer {name!r} was not called: it is no part of evaluation, or is"
          " read by another layer. Capture the one around it."
        )
      out[name] = _pooled(name, self._kept[name], rows)
    return out

  def _keeper(self, path: str, ends: bool) -> Keep:
    def keep(read: Any, given: Any) -> None:
      if path in self._wanted:
        self._kept[path] = given
      if ends and given.shape[-1] == self._classes:
        self._last.append(read)
      elif ends:  # those before were none of the last
        self._last.clear()
        self._before = given

    return keep


class _StandIn:
  """A layer that also tells what it read and gave."""

  def __init__(self, layer: nnx.Module, keep: Keep):
    self._layer, self._keep = layer, keep

  def __call__(self, *args: Any, **kwargs: Any) -> Any:
    given = self._layer(*args, **kwargs)  # type: ignore[operator]
    self._keep(args[0], given)
    return given

  def __iter__(self) -> Iterator[Any]:  # of a stack whose parts are called
    return iter(self._layer)  # type: ignore[call-overload]

  def __getattr__(self, name: str) -> Any:
    return getattr(self._layer, name)


def _children(
  module: nnx.Module, prefix: str = ""
) -> Iterator[tuple[str, nnx.Module, str]]:
  """(path, the module it lies in, its name there) of all layers below."""
  for name, value in vars(module).items():
    if isinstance(value, nnx.Module):
      yield f"{prefix}{name}", module, name
      yield from _children(value, f"{prefix}{name}.")


def _multiplies(layer: nnx.Module) -> bool:
  """Whether it is a linear layer or a convolution."""
  return hasattr(layer, "kernel")


def _pooled(name: str, given: Any, rows: int) -> jax.Array:
  arrays = [x for x in jax.tree.leaves(given) if getattr(x, "ndim", 0) > 1]
  if not arrays or any(len(x) % rows for x in arrays):
    shapes = ", ".join(str(list(x.shape)) for x in arrays) or "no arrays"
    raise errors.UserError(
      f"Layer {name!r} gives {shapes}, which are no features of {rows} examples."
      " Capture the one around it."
    )
  means = [
    x.astype(jnp.float32).reshape(rows, -1, x.shape[-1]).mean(1) for x in arrays
  ]
  return jnp.concatenate(means, axis=-1)
