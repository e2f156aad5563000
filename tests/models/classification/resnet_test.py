"""ResNeXtDenoiseAll beside what is written out; the authors' file."""

import jax
import numpy as np
from absl.testing import absltest, parameterized
from flax import nnx

from models.classification import resnet
from models.convert import match
from robust_tfds import models
from tests.models import drawn
from tests.models.classification import by_hand
from tests.models.convert import checkpoints, names

_NAME = "resnext101_32x8d_denoise_all"


def _padded(x, kernel, stride) -> np.ndarray:
  """TensorFlow's `SAME` of even sides: the odd zero right and below."""
  total = kernel - stride
  sides = (total // 2, total - total // 2)
  return np.pad(x, ((0, 0), sides, sides, (0, 0)))


def _block(v, x, stride) -> np.ndarray:
  y = by_hand.relu(by_hand.norm(by_hand.conv(x, v["conv1"]), v["bn1"]))
  y = by_hand.conv(_padded(y, 3, stride), v["conv2"], stride, groups=32)
  y = by_hand.conv(by_hand.relu(by_hand.norm(y, v["bn2"])), v["conv3"])
  short = by_hand.conv(x, v["downsample"]["0"], stride)
  short = by_hand.norm(short, v["downsample"]["1"])
  x = by_hand.relu(by_hand.norm(y, v["bn3"]) + short)
  flat = x.reshape(len(x), -1, x.shape[-1])
  mean = flat @ flat.swapaxes(1, 2) @ flat / flat.shape[1]
  mean = by_hand.conv(mean.reshape(x.shape), v["denoise"]["conv"])
  return x + by_hand.norm(mean, v["denoise"]["bn"])


class DenoiseTest(parameterized.TestCase):
  def test_network_as_written_out(self):
    model = drawn.with_options(models.get(_NAME), depths=(1, 1))
    v = drawn.variables(model)
    for stage in ("layer1", "layer2"):  # third powers must not grow
      v[stage]["0"]["denoise"]["bn"]["scale"] /= 1e3
    x = np.random.default_rng(1).normal(size=(2, 32, 32, 3)).astype(np.float32)
    y = by_hand.norm(by_hand.conv(_padded(x, 7, 2), v["conv1"], 2), v["bn1"])
    y = by_hand.max_pool(_padded(by_hand.relu(y), 3, 2), 3, 2)
    y = _block(v["layer2"]["0"], _block(v["layer1"]["0"], y, 1), 2)
    want = by_hand.linear(y.mean((1, 2)), v["fc"])
    got = jax.jit(model.apply)(v, x)
    np.testing.assert_allclose(got, want, atol=1e-4 * np.abs(want).max())

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
    few = drawn.with_options(models.get(_NAME), depths=(2, 1, 1, 1))
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
