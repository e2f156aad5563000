"""A model: a network's shape, its spec, and two pure functions.

Variables are a nested dict of float32 arrays with string keys, a plain pytree:
orbax, optax and sharding need to know nothing of flax. Nothing is kept between
calls, so `init` and `apply` may be jitted, differentiated and sharded.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from models.spec import Spec
from models.spec import Variant

Variables = dict[str, Any]
_DTYPES = ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True)
class Model:
  """A network of the registry.

  Attributes:
    name: as in `models.names()`.
    spec: preprocessing and labels.
    network: the family's `nnx.Module` class.
    variant: the entry of the family's catalogue.
    dtype: `float32` computes in true float32 on every device (no TF32, no
      bfloat16 passes); `bfloat16` computes in bfloat16 with normalisation
      statistics and logits in float32.
  """

  name: str
  spec: Spec
  network: Callable[..., nnx.Module]
  variant: Variant
  dtype: str = "float32"

  def __post_init__(self):
    """Refuses a dtype that is not offered."""
    if self.dtype not in _DTYPES:
      raise ValueError(f"Got dtype {self.dtype!r}, expected one of {_DTYPES}.")

  def init(self, key: jax.Array) -> Variables:
    """Random variables drawn from a JAX key, as one trains from."""
    state = nnx.state(self._build(nnx.Rngs(key)))
    return nest({p: v[...] for p, v in nnx.to_flat_state(state)})

  def preprocess(self, batch: jax.Array) -> jax.Array:
    """uint8 RGB `[B, H, W, 3]` in 0..255 -> float32, as the spec says."""
    return self.spec.normalize(batch)

  def apply(self, variables: Variables, batch: jax.Array) -> jax.Array:
    """Logits of a batch.

    Args:
      variables: from `init` or `models.convert.load`.
      batch: `[B, H, W, 3]`; uint8 RGB in 0..255, which is preprocessed first,
        or float pixels that already are.

    Returns:
      float32 `[B, num_classes]`.

    Raises:
      ValueError: the batch or the variables do not fit this model.
    """
    batch = self._checked(batch)
    if batch.dtype == jnp.uint8:
      batch = self.preprocess(batch)
    precision = "highest" if self.dtype == "float32" else "default"
    with jax.default_matmul_precision(precision):
      logits = self._merge(variables)(batch.astype(self.dtype))
    return logits.astype(jnp.float32)

  def shapes(self) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Path -> shape of every array of the variables; computes nothing."""
    return {_text(p): v.shape for p, v in _abstract(self)[1]}

  def count_parameters(self) -> int:
    """How many trainable numbers there are (no running statistics)."""
    sizes = [v.size for _, v in _abstract(self)[1] if isinstance(v, nnx.Param)]
    return sum(sizes)

  def _build(self, rngs: nnx.Rngs) -> nnx.Module:
    return self.network(
      **self.variant.options, num_classes=self.spec.num_classes, rngs=rngs
    )

  def _merge(self, variables: Variables) -> nnx.Module:
    graph, abstract = _abstract(self)
    given = flatten(variables)
    wanted = {_text(p): v.shape for p, v in abstract}
    _check_same(self.name, wanted, given)
    state = nnx.from_flat_state(
      [(p, v.replace(given[_text(p)])) for p, v in abstract]
    )
    return nnx.merge(graph, state)

  def _checked(self, batch: jax.Array) -> jax.Array:
    batch = jnp.asarray(batch)
    if batch.ndim != 4 or batch.shape[-1] != 3:
      raise ValueError(
        f"{self.name} got a batch of shape {batch.shape}, expected"
        " [B, H, W, 3]."
      )
    if batch.dtype != jnp.uint8 and not jnp.issubdtype(
      batch.dtype, jnp.floating
    ):
      raise ValueError(
        f"{self.name} got {batch.dtype} pixels, expected uint8 (RGB 0..255)"
        " or preprocessed floats."
      )
    side = self.spec.input_px
    if not self.spec.flexible and batch.shape[1:3] != (side, side):
      raise ValueError(
        f"{self.name} got pictures of {batch.shape[1]} x {batch.shape[2]},"
        f" expected {side} x {side}: resize them by its spec first."
      )
    return batch


@functools.lru_cache(maxsize=256)
def _abstract(model: Model) -> tuple[nnx.GraphDef, tuple]:
  """The network without its numbers, and (path, variable) of each array."""
  defined: list[tuple] = []

  def build() -> nnx.Module:
    network = model._build(nnx.Rngs(0))
    defined.extend(_definition_order(network))
    return network

  graph, state = nnx.split(nnx.eval_shape(build))
  order = {path: i for i, path in enumerate(defined)}
  flat = sorted(nnx.to_flat_state(state), key=lambda item: order[item[0]])
  return graph, tuple(flat)


def _definition_order(module: nnx.Module, prefix: tuple = ()) -> list[tuple]:
  """Paths in the order of `__init__`, so that "first" means the first layer."""
  paths = []
  for name, value in vars(module).items():
    if isinstance(value, nnx.Variable):
      paths.append((*prefix, name))
    elif isinstance(value, nnx.Module):
      paths += _definition_order(value, (*prefix, name))
  return paths


def flatten(variables: Variables) -> dict[tuple[str, ...], jax.Array]:
  """Nested dict -> path -> array."""
  leaves = jax.tree_util.tree_flatten_with_path(variables)[0]
  return {tuple(str(k.key) for k in path): leaf for path, leaf in leaves}


def nest(flat: dict[tuple, Any]) -> Variables:
  """Path -> array, as a nested dict with string keys; undoes `flatten`."""
  nested: Variables = {}
  for path, leaf in flat.items():
    *parents, last = _text(path)
    node = nested
    for parent in parents:
      node = node.setdefault(parent, {})
    node[last] = leaf
  return nested


def _text(path: tuple) -> tuple[str, ...]:
  return tuple(str(part) for part in path)


def _check_same(name: str, wanted: dict, given: dict) -> None:
  for path, shape in wanted.items():
    got = given[path].shape if path in given else "nothing"
    if got != shape:
      raise ValueError(
        f"Variables do not fit {name}: at {'/'.join(path)} got {got},"
        f" expected {shape}. Make them with its `init` or with"
        f" models.convert.load({name!r}, checkpoint)."
      )
  extra = sorted(set(given) - set(wanted))
  if extra:
    raise ValueError(
      f"Variables do not fit {name}: it has no {'/'.join(extra[0])}"
      f" ({len(extra)} arrays too many)."
    )
