"""Views, joins and paddings: where values lie, not what they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from robust_tfds.models.adapters.torch_graph.operators import convolution


def same(x: jax.Array, *args: Any, **options: Any) -> jax.Array:
  """The array itself: copies, memory layouts and gradients are torch's."""
  del args, options
  return x


def view(x: jax.Array, shape: Sequence[int]) -> jax.Array:
  """The same values in another shape; one size may be -1."""
  return jnp.reshape(x, tuple(shape))


def flatten(x: jax.Array, first: int = 0, last: int = -1) -> jax.Array:
  """Axes first..last as one."""
  if not x.ndim:
    return x.reshape(1)
  first, last = first % x.ndim, last % x.ndim
  middle = math.prod(x.shape[first : last + 1])
  return x.reshape(*x.shape[:first], middle, *x.shape[last + 1 :])


def unflatten(x: jax.Array, axis: int, sizes: Sequence[int]) -> jax.Array:
  """One axis as several."""
  axis = axis % x.ndim
  return x.reshape(*x.shape[:axis], *sizes, *x.shape[axis + 1 :])


def transposed(x: jax.Array) -> jax.Array:
  """A matrix's axes swapped; a vector as it is."""
  return x.T


def swapped(x: jax.Array, a: int, b: int) -> jax.Array:
  """Two axes swapped."""
  return jnp.swapaxes(x, a, b) if x.ndim else x


def squeeze(x: jax.Array, axes: int | Sequence[int] | None = None) -> jax.Array:
  """Without axes of size 1: all of them, or those that are named."""
  if axes is None:
    return jnp.squeeze(x)
  named = [axes] if isinstance(axes, int) else axes
  places = {a % x.ndim for a in named} if x.ndim else set()
  return jnp.squeeze(x, tuple(a for a in sorted(places) if x.shape[a] == 1))


def expand(
  x: jax.Array, sizes: Sequence[int], *, implicit: bool = False
) -> jax.Array:
  """Axes of size 1 repeated; -1 keeps a size."""
  del implicit
  padded = (1,) * (len(sizes) - x.ndim) + x.shape
  shape = [n if s == -1 else s for s, n in zip(sizes, padded, strict=True)]
  return jnp.broadcast_to(x, shape)


def expand_as(x: jax.Array, other: jax.Array) -> jax.Array:
  """In the shape of another."""
  return jnp.broadcast_to(x, other.shape)


def tile(x: jax.Array, times: Sequence[int]) -> jax.Array:
  """Repeated along each axis."""
  return jnp.tile(x, tuple(times))


def cat(arrays: Sequence[jax.Array], axis: int = 0) -> jax.Array:
  """Joined; arrays of shape [0] are left out, as torch does."""
  filled = [a for a in arrays if a.shape != (0,)]
  return jnp.concatenate(filled or arrays, axis)


def stack(arrays: Sequence[jax.Array], axis: int = 0) -> jax.Array:
  """Joined along a new axis."""
  return jnp.stack(arrays, axis)


def split(
  x: jax.Array, sizes: int | Sequence[int], axis: int = 0
) -> list[jax.Array]:
  """In parts of the sizes, or all of one size but the last."""
  if isinstance(sizes, int):
    ends = list(range(sizes, x.shape[axis], sizes))
  else:
    ends = np.cumsum(sizes)[:-1].tolist()
  return jnp.split(x, ends, axis)


def chunk(x: jax.Array, count: int, axis: int = 0) -> list[jax.Array]:
  """In at most `count` parts of one size, but the last."""
  return split(x, max(-(-x.shape[axis] // count), 1), axis)


def unbind(x: jax.Array, axis: int = 0) -> list[jax.Array]:
  """Each along an axis."""
  return [jnp.take(x, i, axis) for i in range(x.shape[axis])]


def padded(x: jax.Array, pads: Sequence[int], value: float = 0.0) -> jax.Array:
  """Constant values around; pads are (before, after) from the last axis on.

  Negative ones cut off.
  """
  return lax.pad(
    x, jnp.asarray(value, x.dtype), [(a, b, 0) for a, b in _pairs(x, pads)]
  )


def _pairs(x: jax.Array, pads: Sequence[int]) -> list[tuple[int, int]]:
  """(before, after) of every axis."""
  named = list(zip(pads[::2], pads[1::2], strict=True))[::-1]
  return [(0, 0)] * (x.ndim - len(named)) + named


def reflected(x: jax.Array, pads: Sequence[int]) -> jax.Array:
  """Mirrored around, without the border itself."""
  return jnp.pad(x, _pairs(x, pads), mode="reflect")


def replicated(x: jax.Array, pads: Sequence[int]) -> jax.Array:
  """The border's values around."""
  return jnp.pad(x, _pairs(x, pads), mode="edge")


def pad(
  x: jax.Array,
  pads: Sequence[int],
  mode: str = "constant",
  value: float | None = None,
) -> jax.Array:
  """As `mode` says: constant, reflect, replicate or circular."""
  if mode == "constant":
    return padded(x, pads, value or 0.0)
  kinds = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
  return jnp.pad(x, _pairs(x, pads), mode=kinds[mode])


def roll(
  x: jax.Array, shifts: Sequence[int], axes: Sequence[int] = ()
) -> jax.Array:
  """Shifted around along axes; as one vector where none is named."""
  steps = (shifts,) if isinstance(shifts, int) else tuple(shifts)
  over = (axes,) if isinstance(axes, int) else tuple(axes)
  return jnp.roll(x, steps, over) if over else jnp.roll(x, steps[0])


def flip(x: jax.Array, axes: Sequence[int]) -> jax.Array:
  """Backwards along axes."""
  return jnp.flip(x, tuple(axes))


def narrow(x: jax.Array, axis: int, start: int, length: int) -> jax.Array:
  """`length` values of an axis."""
  start = start % x.shape[axis] if start < 0 else start
  return lax.slice_in_dim(x, start, start + length, axis=axis)


def pixel_shuffle(x: jax.Array, factor: int) -> jax.Array:
  """`[..., C f f, H, W]` -> `[..., C, H f, W f]`."""
  *lead, channels, high, wide = x.shape
  deep = channels // factor**2
  parts = x.reshape(-1, deep, factor, factor, high, wide)
  moved = parts.transpose(0, 1, 4, 2, 5, 3)
  return moved.reshape(*lead, deep, high * factor, wide * factor)


def pixel_unshuffle(x: jax.Array, factor: int) -> jax.Array:
  """`[..., C, H f, W f]` -> `[..., C f f, H, W]`."""
  *lead, channels, high, wide = x.shape
  parts = x.reshape(
    -1, channels, high // factor, factor, wide // factor, factor
  )
  moved = parts.transpose(0, 1, 3, 5, 2, 4)
  return moved.reshape(
    *lead, channels * factor**2, high // factor, wide // factor
  )


def channel_shuffle(x: jax.Array, groups: int) -> jax.Array:
  """The channels of groups in turns."""
  rows, channels, *rest = x.shape
  parts = x.reshape(rows, groups, channels // groups, *rest)
  return jnp.swapaxes(parts, 1, 2).reshape(x.shape)


def im2col(
  x: jax.Array,
  window: Sequence[int],
  dilation: Sequence[int],
  padding: Sequence[int],
  stride: Sequence[int],
) -> jax.Array:
  """torch.nn.functional.unfold: `[B, C, H, W]` -> `[B, C h w, windows]`."""
  sizes, gaps, pads, steps = (
    convolution.each_axis(v, 2) for v in (window, dilation, padding, stride)
  )
  patches = lax.conv_general_dilated_patches(
    x,
    sizes,
    steps,
    [(p, p) for p in pads],
    rhs_dilation=gaps,
    dimension_numbers=("NCHW", "OIHW", "NCHW"),
    precision=lax.Precision.HIGHEST,
  )
  return patches.reshape(*patches.shape[:2], -1)


def unfold(x: jax.Array, axis: int, size: int, step: int) -> jax.Array:
  """Windows along an axis; their values become the last axis."""
  count = (x.shape[axis] - size) // step + 1
  places = np.arange(count)[:, None] * step + np.arange(size)
  axis = axis % x.ndim
  windows = jnp.take(x, places, axis)  # [..., count, size, ...]
  return jnp.moveaxis(windows, axis + 1, -1)


def as_strided(
  x: jax.Array,
  sizes: Sequence[int],
  strides: Sequence[int],
  offset: int | None = None,
) -> jax.Array:
  """Values at steps in memory, of an array that lies there in order."""
  places = np.asarray(offset or 0)
  for size, step in zip(sizes, strides, strict=True):
    places = places[..., None] + np.arange(size) * step
  return x.reshape(-1)[places]


def movedim(
  x: jax.Array, source: int | Sequence[int], target: int | Sequence[int]
) -> jax.Array:
  """Axes at other places."""
  return jnp.moveaxis(x, source, target)


def size(x: jax.Array, axis: int) -> int:
  """How many there are along an axis; known while tracing."""
  return x.shape[axis]


_SAME = (
  "alias",
  "clone",
  "contiguous",
  "detach",
  "detach_",
  "dropout",
  "feature_dropout",
  "lift",
  "lift_fresh",
  "lift_fresh_copy",
)

TABLE: dict[str, Callable[..., Any]] = {
  **{f"aten.{name}.default": same for name in _SAME},
  "aten.as_strided.default": as_strided,
  "aten.cat.default": cat,
  "aten.channel_shuffle.default": channel_shuffle,
  "aten.chunk.default": chunk,
  "aten.constant_pad_nd.default": padded,
  "aten.expand.default": expand,
  "aten.expand_as.default": expand_as,
  "aten.flatten.using_ints": flatten,
  "aten.flip.default": flip,
  "aten.im2col.default": im2col,
  "aten.movedim.int": movedim,
  "aten.movedim.intlist": movedim,
  "aten.narrow.default": narrow,
  "aten.pad.default": pad,
  "aten.permute.default": lambda x, axes: jnp.transpose(x, tuple(axes)),
  "aten.pixel_shuffle.default": pixel_shuffle,
  "aten.pixel_unshuffle.default": pixel_unshuffle,
  "aten.reflection_pad1d.default": reflected,
  "aten.reflection_pad2d.default": reflected,
  "aten.reflection_pad3d.default": reflected,
  "aten.repeat.default": tile,
  "aten.replication_pad1d.default": replicated,
  "aten.replication_pad2d.default": replicated,
  "aten.replication_pad3d.default": replicated,
  "aten.reshape.default": view,
  "aten.roll.default": roll,
  "aten.split.Tensor": split,
  "aten.split.sizes": split,
  "aten.split_with_sizes.default": split,
  "aten.squeeze.default": squeeze,
  "aten.squeeze.dim": squeeze,
  "aten.squeeze.dims": squeeze,
  "aten.stack.default": stack,
  "aten.sym_size.int": size,
  "aten.sym_numel.default": lambda x: x.size,
  "aten.t.default": transposed,
  "aten.tile.default": tile,
  "aten.transpose.int": swapped,
  "aten.unbind.int": unbind,
  "aten.unflatten.int": unflatten,
  "aten.unfold.default": unfold,
  "aten.unsafe_chunk.default": chunk,
  "aten.unsafe_split.Tensor": split,
  "aten.unsqueeze.default": jnp.expand_dims,
  "aten.view.default": view,
  "aten._unsafe_view.default": view,
}
