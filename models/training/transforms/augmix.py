"""AugMix: a picture mixed with chains of operations on it.

Hendrycks et al. 2020, arXiv:1912.02781, as in google-research/augmix, by
docs/evidence/specs/training.md section 5: w ~ Dirichlet(alpha), m ~ Beta(alpha, alpha),
`width` chains of 1-3 operations with replacement, (1 - m) x + m sum_i w_i x_i.

The authors mix normalised floats. That normalisation is affine, and the weights
sum to 1, so mixing levels before it is the same but for the rounding to bytes: half
a level at most [U]. Weights are multiples of 2**-16.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from models.training.transforms import checks, draws, operations
from robust_tfds.corruptions import batching, seeding
from robust_tfds.corruptions.ops import layout, packed

_STREAM = 0x1000
_CHAINS, _DEPTHS, _WEIGHTS, _SHARE = (_STREAM + n for n in (0, 3, 4, 7))
_DEEPEST = 3  # largest random depth
_ALPHAS = 1e-3, 1e6
_ONE = 1 << 16


class Drawn(NamedTuple):
  """The draws of one picture's mixture.

  Attributes:
    operations: arrays `[width, depth]`.
    depths: int32 `[width]`: number of each chain's operations that are applied.
    weights: int32 `[width + 1]` in 2**-16, weights of the picture and of each
      chain.
  """

  operations: operations.Drawn
  depths: jax.Array
  weights: jax.Array


def augmix(
  images: jax.typing.ArrayLike,
  *,
  keys: seeding.Keys,
  severity: float = 3,
  width: int = 3,
  depth: int = -1,
  alpha: float = 1.0,
  overlap: bool = False,
) -> jax.Array:
  """Return one mixture of every picture; other keys give another.

  Args:
    images: uint8 `[B, H, W, 3]`, RGB, 0..255.
    keys: uint32 `[B, 2]`, see `corruptions.example_key`; the epoch folded in.
    severity: the largest strength of operations, above 0.1 and up to 10; the
      paper's is 3 for CIFAR, the released ImageNet code's 1.
    width: number of chains.
    depth: operations of a chain; -1: 1, 2 or 3, drawn for each.
    alpha: parameter of both distributions, above 0.001 and up to 1e6.
    overlap: whether to add color, contrast, brightness and sharpness, which
      overlap corruptions of the benchmarks; disclose it.

  Returns:
    uint8 `[B, H, W, 3]`.

  Raises:
    UserError: pixels or keys have a wrong dtype or shape, or a number is out of
      range.
  """
  batch, raw = checks.pictures(images, keys)
  levels = _compiled(
    batch,
    raw,
    severity=checks.number("severity", severity, 0.1, operations.LARGEST),
    width=checks.whole_number("width", width, range(1, 17)),
    depth=checks.whole_number("depth", depth, (-1, *range(1, 17))),
    alpha=checks.number("alpha", alpha, *_ALPHAS),
    overlap=checks.switch("overlap", overlap),
  )
  return levels.reshape(batch.shape)


@functools.partial(
  jax.jit,
  static_argnames=("severity", "width", "depth", "alpha", "overlap"),
)
def _compiled(
  batch: jax.Array, keys: jax.Array, *, overlap: bool, **options: float
) -> jax.Array:
  """Mix every picture; return uint8 `[B, H, W * 3]`."""

  def mix(image: jax.Array, size: layout.Size, key: jax.Array) -> jax.Array:
    drawn = draw(key, overlap=overlap, **options)  # type: ignore[arg-type]
    return mixture(image, drawn, overlap=overlap)

  return batching.over_pictures(mix, batch, None, keys)


def draw(
  key: jax.Array,
  *,
  severity: float,
  width: int,
  depth: int,
  alpha: float,
  overlap: bool,
) -> Drawn:
  """Draw all that a picture's key decides; the arguments are those of `augmix`."""
  most = _DEEPEST if depth == -1 else depth
  chains = operations.draw(
    key, (width, most), severity=severity, overlap=overlap, stream=_CHAINS
  )
  depths = jnp.full(width, most, jnp.int32)
  if depth == -1:
    depths = 1 + seeding.integers(key, (width,), _DEEPEST, _DEPTHS)
  shares = draws.dirichlet(key, alpha, width, _WEIGHTS)
  shares = shares * draws.beta(key, alpha, _SHARE)
  parts = jnp.round(shares * _ONE).astype(jnp.int32)
  weights = jnp.append(jnp.maximum(_ONE - parts.sum(), 0), parts)
  return Drawn(chains, depths, weights)


def mixture(image: jax.Array, drawn: Drawn, *, overlap: bool) -> jax.Array:
  """Compute one picture's mixture.

  Args:
    image: uint8 `[H, W, 3]`.
    drawn: result of `draw`.
    overlap: as for `augmix`.

  Returns:
    uint8 `[H, W * 3]`.
  """
  words = packed.pack(image)

  def add(total: list, chain: tuple) -> tuple[list, None]:
    steps, depth, weight = chain

    def step(i: jax.Array, words: jax.Array) -> jax.Array:
      one = jax.tree.map(lambda x: x[i], steps)
      return operations.apply(words, one, overlap=overlap)

    mixed = packed.channels(jax.lax.fori_loop(0, depth, step, words))
    return [t + weight * c for t, c in zip(total, mixed)], None

  own, others = drawn.weights[0], drawn.weights[1:]
  start = [own * c + _ONE // 2 for c in packed.channels(words)]
  total, _ = jax.lax.scan(add, start, (drawn.operations, drawn.depths, others))
  return packed.bytes_of(packed.join(*(t >> 16 for t in total)))
