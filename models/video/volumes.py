"""Layers for clips `[B, T, H, W, C]` in torch's conventions.

XLA's 3-D convolutions are slow on CPUs: there a convolution is computed as 2-D
ones of shifted frames (3 to 4 times faster, the same numbers up to rounding),
and a depthwise one as shifted products (280 times faster). On accelerators
true 3-D convolutions are called.
"""

import functools
import itertools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers

Triple = int | tuple[int, int, int]
_CLIPS = ("NDHWC", "DHWIO", "NDHWC")
_PICTURES = ("NHWC", "HWIO", "NHWC")


class Form(NamedTuple):
  """The form of a 3-D convolution: strides and padding along T, H, W, and groups."""

  stride: tuple[int, int, int]
  padding: tuple[int, int, int]
  groups: int


class Conv3d(nnx.Module):
  """A `torch.nn.Conv3d`; its kernel is `[t, h, w, inputs / groups, outputs]`."""

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
    """Create the layer like torch's, but by default without a bias; padding is
    zeros.
    """
    size = triple(kernel)
    draw = jax.nn.initializers.he_normal()
    shape = (*size, inputs // groups, outputs)
    self.kernel = nnx.Param(draw(rngs.params(), shape))
    if bias:
      self.bias = nnx.Param(jnp.zeros(outputs))
    self.stride = triple(stride)
    self.padding = triple(padding)
    self.groups, self.has_bias = groups, bias

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, T, H, W, inputs]` to `[B, T', H', W', outputs]`."""
    form = Form(self.stride, self.padding, self.groups)
    kernel = self.kernel[...].astype(x.dtype)
    y = jax.lax.platform_dependent(
      x,
      kernel,
      cpu=functools.partial(convolve_frames, form=form),
      default=functools.partial(convolve_clips, form=form),
    )
    return y + self.bias[...].astype(x.dtype) if self.has_bias else y


def max_pool(
  x: jax.Array, window: Triple, stride: Triple, padding: Triple = 0
) -> jax.Array:
  """Apply `torch.nn.MaxPool3d` to a clip."""
  pads = [(p, p) for p in triple(padding)]
  return layers.window_max(x, triple(window), triple(stride), pads)


def mean(x: jax.Array) -> jax.Array:
  """Average `[B, T, H, W, C]` over the clip: `[B, C]`."""
  return x.mean((1, 2, 3))


def window_mean(x: jax.Array, window: tuple[int, int, int]) -> jax.Array:
  """Average over the clip, through means of `window` at every place.

  Heads of pytorchvideo pool windows of the published size with stride 1; on
  larger clips they average the outputs of all windows. Without a head between,
  this is not the plain mean: inner places count more often.

  Args:
    x: `[B, T, H, W, C]`.
    window: T, H, W of the window; each axis at most the clip's.

  Returns:
    `[B, T', H', W', C]`, one place per window.
  """
  fitting = [min(w, n) for w, n in zip(window, x.shape[1:4], strict=True)]
  total = layers.window_sum(x, fitting, (1, 1, 1), [(0, 0)] * 3)
  return total / math.prod(fitting)


def triple(value: Triple) -> tuple[int, int, int]:
  """Return one number for all three axes, or one for each, as a triple."""
  return (value, value, value) if isinstance(value, int) else value


def convolve_clips(x: jax.Array, kernel: jax.Array, *, form: Form) -> jax.Array:
  """Compute a true 3-D convolution.

  Args:
    x: `[B, T, H, W, inputs]`.
    kernel: `[t, h, w, inputs / groups, outputs]`.
    form: strides, zeros on both sides, groups.

  Returns:
    `[B, T', H', W', outputs]`.
  """
  return jax.lax.conv_general_dilated(
    x,
    kernel,
    form.stride,
    [(p, p) for p in form.padding],
    dimension_numbers=_CLIPS,
    feature_group_count=form.groups,
  )


def convolve_frames(
  x: jax.Array, kernel: jax.Array, *, form: Form
) -> jax.Array:
  """Compute `convolve_clips` by 2-D convolutions, one for each frame of the kernel."""
  stride, padding = form.stride, form.padding
  if form.groups == x.shape[-1] == kernel.shape[-1]:
    return _convolve_depthwise(x, kernel, form)
  if kernel.shape[1:3] == (1, 1) == stride[1:] and padding[1:] == (0, 0):
    return _convolve_times(x, kernel, form)
  batch = x.shape[0]
  steps = (x.shape[1] + 2 * padding[0] - kernel.shape[0]) // stride[0] + 1
  x = _pad(x, (padding[0], 0, 0))
  parts = [
    jax.lax.conv_general_dilated(
      _strided(x, i, steps, stride[0], axis=1).reshape(-1, *x.shape[2:]),
      kernel[i],
      stride[1:],
      [(p, p) for p in padding[1:]],
      dimension_numbers=_PICTURES,
      feature_group_count=form.groups,
    )
    for i in range(kernel.shape[0])
  ]
  total = functools.reduce(jnp.add, parts)
  return total.reshape(batch, steps, *total.shape[1:])


def _convolve_times(x: jax.Array, kernel: jax.Array, form: Form) -> jax.Array:
  """Convolve with a kernel over time alone: clips as pictures of time by place."""
  y = jax.lax.conv_general_dilated(
    x.reshape(*x.shape[:2], -1, x.shape[-1]),
    kernel[:, :, 0],
    (form.stride[0], 1),
    ((form.padding[0],) * 2, (0, 0)),
    dimension_numbers=_PICTURES,
    feature_group_count=form.groups,
  )
  return y.reshape(*y.shape[:2], *x.shape[2:4], -1)


def _convolve_depthwise(
  x: jax.Array, kernel: jax.Array, form: Form
) -> jax.Array:
  """Convolve with one kernel per channel: a product per place of the kernel."""
  sizes = [
    (side + 2 * pad - span) // step + 1
    for side, pad, span, step in zip(
      x.shape[1:4], form.padding, kernel.shape[:3], form.stride, strict=True
    )
  ]
  x = _pad(x, form.padding)
  parts = []
  for place in itertools.product(*map(range, kernel.shape[:3])):
    part = x
    for axis in range(3):
      part = _strided(
        part, place[axis], sizes[axis], form.stride[axis], axis + 1
      )
    parts.append(part * kernel[place][0])
  return functools.reduce(jnp.add, parts)


def _strided(
  x: jax.Array, start: int, count: int, step: int, axis: int
) -> jax.Array:
  stop = start + (count - 1) * step + 1
  return jax.lax.slice_in_dim(x, start, stop, step, axis)


def _pad(x: jax.Array, padding: tuple[int, int, int]) -> jax.Array:
  pads = [(0, 0), *((p, p) for p in padding), (0, 0)]
  return jnp.pad(x, pads) if any(padding) else x
