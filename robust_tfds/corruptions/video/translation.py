"""A shaking camera: a crop at random offsets.

docs/specs/video.md section 1: rows and columns uniform in 0 .. 8 s - 1 from the
top-left corner. Edition `paper`: the shorter side is resized to 256 px and every
frame has its own crop of 224 px. Edition `code`: one crop for the whole clip, of
256 px where the clip is 288 wide and else of 224 px, without resizing. What lies
beyond the picture is black.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import batching
from robust_tfds.corruptions import plugins
from robust_tfds.corruptions import seeding
from robust_tfds.corruptions.ops import resize

_SHORT_PX, _CROP_PX = 256, 224
_WIDE_PX, _WIDE_CROP_PX = 288, 256
# Pixels that an accelerator resizes together. The first pass keeps three channels
# of each in float32 and, smaller, two sums and their total: 40 bytes, 640 MiB.
_PIXELS = 1 << 24


def offsets(
  severity: int, edition: str, clip_key: np.ndarray, keys: np.ndarray
) -> np.ndarray:
  """Rows and columns of every frame's crop: int64 `[T, 2]`."""
  bound = 8 * severity
  if edition == "code":
    pair = [seeding.first_integers(clip_key[None], bound, s)[0] for s in (0, 1)]
    return np.tile(pair, (len(keys), 1))
  columns = [seeding.first_integers(keys, bound, s) for s in (0, 1)]
  return np.stack(columns, axis=1)


def frames(
  video: np.ndarray,
  severity: int,
  edition: str,
  clip_key: np.ndarray,
  keys: np.ndarray,
) -> jax.Array:
  """uint8 `[T, S, S, 3]`, S = 224 (256 in edition `code` of a wide clip)."""
  side = _CROP_PX
  if edition == "code":
    side = _WIDE_CROP_PX if video.shape[2] == _WIDE_PX else _CROP_PX
  else:
    return crop(
      _resized(video), offsets(severity, edition, clip_key, keys), side
    )
  return crop(video, offsets(severity, edition, clip_key, keys), side)


def crop(
  video: jax.typing.ArrayLike, offset: np.ndarray, side: int
) -> jax.Array:
  """Each frame's `[S, S]` from its offset, black beyond the picture."""
  video = jnp.asarray(video)
  reach = [
    max(0, side + int(offset[:, i].max()) - video.shape[1 + i]) for i in (0, 1)
  ]
  padded = jnp.pad(video, ((0, 0), (0, reach[0]), (0, reach[1]), (0, 0)))
  return _cropped(padded, jnp.asarray(offset, jnp.int32), side)


@functools.partial(jax.jit, static_argnums=2)
def _cropped(video: jax.Array, offset: jax.Array, side: int) -> jax.Array:
  def of_frame(frame: jax.Array, corner: jax.Array) -> jax.Array:
    return jax.lax.dynamic_slice(
      frame, (corner[0], corner[1], 0), (side, side, 3)
    )

  return jax.vmap(of_frame)(video, offset)


def _resized(video: np.ndarray) -> jax.Array:
  height, width = video.shape[1:3]
  short = min(height, width)
  if short == _SHORT_PX:
    return jnp.asarray(video)
  out = (
    _SHORT_PX if height == short else _SHORT_PX * height // width,
    _SHORT_PX if width == short else _SHORT_PX * width // height,
  )
  return _resize(jnp.asarray(video), out)


@functools.partial(jax.jit, static_argnums=1)
def _resize(video: jax.Array, out: tuple[int, int]) -> jax.Array:
  box = (0, 0, video.shape[1], video.shape[2])
  at_once = max(1, _PIXELS // (video.shape[1] * video.shape[2]))
  return batching.over_batch(
    lambda frame: resize.bilinear(frame, box, out), video, at_once=at_once
  )


PLUGIN = plugins.OfFrames(frames)
