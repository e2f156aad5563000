"""Deformable convolutions against loops, plain ones and torchvision's."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized
from flax import nnx

from models import layers
from models.layers import deformable
from tests.models import extension_ops

# Inputs, outputs, groups, stride; whether of the second version.
_CASES = ((3, 4, 1, 1, False), (4, 6, 2, 2, True))


def _drawn(inputs, outputs, groups, stride, modulated, size=(7, 6)):
  """Pixels, kernel, offsets and chances, in torch's layout."""
  rng = np.random.default_rng(0)
  places = [(n - 1) // stride + 1 for n in size]
  draw = functools.partial(rng.standard_normal, dtype=np.float32)
  x, kernel = draw((2, inputs, *size)), draw((outputs, inputs // groups, 3, 3))
  offsets = 3 * draw((2, 18, *places))
  chances = rng.random((2, 9, *places), np.float32) if modulated else None
  return x, kernel, offsets, chances


def _ours(x, kernel, offsets, chances, groups, stride):
  last = functools.partial(np.moveaxis, source=1, destination=-1)
  y = jax.jit(
    functools.partial(
      deformable.convolve,
      strides=(stride, stride),
      padding=(1, 1),
      groups=groups,
    )
  )(
    last(x),
    kernel.transpose(2, 3, 1, 0),
    last(offsets),
    None if chances is None else last(chances),
  )
  return np.moveaxis(np.asarray(y), -1, 1)


def _pixel(x, y, row, column):
  """Of a picture `[C, H, W]` between its pixels, zeros beyond them."""
  total = np.zeros(len(x))
  for i in (int(np.floor(y + row)), int(np.floor(y + row)) + 1):
    for j in (int(np.floor(column)), int(np.floor(column)) + 1):
      if 0 <= i < x.shape[1] and 0 <= j < x.shape[2]:
        weight = (1 - abs(y + row - i)) * (1 - abs(column - j))
        total += weight * x[:, i, j]
  return total


def _loops(x, kernel, offsets, chances, groups, stride):
  """The sum of the paper's equation, place by place."""
  batch, _, rows, columns = offsets.shape
  outputs, per_group = kernel.shape[:2]
  y = np.zeros((batch, outputs, rows, columns))
  for b, i, j, k in np.ndindex(batch, rows, columns, 9):
    down, across = offsets[b, 2 * k : 2 * k + 2, i, j]
    place = i * stride - 1 + k // 3, j * stride - 1 + k % 3
    seen = _pixel(x[b], place[0], down, place[1] + across)
    seen *= 1 if chances is None else chances[b, k, i, j]
    for o in range(outputs):
      first = o // (outputs // groups) * per_group
      part = seen[first : first + per_group]
      y[b, o, i, j] += kernel[o, :, k // 3, k % 3] @ part
  return y


class ConvolveTest(parameterized.TestCase):
  @parameterized.parameters(*_CASES)
  def test_as_loops(self, inputs, outputs, groups, stride, modulated):
    given = _drawn(inputs, outputs, groups, stride, modulated)
    want = _loops(*given, groups, stride)
    got = _ours(*given, groups, stride)
    np.testing.assert_allclose(got, want, atol=2e-5 * np.abs(want).max())

  @parameterized.parameters(*_CASES)
  @pytest.mark.slow
  def test_as_torchvision(self, inputs, outputs, groups, stride, modulated):
    torch, ops = extension_ops.torchvision()
    sizes = 8 * inputs, 8 * outputs, groups, stride, modulated, (40, 33)
    given = _drawn(*sizes)
    tensors = [None if a is None else torch.from_numpy(a) for a in given]
    x, kernel, offsets, chances = tensors
    want = ops.deform_conv2d(
      x, offsets, kernel, stride=stride, padding=1, mask=chances
    ).numpy()
    got = _ours(*given, groups, stride)
    gap = np.abs(got - want).max() / np.abs(want).max()
    print(f"deform_conv2d {sizes}: {gap:.1e} of scale")
    self.assertLess(gap, 1e-5)


class ConvTest(parameterized.TestCase):
  @parameterized.parameters((False, 18), (True, 27))
  def test_starts_as_the_plain_one(self, modulated, channels):
    plain = layers.conv(8, 6, 3, 2, 1, groups=2, bias=False, rngs=nnx.Rngs(0))
    x = jnp.asarray(_drawn(8, 6, 2, 2, False)[0]).transpose(0, 2, 3, 1)
    want = plain(x)
    conv = deformable.Conv(plain, modulated=modulated, rngs=nnx.Rngs(1))
    self.assertEqual(conv.conv_offset.kernel.shape, (3, 3, 8, channels))
    # The chances of the second version start at a half.
    factor = 0.5 if modulated else 1.0
    np.testing.assert_allclose(conv(x), factor * want, atol=1e-5)

  @pytest.mark.slow
  def test_offsets_come_first_then_chances(self):
    plain = layers.conv(2, 2, 3, 1, 1, bias=False, rngs=nnx.Rngs(0))
    conv = deformable.Conv(plain, modulated=True, rngs=nnx.Rngs(1))
    rng = np.random.default_rng(0)
    start = rng.standard_normal(27).astype(np.float32)
    conv.conv_offset.bias[...] = jnp.asarray(start)
    x = _drawn(2, 2, 1, 1, True)[0]
    grid = np.ones((2, 1, *x.shape[2:]), np.float32)
    moves = start[None, :, None, None] * grid
    want = _ours(
      x,
      np.asarray(plain.kernel[...]).transpose(3, 2, 0, 1),
      moves[:, :18],
      1 / (1 + np.exp(-moves[:, 18:])),
      *(1, 1),
    )
    got = np.moveaxis(np.asarray(conv(x.transpose(0, 2, 3, 1))), -1, 1)
    np.testing.assert_allclose(got, want, atol=1e-5)
