"""Layers of clips `[B, T, H, W, C]` in torch's conventions.

XLA's 3-D convolutions are slow on CPUs: there a convolution is computed as 2-D
ones of shifted frames (3 to 4 times faster, the same numbers up to rounding),
and a depthwise one as shifted products (280 times faster). On accelerators
true 3-D convolutions are called.
"""

from __future__ import annotations

import functools
import itertools
import math

import jax
import jax.numpy as jnp
from flax import nnx

Triple = int | tuple[int, int, int]
_CLIPS = ("NDHWC", "DHWIO", "NDHWC")
_PICTURES = ("NHWC", "HWIO", "NHWC")


class Conv3d(nnx.Module):
  """torch.nn.Conv3d; the kernel is `[t, h, w, inputs / groups, outputs]`."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    kernel: Triple,
    stride: Triple = 1,
    padding: Triple = 0,
    *,
    groups: int = 1,
    bias: bool = False,
    rngs: nnx.Rngs,
  ):
    """As torch's, but without a bias unless asked; zeros are padded."""
    size = triple(kernel)
    draw = jax.nn.initializers.he_normal()
    shape = (*size, inputs // groups, outputs)
    self.kernel = nnx.Param(draw(rngs.params(), shape))
    if bias:
      self.bias = nnx.Param(jnp.zeros(outputs))
    self.stride, self.padding = triple(stride), triple(padding)
    self.groups, self.has_bias = groups, bias

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[B, T, H, W, inputs]` -> `[B, T', H', W', outputs]`."""
    options = {"stride": self.stride, "padding": self.padding}
    options["groups"] = self.groups
    kernel = self.kernel[...].astype(x.dtype)
    y = jax.lax.platform_dependent(
      x,
      kernel,
      cpu=functools.partial(_convolve_frames, **options),
      default=functools.partial(_convolve_clips, **options),
    )
    return y + self.bias[...].astype(x.dtype) if self.has_bias else y


def max_pool(
  x: jax.Array, window: Triple, stride: Triple, padding: Triple = 0
) -> jax.Array:
  """torch.nn.MaxPool3d."""
  return jax.lax.reduce_window(
    x,
    jnp.array(-jnp.inf, x.dtype),
    jax.lax.max,
    (1, *triple(window), 1),
    (1, *triple(stride), 1),
    _pads(triple(padding)),
  )


def mean(x: jax.Array) -> jax.Array:
  """`[B, T, H, W, C]` -> `[B, C]`."""
  return x.mean((1, 2, 3))


def window_mean(x: jax.Array, window: tuple[int, int, int]) -> jax.Array:
  """Mean over the clip, through means of `window` at every place.

  Heads of pytorchvideo pool windows of the published size with stride 1; on
  larger clips they average the answers of all windows. Without a head between,
  that is not the plain mean: inner places count more often.

  Args:
    x: `[B, T, H, W, C]`.
    window: T, H, W of the window; each axis at most the clip's.

  Returns:
    `[B, T', H', W', C]`, one place per window.
  """
  window = tuple(min(w, n) for w, n in zip(window, x.shape[1:4], strict=True))
  total = jax.lax.reduce_window(
    x,
    jnp.array(0, x.dtype),
    jax.lax.add,
    (1, *window, 1),
    (1, 1, 1, 1, 1),
    "VALID",
  )
  return total / math.prod(window)


def triple(value: Triple) -> tuple[int, int, int]:
  """One number for all three axes, or one for each."""
  return (value,) * 3 if isinstance(value, int) else value


def _convolve_clips(x, kernel, *, stride, padding, groups) -> jax.Array:
  return jax.lax.conv_general_dilated(
    x,
    kernel,
    stride,
    [(p, p) for p in padding],
    dimension_numbers=_CLIPS,
    feature_group_count=groups,
  )


def _convolve_frames(x, kernel, *, stride, padding, groups) -> jax.Array:
  """The same by 2-D convolutions, one for each frame of the kernel."""
  if groups == x.shape[-1] == kernel.shape[-1]:
    return _convolve_depthwise(x, kernel, stride, padding)
  if kernel.shape[1:3] == (1, 1) == stride[1:] and padding[1:] == (0, 0):
    return _convolve_times(x, kernel, stride, padding, groups)
  batch, steps = x.shape[0], _steps(x.shape[1], kernel, stride, padding)
  x = _pad(x, (padding[0], 0, 0))
  total = 0
  for i in range(kernel.shape[0]):
    frames = _strided(x, i, steps, stride[0], axis=1)
    total = total + jax.lax.conv_general_dilated(
      frames.reshape(-1, *x.shape[2:]),
      kernel[i],
      stride[1:],
      [(p, p) for p in padding[1:]],
      dimension_numbers=_PICTURES,
      feature_group_count=groups,
    )
  return total.reshape(batch, steps, *total.shape[1:])


def _convolve_times(x, kernel, stride, padding, groups) -> jax.Array:
  """A kernel over time alone: clips as pictures of time by place."""
  y = jax.lax.conv_general_dilated(
    x.reshape(*x.shape[:2], -1, x.shape[-1]),
    kernel[:, :, 0],
    (stride[0], 1),
    ((padding[0],) * 2, (0, 0)),
    dimension_numbers=_PICTURES,
    feature_group_count=groups,
  )
  return y.reshape(*y.shape[:2], *x.shape[2:4], -1)


def _convolve_depthwise(x, kernel, stride, padding) -> jax.Array:
  """One kernel per channel: a product per place of the kernel."""
  sizes = [
    (side + 2 * pad - span) // step + 1
    for side, pad, span, step in zip(
      x.shape[1:4], padding, kernel.shape[:3], stride, strict=True
    )
  ]
  x = _pad(x, padding)
  total = 0
  for place in itertools.product(*map(range, kernel.shape[:3])):
    part = x
    for axis in range(3):
      part = _strided(part, place[axis], sizes[axis], stride[axis], axis + 1)
    total = total + part * kernel[place][0]
  return total


def _steps(frames, kernel, stride, padding) -> int:
  return (frames + 2 * padding[0] - kernel.shape[0]) // stride[0] + 1


def _strided(x, start: int, count: int, step: int, axis: int) -> jax.Array:
  stop = start + (count - 1) * step + 1
  return jax.lax.slice_in_dim(x, start, stop, step, axis)


def _pad(x, padding: tuple[int, int, int]) -> jax.Array:
  return jnp.pad(x, _pads(padding)) if any(padding) else x


def _pads(padding: tuple[int, int, int]) -> list[tuple[int, int]]:
  return [(0, 0), *((p, p) for p in padding), (0, 0)]
