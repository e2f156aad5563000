"""The integer transforms against libjpeg's butterflies and the real cosines."""

import numpy as np
import scipy.fft
from absl.testing import parameterized

from robust_tfds.corruptions.ops import dct


def _blocks(count: int) -> np.ndarray:
  """Samples around 0, extremes among them: int16 `[8 columns, 8 rows, N]`."""
  rng = np.random.default_rng(0)
  blocks = rng.integers(-128, 128, (8, 8, count))
  blocks[..., 0], blocks[..., 1] = -128, 127
  blocks[..., 2] = np.where(rng.random((8, 8)) < 0.5, -128, 127)
  return blocks.astype(np.int16)


def _cosines(blocks: np.ndarray) -> np.ndarray:
  return scipy.fft.dctn(blocks.astype(float), axes=(0, 1), norm="ortho")


class TransformTest(parameterized.TestCase):
  def test_forward_is_eight_times_the_cosines(self):
    blocks = _blocks(500)
    columns = dct.forward(blocks, axis=0)
    got = np.asarray(dct.forward(columns, axis=1))  # [8 rows, 8 columns, N]
    self.assertEqual((got.dtype, got.shape), (np.int16, blocks.shape))
    expected = 8 * _cosines(blocks).transpose(1, 0, 2)
    np.testing.assert_allclose(got, expected, atol=2.5)

  @parameterized.parameters(1, 40, 255)
  def test_inverse_gives_the_samples_of_quantised_blocks(self, step):
    coefficients = np.round(_cosines(_blocks(500)) / step) * step
    rows = coefficients.transpose(1, 0, 2).astype(np.int16)
    samples = dct.inverse(dct.inverse(rows, axis=0), axis=1)
    expected = scipy.fft.idctn(coefficients, axes=(0, 1), norm="ortho")
    np.testing.assert_allclose(samples, expected, atol=1)

  def test_the_axis_comes_first(self):
    blocks = _blocks(3)
    got = np.asarray(dct.forward(blocks.transpose(1, 0, 2), axis=1))
    flat = blocks.astype(int).sum(axis=0)
    np.testing.assert_array_equal(got[0], (flat + 2) >> 2)
