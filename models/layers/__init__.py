"""Building blocks in torch's conventions, so that its weights fit unchanged.

Pictures are `[B, H, W, C]`. Padding is written as torch writes it: zeros on
both sides, for pooling outside the window's values. Every layer computes in the
dtype of its input; normalisation statistics stay in float32. In training batch
norms use the batch (`BatchNorm`), and what is drawn is drawn (`train_mode`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models.layers import grouped
from models.layers.train_mode import Dropout as Dropout
from models.layers.train_mode import (
  StochasticDepth as StochasticDepth,
)

_EPSILON = 1e-5  # default of torch's batch norms
Pair = int | tuple[int, int]
Pads = Sequence[tuple[int, int]]
# A layer, or a plain function of one array or of the last step's output.
Step = Callable[..., Any]


def conv(
  inputs: int,
  outputs: int,
  kernel: Pair,
  stride: Pair = 1,
  padding: Pair = 0,
  *,
  groups: int = 1,
  dilation: int = 1,
  bias: bool = True,
  rngs: nnx.Rngs,
) -> nnx.Conv:
  """Create a `torch.nn.Conv2d`.

  Its kernel is `[h, w, inputs / groups, outputs]`.
  """
  high, wide = _pair(padding)
  few = groups > 1 and inputs // groups <= grouped.MOST_INPUTS
  return nnx.Conv(
    inputs,
    outputs,
    _pair(kernel),
    strides=_pair(stride),
    padding=((high, high), (wide, wide)),
    kernel_dilation=_pair(dilation),
    feature_group_count=groups,
    use_bias=bias,
    kernel_init=jax.nn.initializers.he_normal(),
    conv_general_dilated=(
      grouped.convolve if few else jax.lax.conv_general_dilated
    ),
    promote_dtype=_as_input,
    rngs=rngs,
  )


def linear(
  inputs: int, outputs: int, *, bias: bool = True, rngs: nnx.Rngs
) -> nnx.Linear:
  """Create a `torch.nn.Linear`; its kernel is `[inputs, outputs]`."""
  return nnx.Linear(
    inputs, outputs, use_bias=bias, promote_dtype=_as_input, rngs=rngs
  )


class LayerNorm(nnx.Module):
  """A `torch.nn.LayerNorm` over the last axis, computed in float32."""

  def __init__(self, features: int, epsilon: float, *, rngs: nnx.Rngs):
    """Create the module; `epsilon` is torch's `eps`."""
    del rngs
    self.scale = nnx.Param(jnp.ones(features))
    self.bias = nnx.Param(jnp.zeros(features))
    self.epsilon = epsilon

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[..., features]` to the same shape."""
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(-1, keepdims=True)
    variance = jnp.square(centred).mean(-1, keepdims=True)
    normal = centred * jax.lax.rsqrt(variance + self.epsilon)
    return (normal * self.scale[...] + self.bias[...]).astype(x.dtype)


class BatchNorm(nnx.Module):
  """A `torch.nn.BatchNorm2d`, per channel.

  Its running statistics are no weights.

  Attributes:
    use_running_average: True in evaluation. In training (False) a batch is
      normalised by its own statistics, and the running ones move towards them.
      The batch is the whole one, however it is sharded, unless the network is
      called inside `jax.shard_map`. The name is flax's, so that
      `nnx.Module.train()` sets it.
  """

  def __init__(
    self,
    features: int,
    epsilon: float = _EPSILON,
    *,
    affine: bool = True,
    momentum: float = 0.1,
    rngs: nnx.Rngs,
  ):
    """Create the module; `epsilon` and `momentum` are torch's, unless the
    family says otherwise.

    Where a library froze norms whose epsilon is 0, training with those of the
    batch adds torch's 1e-5.

    New running statistics are `1 - momentum` of the old and `momentum` of the
    batch's: its mean, and its unbiased variance. Where TensorFlow speaks of a
    momentum or decay of .99, torch's is .01.
    """
    del rngs
    if affine:
      self.scale = nnx.Param(jnp.ones(features))
      self.bias = nnx.Param(jnp.zeros(features))
    self.mean = nnx.BatchStat(jnp.zeros(features))
    self.var = nnx.BatchStat(jnp.ones(features))
    self.epsilon = epsilon
    self.affine, self.momentum = affine, momentum
    self.use_running_average = True

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[..., features]` to the same shape."""
    wide = x.astype(jnp.float32)
    mean, var, epsilon = self.mean[...], self.var[...], self.epsilon
    if not self.use_running_average:
      mean, var = self._move(wide)
      epsilon = epsilon or _EPSILON  # a channel's variance may be 0 there
    factor = jax.lax.rsqrt(var + epsilon)
    if self.affine:
      factor = factor * self.scale[...]
    # Centred first: `x * factor + offset` cancels where the mean is far.
    wide = (wide - mean) * factor
    if self.affine:
      wide = wide + self.bias[...]
    return wide.astype(x.dtype)

  def _move(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the batch's mean and variance, after updating the running ones."""
    axes = tuple(range(x.ndim - 1))
    mean, var = x.mean(axes), x.var(axes)
    count = x.size // x.shape[-1]
    unbiased = var * (count / max(count - 1, 1))  # what torch keeps
    for running, value in ((self.mean, mean), (self.var, unbiased)):
      kept = (1 - self.momentum) * running[...]
      running[...] = kept + self.momentum * jax.lax.stop_gradient(value)
    return mean, var


class ConvNorm(nnx.Module):
  """A convolution, usually without bias, a norm, and usually a relu."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    kernel: Pair,
    stride: Pair = 1,
    padding: Pair = 0,
    *,
    epsilon: float = 1e-5,
    relu: bool = True,
    bias: bool = False,
    rngs: nnx.Rngs,
  ):
    """Create a `conv`, its norm with this `epsilon`, and its relu."""
    self.conv = conv(
      inputs, outputs, kernel, stride, padding, bias=bias, rngs=rngs
    )
    self.bn = BatchNorm(outputs, epsilon, rngs=rngs)
    self.relu = relu

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H', W', outputs]`."""
    x = self.bn(self.conv(x))
    return relu(x) if self.relu else x


class Mlp(nnx.Module):
  """The feed-forward block of transformers and ConvNeXt: linear, exact GELU, linear."""

  def __init__(self, inputs: int, inner: int, outputs: int, *, rngs: nnx.Rngs):
    """Create the module; `inner` is the hidden width."""
    self.fc1 = linear(inputs, inner, rngs=rngs)
    self.fc2 = linear(inner, outputs, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[..., inputs]` to `[..., outputs]`."""
    return self.fc2(jax.nn.gelu(self.fc1(x), approximate=False))


class Stack(nnx.Module):
  """A `torch.nn.Sequential`: layers and plain functions, by position or by name.

  Only the layers are children (named "0", "1", ... where no names are given);
  functions such as `relu` take a position, as they do in torch, and hold
  nothing.
  """

  def __init__(self, steps: Sequence[Step] | Mapping[str, Step]):
    """Create the stack.

    Each of `steps`, a module or function, reads the last one's output.
    """
    if not isinstance(steps, Mapping):
      steps = {str(i): step for i, step in enumerate(steps)}
    self.steps = tuple(
      (name, None if isinstance(step, nnx.Module) else step)
      for name, step in steps.items()
    )
    for name, step in steps.items():
      if isinstance(step, nnx.Module):
        setattr(self, name, step)

  def __iter__(self) -> Iterator[Any]:
    """Yield the steps in order."""
    for name, step in self.steps:
      yield getattr(self, name) if step is None else step

  def __call__(self, x: Any) -> Any:
    """Apply the steps in order."""
    for step in self:
      x = step(x)
    return x


class Parallel(nnx.Module):
  """Branches that read the same input; their outputs are concatenated.

  As in `Stack`, functions are branches without children.
  """

  def __init__(self, branches: Mapping[str, Step]):
    """Create the module.

    `branches` are modules or functions of one array, in order.
    """
    self.branches = tuple(
      (name, None if isinstance(branch, nnx.Module) else branch)
      for name, branch in branches.items()
    )
    for name, branch in branches.items():
      if isinstance(branch, nnx.Module):
        setattr(self, name, branch)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, C]` to `[B, H', W', sum of the branches' channels]`."""
    parts = [
      getattr(self, name)(x) if branch is None else branch(x)
      for name, branch in self.branches
    ]
    return jnp.concatenate(parts, axis=-1)


def relu(x: jax.Array) -> jax.Array:
  """Compute max(x, 0).

  As in torch, its gradient at 0 is 0, where `jnp.maximum` has half.
  """
  return jax.nn.relu(x)


def length(x: jax.Array, axes: int | tuple[int, ...]) -> jax.Array:
  """Compute Euclidean norms over `axes`, which are kept.

  The gradient at 0 is 0, as in torch.

  The square root's own gradient is infinite there: for a channel that is 0
  everywhere, or for the padding tokens of a window.
  """
  squares = jnp.square(x).sum(axes, keepdims=True)
  some = squares > 0
  return jnp.where(some, jnp.sqrt(jnp.where(some, squares, 1)), 0)


def identity(x: jax.Array) -> jax.Array:
  """Return x, for layers such as dropout that do nothing in evaluation."""
  return x


def max_pool(
  x: jax.Array,
  window: int,
  stride: int,
  padding: int = 0,
  *,
  ceil: bool = False,
) -> jax.Array:
  """Apply `torch.nn.MaxPool2d`; `ceil` is torch's `ceil_mode`."""
  pads = _pool_padding(x, window, stride, padding, ceil)
  return window_max(x, (window, window), (stride, stride), pads)


def window_max(
  x: jax.Array, window: Sequence[int], stride: Sequence[int], pads: Pads
) -> jax.Array:
  """Compute the maximum of each window over all axes but the first and the last.

  Args:
    x: `[B, ..., C]`.
    window: size along each inner axis.
    stride: along each inner axis.
    pads: (before, after) along each inner axis; padding is never the maximum.
  """
  return jax.lax.reduce_window(
    x,
    np.array(-np.inf, x.dtype),  # of NumPy: known, so there is a gradient
    jax.lax.max,
    (1, *window, 1),
    (1, *stride, 1),
    [(0, 0), *pads, (0, 0)],
  )


def window_sum(
  x: jax.Array, window: Sequence[int], stride: Sequence[int], pads: Pads
) -> jax.Array:
  """Compute the sum of each window.

  The arguments are those of `window_max`; padding counts as 0.
  """
  return jax.lax.reduce_window(
    x,
    np.array(0, x.dtype),
    jax.lax.add,
    (1, *window, 1),
    (1, *stride, 1),
    [(0, 0), *pads, (0, 0)],
  )


def avg_pool(
  x: jax.Array,
  window: int,
  stride: int,
  padding: int = 0,
  *,
  ceil: bool = False,
  count_padding: bool = True,
) -> jax.Array:
  """Apply `torch.nn.AvgPool2d`; `count_padding` is torch's `count_include_pad`."""
  pads = _pool_padding(x, window, stride, padding, ceil)
  size, step = (window, window), (stride, stride)
  total = window_sum(x, size, step, pads)
  # torch counts its own padding where asked, never the overhang of ceil mode.
  counted = jnp.ones((1, *x.shape[1:3], 1), x.dtype)
  if count_padding:
    around = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    counted = jnp.pad(counted, around, constant_values=1)
    pads = [(max(lo - padding, 0), max(hi - padding, 0)) for lo, hi in pads]
  return total / window_sum(counted, size, step, pads)


def pad_as_tensorflow(x: jax.Array, kernel: int, stride: int) -> jax.Array:
  """Pad a map with zeros like TensorFlow's `SAME`.

  The odd one goes right and below.
  """
  pads = []
  for side in x.shape[1:3]:
    total = max((-(-side // stride) - 1) * stride + kernel - side, 0)
    pads.append((total // 2, total - total // 2))
  return jnp.pad(x, [(0, 0), *pads, (0, 0)])


def adaptive_avg_pool(x: jax.Array, outputs: int) -> jax.Array:
  """Apply `torch.nn.AdaptiveAvgPool2d` with `outputs` x `outputs` outputs."""
  if x.shape[1:3] == (outputs, outputs):
    return x
  rows = _bins(x.shape[1], outputs).astype(x.dtype)
  columns = _bins(x.shape[2], outputs).astype(x.dtype)
  return jnp.einsum("ih,jw,bhwc->bijc", rows, columns, x)


def global_mean(x: jax.Array) -> jax.Array:
  """Average `[B, H, W, C]` over its pixels: `[B, C]`."""
  return x.mean((1, 2))


def flatten_as_torch(x: jax.Array) -> jax.Array:
  """Flatten `[B, H, W, C]` to `[B, C * H * W]`, in torch's order, so its heads fit."""
  return x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)


def _pair(value: Pair) -> tuple[int, int]:
  return (value, value) if isinstance(value, int) else value


def _as_input(
  arrays: tuple[Any, ...], /, *, dtype: Any = None, inexact: bool = True
) -> Any:
  """Return every array in the dtype of the first, the layer's input."""
  del dtype, inexact  # flax's arguments for another dtype
  kind = arrays[0].dtype
  return tuple(None if a is None else a.astype(kind) for a in arrays)


def _pool_padding(
  x: jax.Array, window: int, stride: int, padding: int, ceil: bool
) -> Pads:
  pads = []
  for side in x.shape[1:3]:
    room = side + 2 * padding - window
    steps = -(-room // stride) if ceil else room // stride
    # torch drops a window that would start in the padding on the right.
    if ceil and steps * stride >= side + padding:
      steps -= 1
    overhang = max(steps * stride + window - side - 2 * padding, 0)
    pads.append((padding, padding + overhang))
  return pads


def _bins(inputs: int, outputs: int) -> jax.Array:
  """Build the averaging matrix `[outputs, inputs]` of torch's adaptive windows."""
  i = jnp.arange(outputs)[:, None]
  start = i * inputs // outputs
  end = -(-(i + 1) * inputs // outputs)
  position = jnp.arange(inputs)[None]
  inside = (position >= start) & (position < end)
  return inside / (end - start)
