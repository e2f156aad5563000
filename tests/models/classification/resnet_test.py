"""ResNeXtDenoiseAll beside what is written out; the authors' file."""

import jax
import numpy as np
from absl.testing import absltest, parameterized
from flax import nnx

from robust_tfds import models
from robust_tfds.models.classification import resnet
from robust_tfds.models.convert import match
from tests.models import drawn
from tests.models.classification import by_hand
from tests.models.convert import checkpoints, names


class DenoiseTest(parameterized.TestCase):
  @parameterized.parameters(2, 12)  # fewer and more channels than places
  def test_as_written_out(self, channels):
    layer = resnet.Denoise(channels, rngs=nnx.Rngs(0))
    x = np.random.default_rng(0).normal(size=(2, 3, 3, channels))
    x = x.astype(np.float32)
    mean = np.zeros_like(x)
    for b, i, j in np.ndindex(2, 3, 3):
      for k, m in np.ndindex(3, 3):
        mean[b, i, j] += (x[b, i, j] @ x[b, k, m]) * x[b, k, m] / 9
    kernel = {"kernel": layer.conv.kernel[...]}
    want = x + by_hand.conv(mean, kernel) / np.sqrt(1 + 1e-5)
    with jax.default_matmul_precision("highest"):
      np.testing.assert_allclose(layer(x), want, atol=2e-5)


class TensorpackTest(checkpoints.Case):
  def test_authors_file(self):
    name = "resnext101_32x8d_denoise_all"
    few = drawn.with_options(models.get(name), depths=(2, 1, 1, 1))
    flat = checkpoints.drawn(few)
    paths = {"/".join(path): array for path, array in flat.items()}
    arrays = names.arrays(paths, "tensorpack")
    self.assertIn("group0/block1/non_local/conv/bn/variance/EMA", arrays)
    loaded = match.match_arrays(few, arrays)
    self.assertEqual(loaded.style, "tensorpack")
    self.same(loaded.variables, flat)


class SmallTest(absltest.TestCase):
  def test_64_px(self):
    model = models.get("resnet50_64px", num_classes=200)
    self.assertEqual(model.spec.geometry, "squash64_crop64")
    self.assertEqual(model.spec.input_px, 64)
