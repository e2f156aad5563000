"""RGB pixels packed in 32-bit words: one gather serves three channels.

Functions of a pixel's three channels are computed on words too: `pack` and
`bytes_of` are vectorised (0.03 ms both ways at 224 px), a maximum over
`layout.planes` is not (0.06 ms, and 0.2 to bring three new planes together).
"""

from collections.abc import Iterable

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import keep


def pack(image: jax.Array) -> jax.Array:
  """Pack uint8 `[..., 3]` to uint32 `[...]`, red in the low byte."""
  wide = jnp.pad(image, [(0, 0)] * (image.ndim - 1) + [(0, 1)])
  return jax.lax.bitcast_convert_type(wide, jnp.uint32)


def image_channels(image: jax.Array, natural: jax.Array) -> list[jax.Array]:
  """Return the channels of a picture `[H, W, 3]`, int32 `[H, W]`, not stacked.

  Args:
    image: uint8.
    natural: see `keep`.
  """
  return channels(keep.keep(pack(image), natural))


def channels(words: jax.Array) -> list[jax.Array]:
  """Return the three channels of packed words, int32, not stacked."""
  return [((words >> (8 * c)) & 0xFF).astype(jnp.int32) for c in range(3)]


def columns(words: jax.Array, index: jax.Array) -> jax.Array:
  """Return `words[:, index]` for an index known to be in range."""
  return jnp.asarray(words).at[:, index].get(mode="promise_in_bounds")


def rows(words: jax.Array, index: jax.Array) -> jax.Array:
  """Return `words[index]` for an index known to be in range."""
  return jnp.asarray(words).at[index].get(mode="promise_in_bounds")


def join(red: jax.Array, green: jax.Array, blue: jax.Array) -> jax.Array:
  """Pack three channels of levels, integers 0..255: uint32."""
  return (red | (green << 8) | (blue << 16)).astype(jnp.uint32)


def interleave(channels: Iterable[jax.Array], natural: jax.Array) -> jax.Array:
  """Interleave three planes of levels, truncated and clipped, to uint8 `[H, W * 3]`.

  Args:
    channels: red, green and blue, numbers of any kind `[H, W]`.
    natural: see `keep`.
  """
  levels = (jnp.clip(c.astype(jnp.int32), 0, 255) for c in channels)
  return bytes_of(join(*levels), natural)


def bytes_of(words: jax.Array, natural: jax.Array | None = None) -> jax.Array:
  """Unpack words `[H, W]` to uint8 `[H, W * 3]`.

  Args:
    words: uint32.
    natural: see `keep`; with it the words are computed once, not for each of
      their bytes.
  """
  if natural is not None:
    words = keep.keep(words, natural)
  levels = jax.lax.bitcast_convert_type(words, jnp.uint8)[..., :3]
  if natural is not None:
    levels = keep.keep(levels, natural)
  return levels.reshape(words.shape[0], -1)
