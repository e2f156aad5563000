"""The only source of randomness: keys per example, draws per coordinate.

A key depends on (seed, dataset, name, severity, example id, frame) alone. A draw
depends on the key, the stream and the element's own coordinates alone, never on
the array's shape: the top-left corner of a large canvas holds the draws of a
small image, so padding, batching and sharding cannot change a pixel.

The generator is Threefry-2x32 with 13 rounds, the least number that passes
BigCrush (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3",
table 2). It is counter based and purely elementwise, so XLA fuses it into its
consumer: about 0.1 ms for 150,528 words on one core, against 1.3 ms for
`jax.random.bits`.
"""

from collections.abc import Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import conditions, errors
from robust_tfds.corruptions import forks, spec

Keys = jax.typing.ArrayLike | Sequence[jax.Array]
# JAX words on the device, numpy words on the host: the same arithmetic.
_WordsT = TypeVar("_WordsT", jax.Array, np.ndarray)
_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)  # Salmon et al. 2011, table 4
_PARITY = 0x1BD11BDA  # the Threefish key-schedule constant, 32-bit
_ROUNDS = 13
_FRAMES = 0x4652414D  # marks keys of frames apart from draws


def example_key(
  seed: int,
  dataset: str,
  name: str,
  severity: float,
  example_id: str,
  frame: int = 0,
) -> jax.Array:
  """Return the key of one example: a function of its arguments and nothing else.

  It has the bytes of `robust_tfds.conditions.raw_keys`.

  Args:
    seed: the run's seed.
    dataset: name of the corrupted dataset, e.g. `imagenet_c`.
    name: the corruption's name.
    severity: 1-5, or a fraction of edition `ccc`: 2.0 has the key of 2.
    example_id: the example's stable id (its file name).
    frame: index of the frame in a sequence or video, 0 for images.

  Returns:
    A typed JAX key (threefry2x32), for `corrupt` and friends.

  Raises:
    UserError: the seed or frame is no whole number from 0, the severity is
      outside 1-5, or the dataset, name or id is no text or empty.
  """
  forks.check()
  severity = spec.key_severity(severity)
  if "" in (dataset, name, example_id):
    raise errors.UserError(
      "A key's dataset, name and example_id must not be empty, got"
      f" {(dataset, name, example_id)}: examples without an id would all be"
      " corrupted alike."
    )
  raw = conditions.raw_keys(
    seed, dataset, name, severity, [example_id], [frame]
  )[0]
  return jax.random.wrap_key_data(raw, impl="threefry2x32")


def picture_key(
  key: jax.Array | None,
  seed: int | None,
  name: str,
  severity: float | jax.Array,
) -> jax.Array:
  """Return the key that `corrupt` was given, or its seed's: uint32 `[2]`.

  Raises:
    UserError: both or neither are given, or as for `single`; with a seed, the
      name is unknown, or as for `example_key`.
  """
  if (key is None) == (seed is None):
    got = "both" if seed is not None else "neither"
    raise errors.UserError(
      f"corrupt takes key= or seed=, got {got}. Give seed=0 for one picture, a"
      " key of corruptions.example_key(...) for each of several."
    )
  if seed is not None:
    conditions.PICTURES.row(name)
    level = spec.key_severity(severity)
    key = example_key(seed, "image", name, level, "image")
  assert key is not None
  return single(key)


def raw(key: Keys) -> jax.Array:
  """Return keys, raw uint32 arrays or lists of keys as uint32 `[..., 2]`.

  Raises:
    UserError: no key; a process that cannot compute, see `forks.py`.
  """
  forks.check()
  if isinstance(key, (list, tuple)) and any(map(_is_typed, key)):
    key = jnp.stack(key)
  if _is_typed(key):
    key = jax.random.key_data(key)  # type: ignore[arg-type]
  try:
    words = jnp.asarray(key)
  except (TypeError, ValueError, OverflowError) as e:
    raise _no_key(repr(key)) from e
  if words.dtype != jnp.uint32 or words.ndim < 1 or words.shape[-1] != 2:
    given = getattr(key, "dtype", words.dtype)  # JAX cuts 64 bits to 32
    raise _no_key(f"{given}{list(words.shape)}")
  return words


def single(key: jax.typing.ArrayLike) -> jax.Array:
  """Return one key as uint32 `[2]`; UserError for several, or for anything that
  is no key.
  """
  words = raw(key)
  if words.shape != (2,):
    raise errors.UserError(
      f"One key expected, got {list(words.shape[:-1])} of them. Batches of"
      " pictures take one key each: corruptions.corrupt_batch(..., keys=...)."
    )
  return words


def host_key(key: jax.typing.ArrayLike) -> np.ndarray:
  """Return `single` as numpy; words on the host are not sent to a device and back."""
  if isinstance(key, np.ndarray) and (key.dtype, key.shape) == (
    np.uint32,
    (2,),
  ):
    return key
  return np.asarray(single(key))


def _no_key(got: str) -> errors.UserError:
  return errors.UserError(
    f"A key must be a JAX key (threefry2x32) or uint32[..., 2], got {got}. Make"
    " one with corruptions.example_key(...)."
  )


def _is_typed(key: object) -> bool:
  return isinstance(key, jax.Array) and jnp.issubdtype(
    key.dtype, jax.dtypes.prng_key
  )


def _threefry(
  key: _WordsT, c0: _WordsT, c1: _WordsT
) -> tuple[_WordsT, _WordsT]:
  schedule = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(_PARITY))
  x0, x1 = c0 + schedule[0], c1 + schedule[1]
  for r in range(_ROUNDS):
    rotation = _ROTATIONS[r % 8]
    x0 = x0 + x1
    x1 = ((x1 << rotation) | (x1 >> (32 - rotation))) ^ x0
    if r % 4 == 3:
      i = r // 4 + 1
      x0 = x0 + schedule[i % 3]
      x1 = x1 + schedule[(i + 1) % 3] + np.uint32(i)
  return x0, x1


def bits(
  key: jax.Array, shape: Sequence[int], stream: jax.typing.ArrayLike = 0
) -> jax.Array:
  """Draw uniform 32-bit words that depend on (key, stream, coordinates) alone.

  Args:
    key: uint32 `[2]` (see `raw`).
    shape: up to three axes; the first two below 2**16, the third below 2**8.
    stream: number of one of 2**24 independent fields; a corruption that needs
      several gives each its own number.

  Returns:
    uint32 array of `shape`.
  """
  shape = tuple(shape)
  if len(shape) > 3:
    raise errors.UserError(f"At most 3 axes can be drawn, got shape {shape}.")
  if any(n > 1 << 16 for n in shape[:2]) or any(n > 256 for n in shape[2:]):
    raise errors.UserError(
      f"Axes beyond 65536 x 65536 x 256, got shape {shape}."
    )
  axes = [
    jax.lax.broadcasted_iota(jnp.uint32, shape, i) for i in range(len(shape))
  ]
  zero = jnp.zeros(shape, jnp.uint32)
  y, x, c = (axes + [zero] * 3)[:3]
  field = jnp.asarray(stream).astype(jnp.uint32) << 8
  x0, _ = _threefry(key, (y << 16) | x, c + field)
  return x0


def uniform(
  key: jax.Array, shape: Sequence[int], stream: jax.typing.ArrayLike = 0
) -> jax.Array:
  """Draw float32 uniforms in the open interval (0, 1): odd multiples of 2**-24."""
  words = bits(key, shape, stream)
  mantissa = (words >> 9).astype(jnp.float32)
  return mantissa * np.float32(2.0**-23) + np.float32(2.0**-24)


def normal(
  key: jax.Array, shape: Sequence[int], stream: jax.typing.ArrayLike = 0
) -> jax.Array:
  """Draw float32 standard normals, |x| <= 5.3, by the inverse error function."""
  u = uniform(key, shape, stream)
  return np.float32(np.sqrt(2.0)) * jax.lax.erf_inv(2.0 * u - 1.0)


def integers(
  key: jax.Array,
  shape: Sequence[int],
  bound: jax.typing.ArrayLike,
  stream: jax.typing.ArrayLike = 0,
) -> jax.Array:
  """Draw int32 from 0..bound-1 (bound <= 2**16, bias below 2**-16)."""
  high = bits(key, shape, stream) >> 16
  return ((high * jnp.asarray(bound).astype(jnp.uint32)) >> 16).astype(
    jnp.int32
  )


def frame_keys(key: jax.typing.ArrayLike, frames: np.ndarray) -> np.ndarray:
  """Return a key for every frame of a clip: uint32 `[T, 2]`, on the host.

  A frame's key depends on the clip's key and the frame's number alone, so a
  clip may be processed in parts.

  Args:
    key: key of the clip; or uint32 `[2, T]`, keys of the frames' clips.
    frames: numbers of the frames, `[T]`.
  """
  number = np.asarray(frames, np.uint32)
  with np.errstate(over="ignore"):
    x0, x1 = _threefry(_host_raw(key), number, np.full_like(number, _FRAMES))
  return np.stack([np.asarray(x0), np.asarray(x1)], axis=-1)


def keys_of_frames(keys: jax.Array, count: int) -> jax.Array:
  """Return `frame_keys` of the first frames of every clip, on the device.

  Args:
    keys: uint32 `[B, 2]`, keys of the clips.
    count: number of frames, T.

  Returns:
    uint32 `[B, T, 2]`.
  """
  number = jnp.arange(count, dtype=jnp.uint32)
  number = jnp.broadcast_to(number, (len(keys), count))
  mark = jnp.full_like(number, _FRAMES)
  return jnp.stack(_threefry(keys.T[..., None], number, mark), axis=-1)


def words(key: jax.typing.ArrayLike, count: int) -> np.ndarray:
  """Compute `bits(key, (count,))` on the host, for any length: uint32 `[count]`."""
  number = np.arange(count, dtype=np.uint32)
  with np.errstate(over="ignore"):
    x0, _ = _threefry(_host_raw(key), number, np.zeros_like(number))
  return np.asarray(x0)


def _host_raw(key: jax.typing.ArrayLike) -> np.ndarray:
  """Return `raw`; words on the host are not sent to a device and back."""
  if isinstance(key, np.ndarray) and key.dtype == np.uint32:
    return key
  return np.asarray(raw(key))


def first_integers(keys: np.ndarray, bound: int, stream: int = 0) -> np.ndarray:
  """Draw one number from 0..bound-1 for each key, on the host: int64 `[N]`.

  Args:
    keys: uint32 `[N, 2]`.
    bound: at most 2**16.
    stream: number of the draw among several.
  """
  keys = np.asarray(keys)
  with np.errstate(over="ignore"):
    x0, _ = _threefry(
      keys.T, np.zeros(len(keys), np.uint32), np.array(stream << 8, np.uint32)
    )
  return (np.asarray(x0).astype(np.int64) >> 16) * bound >> 16
