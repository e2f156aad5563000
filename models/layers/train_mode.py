"""What networks do in training alone: drop numbers, drop residuals.

In evaluation these layers give what they read and hold no variables, so that
programs, their bytes and the names of arrays know nothing of them. `enter` puts
a network of one call into train mode.
"""

import itertools
import zlib
from collections.abc import Collection, Sequence

import jax
import jax.numpy as jnp
from flax import nnx


class Dropout(nnx.Module):
  """torch.nn.Dropout: numbers become 0, the others grow to keep the mean.

  Attributes:
    rate: how many become 0, in [0, 1).
    key: of one call in train mode, see `enter`; None in evaluation. What an
      example draws depends on the key, its place in the batch and its shape,
      not on the batch's size or sharding.
  """

  def __init__(self, rate: float):
    """`rate` is torch's `p`."""
    self.rate = rate
    self.key: jax.Array | None = nnx.data(None)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, ...]` -> the same."""
    if self.key is None or not self.rate:
      return x
    keep = 1 - self.rate
    stays = jax.random.bernoulli(self.key, keep, self._drawn(x.shape))
    return jnp.where(stays, x / keep, jnp.zeros((), x.dtype))

  def _drawn(self, shape: tuple[int, ...]) -> tuple[int, ...]:
    """How many are drawn for an array of a shape."""
    return shape


class StochasticDepth(Dropout):
  """Whole residuals of examples become 0 (Huang et al. 2016, arXiv:1603.09382).

  torchvision's `StochasticDepth(rate, "row")`, timm's `DropPath`: what stays is
  divided by its probability.
  """

  def _drawn(self, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], *(1 for _ in shape[1:]))


def rates(most: float, depths: Sequence[int]) -> list[list[float]]:
  """Rates of stochastic depth: from 0 to `most` in equal steps, the usual rule.

  Args:
    most: the last block's.
    depths: blocks of each stage.

  Returns:
    A list a stage.

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
  """Puts a network into train mode.

  Args:
    network: of one call alone: it is changed.
    key: a JAX key, from which each layer that draws gets one of its own, by its
      path.
    frozen_norms: whether batch norms go on as in evaluation.
    still: paths of layers of which all goes on so.
  """
  for path, layer in nnx.iter_modules(network):
    names = tuple(map(str, path))
    if names in still:
      continue
    if isinstance(layer, Dropout):
      word = "/".join(names).encode()
      layer.key = jax.random.fold_in(key, zlib.crc32(word))
    elif hasattr(layer, "use_running_average"):
      layer.use_running_average = frozen_norms
