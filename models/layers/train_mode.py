"""Layers that act in training alone: they drop activations or residuals.

In evaluation these layers return their input and hold no variables, so
programs, their bytes and the names of arrays do not depend on them. `enter`
puts a network into train mode for one call.
"""

import itertools
import zlib
from collections.abc import Collection, Sequence

import jax
import jax.numpy as jnp
from flax import nnx


class Dropout(nnx.Module):
  """A `torch.nn.Dropout`: some values become 0, the others grow to keep the mean.

  Attributes:
    rate: the share of values that become 0, in [0, 1).
    key: JAX key of one call in train mode, see `enter`; None in evaluation. An
      example's draws depend on the key, its place in the batch and its shape,
      not on the batch's size or sharding.
  """

  def __init__(self, rate: float):
    """Create the module; `rate` is torch's `p`."""
    self.rate = rate
    self.key: jax.Array | None = nnx.data(None)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, ...]` to the same shape."""
    if self.key is None or not self.rate:
      return x
    keep = 1 - self.rate
    stays = jax.random.bernoulli(self.key, keep, self._drawn(x.shape))
    return jnp.where(stays, x / keep, jnp.zeros((), x.dtype))

  def _drawn(self, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the draws for an array of this shape."""
    return shape


class StochasticDepth(Dropout):
  """Stochastic depth: an example's whole residual becomes 0 (Huang et al. 2016,
  arXiv:1603.09382).

  It is torchvision's `StochasticDepth(rate, "row")` and timm's `DropPath`: the
  residuals that stay are divided by their probability.
  """

  def _drawn(self, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], *(1 for _ in shape[1:]))


def rates(most: float, depths: Sequence[int]) -> list[list[float]]:
  """Return the rates of stochastic depth, from 0 to `most` in equal steps, the
  usual rule.

  Args:
    most: rate of the last block.
    depths: number of blocks of each stage.

  Returns:
    One list of rates per stage.

  >>> rates(0.5, (2, 1))
  [[0.0, 0.25], [0.5]]
  """
  last = max(sum(depths) - 1, 1)
  line = iter([most * i / last for i in range(sum(depths))])
  return [list(itertools.islice(line, depth)) for depth in depths]


def enter(
  network: nnx.Module,
  key: jax.Array,
  *,
  frozen_norms: bool,
  still: Collection[tuple[str, ...]] = (),
) -> None:
  """Put a network into train mode.

  Args:
    network: the network of this call alone: it is changed.
    key: a JAX key, from which each layer that draws gets one of its own, by its
      path.
    frozen_norms: whether batch norms stay in evaluation mode.
    still: paths of layers that stay in evaluation mode entirely.
  """
  for path, layer in nnx.iter_modules(network):
    names = tuple(map(str, path))
    if names in still:
      continue
    if isinstance(layer, Dropout):
      word = "/".join(names).encode()
      layer.key = jax.random.fold_in(key, zlib.crc32(word))
    elif isinstance(layer, nnx.Dropout):
      word = "/".join(names).encode()
      layer.deterministic = False
      layer.rngs = nnx.data(jax.random.fold_in(key, zlib.crc32(word)))
    elif hasattr(layer, "use_running_average"):
      layer.use_running_average = frozen_norms
