"""A network whose weights and batch statistics an adaptation method may set."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models import variables as variables_lib
from models.layers import train_mode
from models.model import Model
from robust_tfds import errors

BATCH_NORMS = (layers.BatchNorm, nnx.BatchNorm)
OTHER_NORMS = (layers.LayerNorm, nnx.LayerNorm, nnx.GroupNorm)
AFFINE = ("scale", "bias")
# Arrays by path, its parts joined by "/": `layer1/0/bn1/scale`.
Weights = dict[str, jax.Array]


class Moments(NamedTuple):
  """The mean and the variance of a batch norm's channels, `[C]` each."""

  mean: jax.Array
  var: jax.Array


# (running moments, the batch's with the biased variance, values a channel) ->
# the moments to normalise by, and the new running moments.
Rule = Callable[[Moments, Moments, int], tuple[Moments, Moments]]


def batch(
  running: Moments, measured: Moments, count: int
) -> tuple[Moments, Moments]:
  """Normalise by the batch, as torch's train mode does."""
  del count
  return measured, running


def source(
  running: Moments, measured: Moments, count: int
) -> tuple[Moments, Moments]:
  """Normalise by the running moments, as in evaluation."""
  del measured, count
  return running, running


def unbiased(measured: Moments, count: int) -> Moments:
  """Return moments with the unbiased variance, which torch's running one is.

  Raises:
    UserError: there is one value a channel, whose variance is undefined.
  """
  if count < 2:
    raise errors.UserError(
      "The unbiased variance of one value is undefined: a batch norm on 1 x 1"
      " maps got a batch of 1. Use a larger batch_size."
    )
  return Moments(measured.mean, measured.var * (count / (count - 1)))


def blend(a: Moments, b: Moments, share: float) -> Moments:
  """Return `(1 - share) * a + share * b`."""
  return Moments(*((1 - share) * x + share * y for x, y in zip(a, b)))


def norms(model: Model, variables: Any) -> dict[str, nnx.Module]:
  """Return a model's norm layers by path.

  Raises:
    UserError: the model cannot be opened (it runs on the host, or is a compiled
      program), or it has no norm layers.
  """
  layers_by_path: dict[str, nnx.Module] = {
    "/".join(map(str, path)): layer
    for path, layer in nnx.iter_modules(model.merge(variables))
    if isinstance(layer, (*BATCH_NORMS, *OTHER_NORMS))
  }
  if not layers_by_path:
    raise errors.UserError(
      f"{model.name} has no norm layers, which this method adapts. Use"
      " adapt='source', or a network with BatchNorm, LayerNorm or GroupNorm (of a"
      " torch module BatchNorm and LayerNorm alone are found)."
    )
  return layers_by_path


def affine_paths(layers_by_path: Mapping[str, nnx.Module]) -> list[str]:
  """Return the paths of the scales and biases of norm layers."""
  return [
    f"{path}/{name}"
    for path, layer in layers_by_path.items()
    for name in AFFINE
    if isinstance(getattr(layer, name, None), nnx.Variable)
  ]


def parameter_paths(model: Model, variables: Any) -> list[str]:
  """Return the paths of all parameters: everything but running statistics."""
  state = nnx.state(model.merge(variables), nnx.Param)
  return ["/".join(map(str, path)) for path, _ in nnx.to_flat_state(state)]


def take(variables: Any, paths: Iterable[str]) -> Weights:
  """Return some of the variables by path."""
  flat = {
    _text(path): leaf for path, leaf in variables_lib.flatten(variables).items()
  }
  return {path: jnp.asarray(flat[path]) for path in paths}


def put(variables: Any, weights: Weights) -> Any:
  """Return the variables with others at some paths."""
  flat = variables_lib.flatten(variables)
  leaves = [weights.get(_text(path), leaf) for path, leaf in flat.items()]
  return jax.tree.unflatten(jax.tree.structure(variables), leaves)


def _text(path: variables_lib.Path) -> str:
  """Return a path as text; those of an nnx state end in `value`."""
  return "/".join(path).removesuffix("/value")


def forward(
  model: Model,
  variables: Any,
  images: jax.Array,
  rule: Rule = batch,
  key: jax.Array | None = None,
) -> tuple[jax.Array, Weights]:
  """Compute logits under a rule for batch norms.

  Args:
    model: a model with `merge`.
    variables: its variables.
    images: uint8 `[B, H, W, 3]`, as the model takes them.
    rule: what each batch norm normalises by; other norms are as ever.
    key: of dropout and stochastic depth; None: there is none, as in evaluation.

  Returns:
    Logits `[B, classes]`, and the running moments after the batch by path.
  """
  network = model.merge(variables)
  if key is not None:
    train_mode.enter(network, key, frozen_norms=True)
  moved: Weights = {}
  for path, layer in list(nnx.iter_modules(network)):
    if isinstance(layer, BATCH_NORMS):
      name = "/".join(map(str, path))
      _replace(network, path, _BatchNorm(layer, rule, name, moved))
  return model.answer(network, model.pixels(images)), moved


def _replace(network: Any, path: tuple[Any, ...], layer: nnx.Module) -> None:
  """Put a layer in the place of another."""
  for part in path[:-1]:
    network = (
      network[part] if _is_item(network, part) else getattr(network, part)
    )
  if _is_item(network, path[-1]):
    network[path[-1]] = layer
  else:
    setattr(network, path[-1], layer)


def _is_item(network: Any, part: Any) -> bool:
  return isinstance(part, int) or not hasattr(network, str(part))


class _BatchNorm(nnx.Module):
  """A batch norm that normalises as a rule says."""

  def __init__(
    self, layer: nnx.Module, rule: Rule, path: str, moved: Weights
  ) -> None:
    self.layer = layer
    self._call = nnx.static((rule, path, moved))

  def __call__(self, x: jax.Array, **options: Any) -> jax.Array:
    """Map `[..., channels]` to the same shape; flax's options do not matter."""
    del options
    layer: Any = self.layer
    rule, path, moved = self._call
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    mean = _mean(wide)
    var = _mean(jnp.square(wide - mean))
    running = Moments(layer.mean[...], layer.var[...])
    count = x.size // x.shape[-1]
    used, after = rule(running, Moments(mean, var), count)
    moved[f"{path}/mean"], moved[f"{path}/var"] = after
    factor = jax.lax.rsqrt(used.var + (layer.epsilon or 1e-5))
    wide = (wide - used.mean) * factor
    for name, operation in zip(AFFINE, (jnp.multiply, jnp.add), strict=True):
      value = getattr(layer, name, None)
      if isinstance(value, nnx.Variable):
        wide = operation(wide, value[...])
    return wide.astype(x.dtype)


def _mean(x: jax.Array) -> jax.Array:
  """Return the mean of each channel, an axis at a time: less is rounded away."""
  for axis in reversed(range(x.ndim - 1)):
    x = x.mean(axis)
  return x
