"""PixMix: a picture mixed with others, mainly fractals, by sums and products.

Hendrycks et al. 2022, arXiv:2112.05135, as in andyzoujm/pixmix, by
docs/evidence/specs/training.md section 5: the start is x or, with probability 1/2, one
operation on x. In each of r rounds, r uniform in 0..k, it is mixed with a fresh
operation on x or, with probability 1/2, with the mixing picture, the same in
all rounds.

  add       (a (2x - 1) + b (2y - 1) + 1) / 2
  multiply  (2x)^a max(2y, 1e-37)^b / 2

on [0, 1], clipped after each round; with probability 1/2 a ~ Beta(beta, 1) and
b ~ Beta(1, beta), else a = 1 + Beta(1, beta) and b = -Beta(1, beta). The
sheet's recipes draw from all operations; those that overlap benchmarks are off
here by default.

Between rounds a value is a multiple of 1/4080, a sixteenth of a level, and
powers are looked up; the result is rounded to bytes [U: the authors keep floats
throughout]. A value below half of that is black here, whereas their floats can
brighten it again by a negative power: 3 values in 10,000 of black-grounded
digits, fewer elsewhere.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from models.training.transforms import checks, draws, operations
from robust_tfds.corruptions import batching, seeding
from robust_tfds.corruptions.ops import packed

_STREAM = 0x2000
_OPERATIONS, _COINS, _FACTORS, _PICTURE, _ROUNDS = (
  _STREAM + n for n in (0, 3, 4, 5, 6)
)
_PARTS = 16  # parts of a level, between rounds
_WHITE = 255 * _PARTS
_ONE = 1 << 16
_TINY = np.float32(1e-37)


class Drawn(NamedTuple):
  """The draws of one picture: k rounds are drawn, `rounds` count.

  Attributes:
    operations: arrays `[k + 1]`: for the start, then for each round.
    fresh: bool `[k + 1]`: whether they are used; else x, then the picture.
    multiplies: bool `[k]`: whether a round multiplies; else it adds.
    a: float32 `[k]`.
    b: float32 `[k]`.
    rounds: int32, 0..k.
    picture: int32, index of the mixing picture.
  """

  operations: operations.Drawn
  fresh: jax.Array
  multiplies: jax.Array
  a: jax.Array
  b: jax.Array
  rounds: jax.Array
  picture: jax.Array


def pixmix(
  images: jax.typing.ArrayLike,
  *,
  keys: seeding.Keys,
  pictures: jax.typing.ArrayLike,
  k: int = 4,
  beta: float = 3.0,
  severity: float = 3,
  overlap: bool = False,
  paired: bool = False,
) -> jax.Array:
  """Mix every picture, or frame, with one of `pictures`.

  Args:
    images: uint8 `[B, H, W, 3]`, RGB, 0..255; or clips `[B, T, H, W, 3]`, each
      of whose frames has its own draws and mixing picture.
    keys: uint32 `[B, 2]`, see `corruptions.example_key`; the epoch folded in.
    pictures: uint8 `[N, H, W, 3]` of the images' size: the user's, or
      `training.fractals`.
    k: maximum number of rounds.
    beta: parameter of the weights; the paper's is 3 for CIFAR, 4 for ImageNet.
    severity: as for `augmix`; the paper's is 3 for CIFAR, 1 for ImageNet.
    overlap: as for `augmix`.
    paired: whether `pictures` have the images' shape, one for each image or
      frame, already drawn by the caller.

  Returns:
    uint8 of the images' shape.

  Raises:
    UserError: pixels, keys or pictures have a wrong dtype or shape, there are
      no pictures, or a number is out of range.
  """
  images, paired = checks.array(images), checks.switch("paired", paired)
  batch, raw = checks.pictures_or_clips(images, keys)
  if paired and np.ndim(pictures) == images.ndim:
    pictures = jnp.reshape(pictures, (-1, *np.shape(pictures)[-3:]))
  rows = len(batch) if paired else 0
  levels = _compiled(
    batch,
    raw,
    checks.user_pictures("pictures", pictures, batch.shape[1:3], rows),
    paired=paired,
    k=checks.whole_number("k", k, range(17)),
    beta=checks.number("beta", beta, 0),
    severity=checks.number("severity", severity, 0.1, operations.LARGEST),
    overlap=checks.switch("overlap", overlap),
  )
  return levels.reshape(*images.shape[:-1], 3)


@functools.partial(
  jax.jit, static_argnames=("k", "beta", "severity", "overlap", "paired")
)
def _compiled(
  batch: jax.Array,
  keys: jax.Array,
  pictures: jax.Array,
  *,
  paired: bool,
  overlap: bool,
  **options: float,
) -> jax.Array:
  """Mix every picture; return uint8 `[B, H, W * 3]`."""

  def mix(image: jax.Array, key: jax.Array, own: jax.Array | None) -> jax.Array:
    drawn = draw(key, len(pictures), overlap=overlap, **options)  # type: ignore[arg-type]
    picture = pictures[drawn.picture] if own is None else own
    return mixture(image, picture, drawn, overlap=overlap)

  own = pictures if paired else None
  return batching.over_batch(mix, batch, keys, own)


def draw(
  key: jax.Array,
  count: int,
  *,
  k: int,
  beta: float,
  severity: float,
  overlap: bool,
) -> Drawn:
  """Draw all that a picture's key decides among `count` pictures.

  The other arguments are those of `pixmix`.
  """
  most = max(k, 1)  # an array of no rounds could not be traced
  coins = draws.coin(key, (3, most + 1), _COINS)
  fresh, multiplies, small = coins[0], coins[1, 1:], coins[2, 1:]
  # Quantiles: u^(1 / beta) for Beta(beta, 1), 1 minus that for Beta(1, beta).
  near = seeding.uniform(key, (3, most), _FACTORS) ** np.float32(1 / beta)
  a = jnp.where(small, near[0], 2 - near[1])
  b = jnp.where(small, 1 - near[2], near[2] - 1)
  chain = operations.draw(
    key, (most + 1,), severity=severity, overlap=overlap, stream=_OPERATIONS
  )
  rounds = seeding.integers(key, (), k + 1, _ROUNDS)
  which = seeding.integers(key, (), count, _PICTURE)
  return Drawn(chain, fresh, multiplies, a, b, rounds, which)


def mixture(
  image: jax.Array, picture: jax.Array, drawn: Drawn, *, overlap: bool
) -> jax.Array:
  """Compute one picture's mixture.

  Args:
    image: uint8 `[H, W, 3]`.
    picture: uint8 `[H, W, 3]`.
    drawn: result of `draw`.
    overlap: as for `pixmix`.

  Returns:
    uint8 `[H, W * 3]`.
  """
  own, other = packed.pack(image), packed.pack(picture)

  def fresh_or(words: jax.Array, i: jax.typing.ArrayLike) -> list[jax.Array]:
    one = jax.tree.map(lambda x: x[i], drawn.operations)

    def fresh(words: jax.Array) -> jax.Array:
      return operations.apply(own, one, overlap=overlap)

    chosen = jax.lax.cond(drawn.fresh[i], fresh, lambda words: words, words)
    return packed.channels(chosen)

  def mix(i: jax.Array, mixed: list[jax.Array]) -> list[jax.Array]:
    levels = fresh_or(other, i + 1)
    return jax.lax.cond(
      drawn.multiplies[i], _product, _sum, mixed, levels, drawn.a[i], drawn.b[i]
    )

  start = [c * _PARTS for c in fresh_or(own, 0)]
  mixed = jax.lax.fori_loop(0, drawn.rounds, mix, start)
  return packed.bytes_of(
    packed.join(*((m + _PARTS // 2) // _PARTS for m in mixed))
  )


def _sum(
  mixed: list[jax.Array], levels: list[jax.Array], a: jax.Array, b: jax.Array
) -> list[jax.Array]:
  """Compute `add` in whole numbers, a and b in 2**-16; all int32."""
  ours, theirs = (jnp.round(f * _ONE).astype(jnp.int32) for f in (a, b))

  def add_channel(x: jax.Array, y: jax.Array) -> jax.Array:
    total = ours * (2 * x - _WHITE) + theirs * (2 * _PARTS * y - _WHITE)
    return jnp.clip((total + (_WHITE + 1) * _ONE) >> 17, 0, _WHITE)

  return [add_channel(x, y) for x, y in zip(mixed, levels)]


def _product(
  mixed: list[jax.Array], levels: list[jax.Array], a: jax.Array, b: jax.Array
) -> list[jax.Array]:
  """Compute `multiply` by two tables of powers."""
  values = np.arange(_WHITE + 1, dtype=np.float32) * np.float32(2 / _WHITE)
  ours = jnp.asarray(values) ** a
  theirs = jnp.maximum(values[::_PARTS], _TINY) ** b

  def multiply_channel(x: jax.Array, y: jax.Array) -> jax.Array:
    two = (
      table.at[i].get(mode="promise_in_bounds")
      for table, i in ((ours, x), (theirs, y))
    )
    half = jnp.minimum(next(two) * next(two), 2) * np.float32(_WHITE / 2)
    return jnp.round(half).astype(jnp.int32)

  return [multiply_channel(x, y) for x, y in zip(mixed, levels)]
