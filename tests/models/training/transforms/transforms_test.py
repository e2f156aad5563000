"""Transforms: shapes, keys, draws, procedural pictures, styles."""

import json

import jax
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from models import training
from models.training.transforms import checks, draws, texture
from robust_tfds import errors
from tests import in_process, quick, tiny_files

_COUNT, _SIDE = 6, 24


# Two devices, before jax starts: plain, sharded under jit, and by shard_map.
_TWO_DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import hashlib, json
import jax
from jax.sharding import NamedSharding, PartitionSpec as P
from robust_tfds import devices
from tests.models.training.transforms import transforms_test as t

mesh = devices.mesh()
for name, function in t.transforms().items():
  images, keys = t.batch(name)
  there = jax.device_put((images, keys), NamedSharding(mesh, P("data")))
  by_map = jax.shard_map(
    function, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False
  )
  results = [
    function(images, keys), jax.jit(function)(*there), jax.jit(by_map)(*there)
  ]
  print("RESULT", json.dumps([
    name, [hashlib.sha256(jax.device_get(r).tobytes()).hexdigest() for r in results]
  ]))
"""


def transforms() -> dict:
  """Name -> function of (images, keys)."""
  pictures = training.fractals(7, _SIDE)

  def pixmix(images, keys):
    return training.pixmix(images, keys=keys, pictures=pictures)

  def corruptions(*names):
    return lambda images, keys: training.corruption_mix(
      images, keys=keys, names=names
    )

  styles = training.textures(3, 20)

  def stylize(images, keys):
    return training.stylize(images, keys=keys, styles=styles)

  return {
    "stylize": stylize,
    "corruptions": corruptions("gaussian_noise", "contrast", "pixelate"),
    "corruptions of clips": corruptions("freezing", "shot_noise", "jumbling"),
    "pixmix": pixmix,
    "pixmix of clips": pixmix,
    "augmix": lambda images, keys: training.augmix(images, keys=keys),
    "augmix of all": lambda images, keys: training.augmix(
      images, keys=keys, overlap=True, depth=2, alpha=0.5, severity=1
    ),
  }


def batch(name: str) -> tuple[np.ndarray, np.ndarray]:
  """Pictures, or clips, and keys."""
  rng = np.random.default_rng(3)
  shape = (_COUNT, *(3,) * ("clips" in name), _SIDE, _SIDE, 3)
  images = rng.integers(0, 256, shape, np.uint8) // 2 + 60
  return images, rng.integers(0, 2**32, (_COUNT, 2), np.uint32)


class TransformsTest(parameterized.TestCase):
  @quick.cases(["augmix"], [n for n in transforms() if n != "augmix"])
  def test_neither_batch_nor_order_nor_jit_change_a_byte(self, name):
    function, (images, keys) = transforms()[name], batch(name)
    whole = np.asarray(function(images, keys))
    self.assertEqual(whole.dtype, np.uint8)
    self.assertEqual(whole.shape, images.shape)
    self.assertFalse((whole == images).all())
    one = np.asarray(function(images[4:5], keys[4:5]))
    np.testing.assert_array_equal(one, whole[4:5])
    order = np.random.default_rng(0).permutation(_COUNT)
    turned = np.asarray(function(images[order], keys[order]))
    np.testing.assert_array_equal(turned, whole[order])
    compiled = np.asarray(jax.jit(function)(images, keys))
    np.testing.assert_array_equal(compiled, whole)
    again = np.asarray(function(images, keys[::-1].copy()))
    self.assertFalse((again == whole).all())

  @parameterized.parameters(*transforms())
  def test_lists_that_are_no_arrays_are_refused(self, name):
    with self.assertRaisesRegex(errors.UserError, "Images must be uint8"):
      transforms()[name]([[1, 2], [3]], batch(name)[1])

  @pytest.mark.slow
  def test_two_devices_change_no_byte(self):
    run = in_process.python("-c", _TWO_DEVICES)
    self.assertEqual(run.returncode, 0, run.stderr)
    lines = [x for x in run.stdout.splitlines() if x.startswith("RESULT")]
    self.assertLen(lines, len(transforms()))
    for line in lines:
      name, hashes = json.loads(line.removeprefix("RESULT"))
      self.assertLen(set(hashes), 1, name)


class ChecksTest(absltest.TestCase):
  def test_sides_are_bounded(self):
    large = np.zeros((1, 2, checks.LARGEST_PX + 1, 3), np.uint8)
    with self.assertRaisesRegex(errors.UserError, "2048 px, got 2x2049"):
      checks.pictures(large, np.zeros((1, 2), np.uint32))

  def test_numbers(self):
    for two in (2, 2.0, np.float32(2), np.int64(2)):
      self.assertEqual(checks.number("alpha", two, 0), 2.0)
    for value in (0, -1, "1", True, float("nan"), 11, None):
      with self.assertRaisesRegex(errors.UserError, "alpha must be a number"):
        checks.number("alpha", value, 0, 10)
    with self.assertRaisesRegex(errors.UserError, "got inf"):
      checks.number("alpha", float("inf"), 0)

  def test_switches(self):
    self.assertTrue(checks.switch("overlap", np.True_))
    for value in ("False", 0, None):
      with self.assertRaisesRegex(errors.UserError, "must be True or False"):
        checks.switch("overlap", value)

  def test_whole_numbers(self):
    self.assertEqual(checks.whole_number("width", np.int64(3), range(1, 4)), 3)
    for value in (0, 4, 1.0, True, "1"):
      with self.assertRaisesRegex(errors.UserError, "width must be a whole"):
        checks.whole_number("width", value, range(1, 4))


_KEYS = np.random.default_rng(1).integers(0, 2**32, (20000, 2), np.uint32)


class DrawsTest(parameterized.TestCase):
  @parameterized.parameters(1.0, 1.3, 4.5)
  def test_gamma(self, alpha):
    of_key = jax.jit(jax.vmap(lambda key: draws.gamma(key, alpha, 2, 5)))
    drawn = np.asarray(of_key(_KEYS), np.float64)
    from scipy import stats

    for column in drawn.T:
      self.assertGreater(stats.kstest(column, stats.gamma(alpha).cdf)[1], 1e-3)
    self.assertLess(abs(np.corrcoef(drawn.T)[0, 1]), 0.03)

  def test_beta_and_dirichlet(self):
    from scipy import stats

    of_key = jax.jit(jax.vmap(lambda key: draws.beta(key, 2.0, 9)))
    share = np.asarray(of_key(_KEYS), np.float64)
    self.assertGreater(stats.kstest(share, stats.beta(2, 2).cdf)[1], 1e-3)
    of_key = jax.jit(jax.vmap(lambda key: draws.dirichlet(key, 0.5, 4, 9)))
    parts = np.asarray(of_key(_KEYS), np.float64)
    np.testing.assert_allclose(parts.sum(1), 1, atol=1e-6)
    # One of four equal parts of 0.5 is Beta(0.5, 1.5).
    known = stats.beta(0.5, 1.5).cdf
    self.assertGreater(stats.kstest(parts[:, 2], known)[1], 1e-3)

  @parameterized.parameters(0.002, 0.01, 0.1)
  def test_dirichlet_of_a_small_alpha_chooses_one(self, alpha):
    """Also where every gamma is below float32's least number."""
    from scipy import stats

    of_key = jax.jit(jax.vmap(lambda key: draws.dirichlet(key, alpha, 3, 9)))
    parts = np.asarray(of_key(_KEYS), np.float64)
    for least in (0.1, 0.4, 0.9):
      # One of three equal parts of alpha is Beta(alpha, 2 alpha).
      share = stats.beta(alpha, 2 * alpha).sf(least)
      delta = 4 * np.sqrt(share * (1 - share) / len(parts))
      for part in parts.T:
        self.assertAlmostEqual((part > least).mean(), share, delta=delta)

  def test_coin(self):
    of_key = jax.jit(jax.vmap(lambda key: draws.coin(key, (), 3)))
    self.assertAlmostEqual(np.mean(of_key(_KEYS)), 0.5, delta=0.012)


class FractalsTest(parameterized.TestCase):
  def test_pictures_hang_on_seed_and_number_alone(self):
    four = training.fractals(4, 32)
    self.assertEqual((four.shape, four.dtype), ((4, 32, 32, 3), np.uint8))
    np.testing.assert_array_equal(training.fractals(2, 32), four[:2])
    self.assertFalse((training.fractals(2, 32, seed=1) == four[:2]).all())
    self.assertLen(np.unique(four.reshape(4, -1), axis=0), 4)

  def test_none_is_plain(self):
    spread = training.fractals(30, 32).std(axis=(1, 2)).max(axis=-1)
    self.assertGreater(spread.min(), 15)

  @parameterized.parameters((0, 32), (2, 7), (2, 5000), (1.5, 32))
  def test_refuses(self, count, side):
    with self.assertRaises(errors.UserError):
      training.fractals(count, side)


def _picture(seed: int) -> np.ndarray:
  return tiny_files.noise(20, 17, seed)[None].astype(np.float32) / 255


class TextureTest(parameterized.TestCase):
  def test_none_of_the_style_is_the_picture(self):
    got = jax.jit(texture.render)(_picture(0), _picture(1), 0.0)
    np.testing.assert_allclose(got, _picture(0), atol=1e-5)

  def test_its_own_style_is_the_picture(self):
    got = jax.jit(texture.render)(_picture(0), _picture(0), 1.0)
    np.testing.assert_allclose(got, _picture(0), atol=1e-4)

  def test_colours_become_the_styles(self):
    red = np.clip(_picture(1) * (1, 0.2, 0.2), 0, 1).astype(np.float32)
    got = np.asarray(jax.jit(texture.render)(_picture(0), red, 1.0))
    np.testing.assert_allclose(
      got.mean((0, 1, 2)), red.mean((0, 1, 2)), atol=0.05
    )

  def test_styles_hang_on_seed_and_number_alone(self):
    four = training.textures(4, 24)
    self.assertEqual((four.shape, four.dtype), ((4, 24, 24, 3), np.uint8))
    np.testing.assert_array_equal(training.textures(2, 24), four[:2])
    self.assertFalse((training.textures(2, 24, seed=1) == four[:2]).all())
    self.assertGreater(four.std(axis=(1, 2)).max(axis=-1).min(), 10)

  @parameterized.parameters((0, 32), (2, 7), (2, 5000))
  def test_refuses(self, count, side):
    with self.assertRaises(errors.UserError):
      training.textures(count, side)


_STYLES = training.textures(3, 24)


def _keys(count: int) -> np.ndarray:
  return np.random.default_rng(4).integers(0, 2**32, (count, 2), np.uint32)


class StylizeTest(parameterized.TestCase):
  def test_every_picture_has_one_of_the_styles(self):
    images = np.stack([tiny_files.noise(16, 16, i) for i in range(8)])
    got = np.asarray(
      training.stylize(images, keys=_keys(8), styles=_STYLES)
    ).astype(int)
    in_style = jax.jit(texture.render)
    seen = set()
    for image, picture in zip(images, got):
      away = []
      for style in _STYLES:
        pair = (x[None].astype(np.float32) / 255 for x in (image, style))
        levels = np.clip(np.asarray(in_style(*pair, 1.0))[0] * 255, 0, 255)
        away.append(np.abs(levels - picture).max())
      self.assertLess(min(away), 0.51)
      seen.add(int(np.argmin(away)))
    self.assertGreater(len(seen), 1)

  def test_texture_in_a_canvas_is_what_it_is_alone(self):
    images = np.stack([tiny_files.noise(16, 20, i) for i in range(3)])
    sizes, styles = np.array([(16, 20), (9, 4), (1, 1)]), _STYLES
    options = {"styles": styles, "paired": True}
    got = training.stylize(images, keys=_keys(3), sizes=sizes, **options)
    for i, (high, wide) in enumerate(sizes):
      expected = np.zeros_like(images[i])
      expected[:high, :wide] = training.stylize(
        images[i : i + 1, :high, :wide],
        keys=_keys(3)[i : i + 1],
        styles=styles[i : i + 1],
        paired=True,
      )[0]
      far = np.abs(np.asarray(got)[i].astype(int) - expected)
      self.assertLessEqual(far.max(), 1)

  def test_a_traced_share_is_refused_in_words(self):
    def of(alpha):
      return training.stylize(
        np.zeros((1, 8, 8, 3), np.uint8),
        keys=_keys(1),
        styles=_STYLES,
        alpha=alpha,
      )

    with self.assertRaisesRegex(errors.UserError, "alpha must be a number"):
      jax.jit(of)(0.5)

  @parameterized.parameters(
    ({"styles": np.zeros((0, 8, 8, 3), np.uint8)}, "at least one picture"),
    ({"styles": np.zeros((8, 8, 3), np.uint8)}, "styles must be uint8"),
    ({"alpha": -0.1}, "alpha must be a number from 0 to 1"),
    ({"alpha": False}, "alpha must be"),
    ({"alpha": 1.5}, "alpha must be"),
    ({"paired": 1}, "paired must be True or False, got 1"),
    ({"stylizer": "vgg.pth"}, "load_stylizer"),
    ({"keys": np.zeros((2,), np.uint32)}, "One key per image"),
  )
  def test_refuses(self, change, words):
    given = {"keys": _keys(2), "styles": _STYLES} | change
    with self.assertRaisesRegex(errors.UserError, words):
      training.stylize(np.zeros((2, 8, 8, 3), np.uint8), **given)
