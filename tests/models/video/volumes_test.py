"""Convolutions by frames against XLA's own of clips; windows against loops."""

import functools
import itertools

import jax
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from flax import nnx

from models.video import volumes

_KERNELS = ((1, 1, 1), (3, 1, 1), (1, 3, 3), (3, 3, 3), (5, 7, 7))
_STRIDES = ((1, 1, 1), (1, 2, 2), (2, 2, 2), (4, 1, 1))


def _clips(shape, seed=0):
  return np.random.default_rng(seed).standard_normal(shape, np.float32)


class Conv3dTest(parameterized.TestCase):
  @parameterized.product(kernel=_KERNELS, stride=_STRIDES)
  def test_frames_as_clips(self, kernel, stride):
    self._check(kernel, stride, 1)

  @parameterized.product(kernel=_KERNELS, stride=_STRIDES, groups=(2, 6))
  @pytest.mark.slow
  def test_frames_as_clips_of_groups(self, kernel, stride, groups):
    self._check(kernel, stride, groups)

  def test_frames_as_clips_of_a_pair(self):
    self._check((3, 3, 3), (2, 2, 2), 2)

  def _check(self, kernel, stride, groups):
    form = volumes.Form(stride, tuple(k // 2 for k in kernel), groups)
    x = _clips((2, 8, 9, 10, 6))
    weights = _clips((*kernel, 6 // groups, 6), 1)
    with jax.default_matmul_precision("highest"):
      got = jax.jit(functools.partial(volumes.convolve_frames, form=form))(
        x, weights
      )
      want = jax.jit(functools.partial(volumes.convolve_clips, form=form))(
        x, weights
      )
    scale = np.abs(want).max()
    np.testing.assert_allclose(got / scale, want / scale, atol=2e-6)

  def test_bias_and_dtype(self):
    layer = volumes.Conv3d(3, 4, 1, bias=True, rngs=nnx.Rngs(0))
    x = _clips((1, 2, 3, 3, 3))
    layer.bias[...] = layer.bias[...] + 2.0
    np.testing.assert_allclose(
      layer(x), x @ layer.kernel[0, 0, 0] + 2.0, rtol=1e-4, atol=1e-5
    )
    self.assertEqual(layer(x.astype("bfloat16")).dtype, "bfloat16")

  def test_gradient(self):
    layer = volumes.Conv3d(4, 4, 3, 2, 1, groups=4, rngs=nnx.Rngs(0))
    x = _clips((1, 5, 6, 6, 4))
    gradient = jax.jit(jax.grad(lambda x: layer(x).sum()))(x)
    self.assertEqual(gradient.shape, x.shape)
    self.assertGreater(float(np.abs(gradient).min()), 0)


class PoolTest(absltest.TestCase):
  def test_max_pool(self):
    x = _clips((1, 4, 5, 5, 2))
    got = volumes.max_pool(x, (1, 3, 3), (1, 2, 2), (0, 1, 1))
    self.assertEqual(got.shape, (1, 4, 3, 3, 2))
    np.testing.assert_array_equal(got[:, :, 0, 0], x[:, :, :2, :2].max((2, 3)))
    np.testing.assert_array_equal(
      got[:, :, 1, 1], x[:, :, 1:4, 1:4].max((2, 3))
    )

  def test_window_mean(self):
    x = _clips((1, 4, 5, 6, 2))
    got = volumes.window_mean(x, (2, 3, 9))
    self.assertEqual(got.shape, (1, 3, 3, 1, 2))
    for t, y in itertools.product(range(3), range(3)):
      np.testing.assert_allclose(
        got[:, t, y, 0],
        x[:, t : t + 2, y : y + 3].mean((1, 2, 3)),
        rtol=1e-4,
        atol=1e-6,
      )
