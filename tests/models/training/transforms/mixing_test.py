"""AugMix, PixMix and corruption_mix against Pillow and numpy; what they draw."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized
from PIL import Image
from scipy import stats

from benchmarks import training
from benchmarks import training as pillow
from models import training as models_training
from models.training.transforms import (
  augmix,
  corruption_mix,
  operations,
  pixmix,
)
from robust_tfds import corruptions, errors
from robust_tfds.corruptions.ops import packed
from tests import tiny_files

_HEIGHT, _WIDTH = 45, 61


_STRENGTHS = (410, 4096, 9000, 12287, 40959)  # u = .1 to 10


def _pictures() -> dict[str, np.ndarray]:
  two = np.where(tiny_files.noise(_HEIGHT, _WIDTH) > 99, 200, 130)
  flat = np.full((_HEIGHT, _WIDTH, 3), 77)
  smooth = np.asarray(tiny_files.smooth(_WIDTH, _HEIGHT, 3))
  return {
    "noise": tiny_files.noise(_HEIGHT, _WIDTH, 1),
    "narrow": tiny_files.noise(_HEIGHT, _WIDTH, 2) // 3 + 41,
    "smooth": smooth,
    "two levels": two.astype(np.uint8),
    "flat": flat.astype(np.uint8),
  }


@jax.jit
def _apply(image, operation, strength, negative):
  drawn = operations.Drawn(operation, strength, negative)
  words = operations.apply(packed.pack(image), drawn, overlap=True)
  return packed.bytes_of(words)


def _ours(
  image: np.ndarray, name: str, strength: int, negative: bool = False
) -> np.ndarray:
  index = operations.NAMES.index(name)
  flat = _apply(image, index, strength, negative)
  return np.asarray(flat).reshape(image.shape)


def _pillow(
  image: np.ndarray, name: str, strength: int, negative: bool = False
) -> np.ndarray:
  u = strength / operations.UNIT
  picture = Image.fromarray(image)
  return np.asarray(training.pillow_operation(picture, name, u, negative))


def _far(ours: np.ndarray, theirs: np.ndarray, levels: int) -> float:
  """Share of the values that are further apart."""
  return float((np.abs(ours.astype(int) - theirs) > levels).mean())


class OperationsTest(parameterized.TestCase):
  @parameterized.parameters(*operations.TABLES)
  def test_tables_are_pillows_to_the_byte(self, name):
    for label, image in _pictures().items():
      for strength in _STRENGTHS:
        np.testing.assert_array_equal(
          _ours(image, name, strength),
          _pillow(image, name, strength),
          f"{label} {strength}",
        )

  @parameterized.parameters(*operations.WARPS)
  def test_warps_are_pillows_within_a_level(self, name):
    for label, image in _pictures().items():
      for strength in _STRENGTHS:
        for negative in (False, True):
          ours = _ours(image, name, strength, negative)
          theirs = _pillow(image, name, strength, negative)
          self.assertEqual(
            _far(ours, theirs, 1), 0, f"{label} {strength} {negative}"
          )

  def test_edges_of_warps_are_pillows_at_any_strength(self):
    """A pixel whose source lies a hair outside is black."""
    image = np.full((96, 96, 3), 200, np.uint8)
    strengths = np.random.default_rng(1).integers(410, 40960, 60).tolist()
    for name in ("rotate", "shear_x", "shear_y"):
      for strength in [410, 5562, 16384, *strengths]:
        ours, theirs = (f(image, name, strength) for f in (_ours, _pillow))
        np.testing.assert_array_equal(ours, theirs, f"{name} {strength}")

  @parameterized.parameters(*operations.OVERLAPPING)
  def test_enhancements_are_pillows(self, name):
    for label, image in _pictures().items():
      for strength in _STRENGTHS:
        ours = _ours(image, name, strength)
        theirs = _pillow(image, name, strength)
        self.assertEqual(_far(ours, theirs, 1), 0, f"{label} {strength}")
        self.assertLess(_far(ours, theirs, 0), 0.01, f"{label} {strength}")

  def test_every_range_of_levels_is_spread_as_pillow_spreads_it(self):
    """Pillow truncates float64 products."""
    low, high = np.triu_indices(256, 1)
    pick = np.random.default_rng(0).choice(len(low), 300, replace=False)
    index = np.arange(_HEIGHT * _WIDTH * 3).reshape(_HEIGHT, _WIDTH, 3)
    for a, b in zip(low[pick].tolist(), high[pick].tolist()):
      image = (a + index // 3 % (b - a + 1)).astype(np.uint8)
      np.testing.assert_array_equal(
        _ours(image, "autocontrast", 410), _pillow(image, "autocontrast", 410)
      )

  def test_draws_are_uniform(self):
    keys = np.random.default_rng(0).integers(0, 2**32, (20000, 2), np.uint32)
    one = functools.partial(
      operations.draw, shape=(), severity=3, overlap=False, stream=7
    )
    drawn = jax.vmap(one)(jnp.asarray(keys))
    count = np.bincount(drawn.operation, minlength=9)
    self.assertLen(count, 9)
    # Chi-square of 8 degrees of freedom: above 26 once in a thousand.
    expected = len(keys) / 9
    self.assertLess(((count - expected) ** 2 / expected).sum(), 26)
    u = np.sort(np.asarray(drawn.strength)) / operations.UNIT
    self.assertBetween(u[0], 0.1, 0.101)
    self.assertBetween(u[-1], 2.999, 3)
    share = (np.arange(len(u)) + 0.5) / len(u)
    # Kolmogorov-Smirnov: above 1.95 / sqrt(n) once in a thousand.
    distance = np.abs((u - 0.1) / 2.9 - share).max()
    self.assertLess(distance, 1.95 / np.sqrt(len(u)))
    self.assertAlmostEqual(np.mean(drawn.negative), 0.5, delta=0.012)


_OPTIONS = {
  "severity": 3.0,
  "width": 3,
  "depth": -1,
  "alpha": 1.0,
  "overlap": False,
}


def _keys(count: int) -> np.ndarray:
  return np.random.default_rng(7).integers(0, 2**32, (count, 2), np.uint32)


@functools.cache
def _draws() -> augmix.Drawn:
  one = functools.partial(augmix.draw, **_OPTIONS)
  return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(_keys(20000)))


def _distance(values: np.ndarray, cdf) -> float:
  """Kolmogorov-Smirnov's, times the root of the count: above 1.95 once in 1000."""
  share = (np.arange(len(values)) + 0.5) / len(values)
  return np.abs(cdf(np.sort(values)) - share).max() * np.sqrt(len(values))


class AugmixTest(parameterized.TestCase):
  def test_is_the_authors_mixture_of_pillows_operations(self):
    smooth = [np.asarray(tiny_files.smooth(48, 48, i)) for i in range(12)]
    images, keys = np.stack(smooth), _keys(12)
    ours = np.asarray(models_training.augmix(images, keys=keys))
    drawn = pillow.drawn_of(keys, **_OPTIONS)
    for image, one, got in zip(images, drawn, ours):
      expected = pillow.levels(pillow.pillow_mixture(image, one))
      far = np.abs(got - expected) > 1
      self.assertLess(far.mean(), 0.01)

  def test_weights_alone_mix(self):
    """All weight on the picture: itself; on one chain: that chain's result."""
    image = tiny_files.noise(24, 24)
    drawn = jax.tree.map(jnp.asarray, pillow.drawn_of(_keys(1), **_OPTIONS)[0])

    mix = jax.jit(functools.partial(augmix.mixture, overlap=False))

    def of_weights(weights: jax.Array) -> np.ndarray:
      flat = mix(image, drawn._replace(weights=weights))
      return np.asarray(flat).reshape(image.shape)

    alone, *chains = (of_weights(row << 16) for row in jnp.eye(4, dtype=int))
    np.testing.assert_array_equal(alone, image)
    own, *others = np.asarray(drawn.weights) / 2**16
    expected = own * image + sum(w * c for w, c in zip(others, chains))
    far = np.abs(of_weights(drawn.weights) - expected)
    np.testing.assert_array_less(far, 0.501)

  def test_depths_are_one_to_three(self):
    count = np.bincount(_draws().depths.ravel(), minlength=4)
    expected = _draws().depths.size / 3
    self.assertEqual(count[0], 0)
    # Chi-square of 2 degrees of freedom: above 13.8 once in a thousand.
    self.assertLess(((count[1:] - expected) ** 2 / expected).sum(), 13.8)

  def test_weights_are_of_a_dirichlet_and_a_beta(self):
    own, *others = _draws().weights.T / 2**16
    np.testing.assert_allclose(own + sum(others), 1, atol=1e-9)
    # Beta(1, 1) is uniform; w_1 of Dirichlet(1, 1, 1) is Beta(1, 2).
    self.assertLess(_distance(own, lambda x: x), 1.95)
    share = others[0] / np.maximum(1 - own, 1e-4)
    self.assertLess(
      _distance(np.clip(share, 0, 1), lambda x: 1 - (1 - x) ** 2), 1.95
    )
    self.assertLess(abs(np.corrcoef(own, share)[0, 1]), 0.03)

  def test_chains_and_their_operations_are_independent(self):
    drawn = _draws().operations.operation
    for a, b in (
      (drawn[:, 0, 0], drawn[:, 0, 1]),
      (drawn[:, 0, 0], drawn[:, 1, 0]),
    ):
      pairs = np.bincount(9 * a + b, minlength=81)
      expected = len(a) / 81
      # Chi-square of 80 degrees of freedom: above 125 once in a thousand.
      self.assertLess(((pairs - expected) ** 2 / expected).sum(), 125)

  @parameterized.parameters(
    ({"severity": 11}, "severity"),
    ({"width": 0}, "width"),
    ({"depth": 0}, "depth must be a whole number, -1 or 1 to 16, got 0"),
    ({"alpha": 1e300}, "alpha must be a number above 0.001 and up to 1e.06"),
    ({"keys": np.zeros((2, 2), np.int32)}, "key"),
    ({"keys": np.zeros((1, 2), np.uint32)}, "One key per image"),
    ({"images": np.zeros((2, 8, 8, 3), np.float32)}, "uint8"),
  )
  def test_refuses(self, change, words):
    given = {"images": np.zeros((2, 8, 8, 3), np.uint8), "keys": _keys(2)}
    given |= change
    with self.assertRaisesRegex(errors.UserError, words):
      models_training.augmix(given.pop("images"), **given)


_PIXMIX_OPTIONS = {"k": 4, "beta": 3.0, "severity": 3.0, "overlap": False}


def _pixmix_keys(count: int) -> np.ndarray:
  return np.random.default_rng(8).integers(0, 2**32, (count, 2), np.uint32)


def _drawn(keys: np.ndarray, count: int = 5) -> pixmix.Drawn:
  one = functools.partial(pixmix.draw, count=count, **_PIXMIX_OPTIONS)
  return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(keys))


def _written_out(
  image: np.ndarray, picture: np.ndarray, drawn: pixmix.Drawn
) -> np.ndarray:
  """andyzoujm/pixmix with given draws: levels, float64."""

  def fresh(i: int) -> np.ndarray:
    steps = drawn.operations
    name = operations.NAMES[steps.operation[i]]
    u, negative = steps.strength[i] / operations.UNIT, bool(steps.negative[i])
    of_pillow = pillow.pillow_operation(
      Image.fromarray(image), name, u, negative
    )
    return np.asarray(of_pillow) / 255

  mixed = fresh(0) if drawn.fresh[0] else image / 255
  for i in range(drawn.rounds):
    other = fresh(i + 1) if drawn.fresh[i + 1] else picture / 255
    a, b = float(drawn.a[i]), float(drawn.b[i])
    if drawn.multiplies[i]:
      mixed = (2 * mixed) ** a * np.maximum(2 * other, 1e-37) ** b / 2
    else:
      mixed = (a * (2 * mixed - 1) + b * (2 * other - 1) + 1) / 2
    mixed = np.clip(mixed, 0, 1)
  return 255 * mixed


class PixmixTest(parameterized.TestCase):
  def test_is_the_authors_mixture(self):
    images = np.stack(
      [np.asarray(tiny_files.smooth(32, 32, i)) for i in range(40)]
    )
    pictures, keys = models_training.fractals(5, 32), _pixmix_keys(40)
    ours = np.asarray(
      models_training.pixmix(images, keys=keys, pictures=pictures)
    )
    drawn = _drawn(keys)
    self.assertSameElements(drawn.rounds, range(5))
    near = []
    for i, image in enumerate(images):
      one = jax.tree.map(lambda x: x[i], drawn)
      expected = _written_out(image, pictures[one.picture], one)
      near.append((np.abs(ours[i] - expected) <= 1.5).mean())
    # A warp is Pillow's within a level, which a power of nearly black spreads.
    self.assertGreater(np.mean(near), 0.99)
    self.assertGreater(np.min(near), 0.9)

  def test_draws(self):
    drawn = _drawn(_pixmix_keys(20000))
    for values, parts in ((drawn.rounds, 5), (drawn.picture, 5)):
      count, expected = (
        np.bincount(values, minlength=parts),
        len(values) / parts,
      )
      # Chi-square of 4 degrees of freedom: above 18.5 once in a thousand.
      self.assertLess(((count - expected) ** 2 / expected).sum(), 18.5)
    for coin in (drawn.fresh, drawn.multiplies):
      np.testing.assert_allclose(coin.mean(0), 0.5, atol=0.012)
    a, b = drawn.a[:, 0].astype(float), drawn.b[:, 0].astype(float)
    small = b > 0
    self.assertAlmostEqual(small.mean(), 0.5, delta=0.012)
    near_one, near_none = stats.beta(3, 1).cdf, stats.beta(1, 3).cdf
    for values, cdf in (
      (a[small], near_one),
      (b[small], near_none),
      (a[~small] - 1, near_none),
      (-b[~small], near_none),
    ):
      self.assertGreater(stats.kstest(values, cdf)[1], 1e-3)

  def test_no_rounds_leave_the_start(self):
    """k = 0: a picture, or with probability 1/2 one operation of it."""
    keys = _pixmix_keys(16)
    image = tiny_files.noise(16, 16)
    options = {"pictures": 255 - image[None], "keys": keys}
    mixed = models_training.pixmix(np.stack([image] * 16), k=0, **options)
    same = (np.asarray(mixed) == image).all((1, 2, 3))
    draw = functools.partial(
      pixmix.draw, count=1, k=0, beta=3.0, severity=3.0, overlap=False
    )
    fresh = np.asarray(jax.vmap(draw)(keys).fresh[:, 0])
    self.assertTrue(same[~fresh].all())
    self.assertFalse(same[fresh].all())

  def test_frames_of_a_clip_draw_for_themselves(self):
    clip = np.repeat(tiny_files.noise(16, 16)[None, None], 8, axis=1)
    options = {
      "pictures": models_training.fractals(9, 16),
      "keys": _pixmix_keys(1),
    }
    mixed = np.asarray(models_training.pixmix(clip, **options))
    self.assertEqual(mixed.shape, clip.shape)
    self.assertGreater(len(np.unique(mixed[0], axis=0)), 4)

  @parameterized.parameters(
    ({"pictures": np.zeros((0, 8, 8, 3), np.uint8)}, "at least one picture"),
    ({"pictures": np.zeros((4, 8, 9, 3), np.uint8)}, "8x9 px, the images 8x8"),
    ({"pictures": [[1], [2, 3]]}, "^pictures must be uint8 arrays"),
    ({"paired": "yes"}, "paired must be True or False, got 'yes'"),
    ({"k": -1}, "k must be"),
    ({"overlap": "False"}, "overlap must be True or False"),
    ({"beta": 0}, "beta must be"),
  )
  def test_refuses(self, change, words):
    given = {
      "keys": _pixmix_keys(2),
      "pictures": np.zeros((4, 8, 8, 3), np.uint8),
    }
    given |= change
    with self.assertRaisesRegex(errors.UserError, words):
      models_training.pixmix(np.zeros((2, 8, 8, 3), np.uint8), **given)


_SHORTER = ("sampling", "reverse_sampling", "freezing")


def _corruption_mix_keys(count: int) -> np.ndarray:
  return np.random.default_rng(9).integers(0, 2**32, (count, 2), np.uint32)


def _corruption_mix_pictures(count: int, side: int = 32) -> np.ndarray:
  return np.stack([tiny_files.noise(side, side, i) for i in range(count)])


def _corruption_mix_drawn(
  keys: np.ndarray, names: tuple[str, ...], severities: tuple[int, ...]
) -> list[tuple[str, int]]:
  """Name and severity of every example."""
  out = []
  for key in keys:
    which, level = corruption_mix.draw(
      jnp.asarray(key), len(names), len(severities)
    )
    out.append((names[int(which)], severities[int(level)]))
  return out


class PicturesTest(parameterized.TestCase):
  @parameterized.parameters("any", "cifar10")
  def test_are_the_benchmarks(self, edition):
    names, severities = ("gaussian_noise", "contrast"), (2, 5)
    images, keys = _corruption_mix_pictures(6), _corruption_mix_keys(6)
    mixed = models_training.corruption_mix(
      images, keys=keys, names=names, severities=severities, edition=edition
    )
    drawn = _corruption_mix_drawn(keys, names, severities)
    self.assertGreater(len(set(drawn)), 2)
    for image, key, got, (name, severity) in zip(images, keys, mixed, drawn):
      expected = corruptions.corrupt_batch(
        image[None], name, severity, edition=edition, keys=key[None]
      )
      np.testing.assert_array_equal(got, expected[0])

  def test_draws_are_even(self):
    def one(key: jax.Array) -> jax.Array:
      which, level = corruption_mix.draw(key, 4, 3)
      return 3 * which + level

    count = np.bincount(
      jax.jit(jax.vmap(one))(_corruption_mix_keys(20000)), minlength=12
    )
    expected = 20000 / 12
    # Chi-square of 11 degrees of freedom: above 31 once in a thousand.
    self.assertLess(((count - expected) ** 2 / expected).sum(), 31)

  def test_a_set_is_its_names(self):
    images, keys = _corruption_mix_pictures(2), _corruption_mix_keys(2)
    by_name = models_training.corruption_mix(
      images, keys=keys, names=["brightness", "contrast"]
    )
    by_words = models_training.corruption_mix(
      images, keys=keys, names="contrast, brightness"
    )
    np.testing.assert_array_equal(by_name, by_words)

  @parameterized.parameters(
    ({"names": "contrst"}, "Did you mean 'contrast'"),
    ({"names": "tilt"}, "tilt is a perturbation of sequences"),
    ({"names": ()}, "at least one corruption"),
    ({"names": 3}, "names must be names of pictures, got 3"),
    ({"names": "freezing"}, "Unknown corruption"),
    ({"severities": ()}, "at least one of 1-5"),
    ({"severities": (0,)}, "Severity 0 is the clean"),
    ({"severities": (6,)}, "Severity must be 1-5"),
    ({"edition": "cifar"}, "Did you mean 'cifar10'"),
    ({"keys": np.zeros((3, 2), np.uint32)}, "One key per image"),
    ({"keys": np.zeros((2, 2), np.int64)}, r"got int64\[2, 2\]"),
    (
      {"images": np.zeros((2, 1, 4, 8, 8, 3), np.uint8), "names": "freezing"},
      r"Images must be \[B, H, W, 3\].*got shape \[2, 1, 4, 8, 8, 3\]",
    ),
  )
  def test_refuses(self, change, words):
    given = {
      "images": _corruption_mix_pictures(2),
      "keys": _corruption_mix_keys(2),
      "names": "contrast",
    }
    with self.assertRaisesRegex(errors.UserError, words):
      models_training.corruption_mix(**given | change)


class ClipsTest(parameterized.TestCase):
  def _check(
    self, clips: np.ndarray, names: tuple[str, ...], severities: tuple[int, ...]
  ) -> set[tuple[str, int]]:
    """What was drawn, all of which is what the benchmark gives."""
    keys = _corruption_mix_keys(len(clips))

    @jax.jit
    def mix(clips, keys):
      return models_training.corruption_mix(
        clips, keys=keys, names=names, severities=severities
      )

    drawn = _corruption_mix_drawn(keys, names, severities)
    for clip, key, got, (name, severity) in zip(
      clips, keys, np.asarray(mix(clips, keys)), drawn
    ):
      expected = corruptions.perturb_video(clip, name, severity, key=key)
      shown = np.arange(len(clip)) * len(expected) // len(clip)
      if name not in _SHORTER:
        np.testing.assert_array_equal(shown, np.arange(len(clip)))
      np.testing.assert_array_equal(got, expected[shown], f"{name} {severity}")
    return set(drawn)

  def test_temporal_and_camera_ones_are_the_benchmarks(self):
    names = (*corruptions.video_names("temporal"), "random_rotation")
    drawn = self._check(_clips(16, 20, 8), names, (1, 3, 5))
    self.assertGreater(len({name for name, _ in drawn}), 4)

  @pytest.mark.slow
  def test_all_that_run_on_a_device_are_the_benchmarks(self):
    names = tuple(n for n in corruptions.video_names() if "mpeg" not in n)
    self._check(_clips(12, 2, 224), names, (1, 4))

  def test_grey_clips_become_rgb(self):
    grey = _clips(2, 4, 8)[..., :1]
    got, expected = (
      np.asarray(
        models_training.corruption_mix(
          x, keys=_corruption_mix_keys(2), names="freezing"
        )
      )
      for x in (grey, np.repeat(grey, 3, axis=-1))
    )
    np.testing.assert_array_equal(got, expected)

  def test_refuses_clips_without_frames(self):
    none = np.zeros((2, 0, 8, 8, 3), np.uint8)
    with self.assertRaisesRegex(errors.UserError, "must have frames"):
      models_training.corruption_mix(
        none, keys=_corruption_mix_keys(2), names="freezing"
      )

  @parameterized.parameters(
    ("mpeg1", "codec of whole videos"),
    ("translation", "224x224 px, the clips are 8x8"),
    ("fog", "Unknown perturbation"),
    ("scale", "perturbation of sequences"),
  )
  def test_refuses(self, name, words):
    with self.assertRaisesRegex(errors.UserError, words):
      models_training.corruption_mix(
        _clips(1, 4, 8), keys=_corruption_mix_keys(1), names=name
      )

  def test_refuses_editions_of_pictures(self):
    with self.assertRaisesRegex(errors.UserError, "edition of the video"):
      models_training.corruption_mix(
        _clips(1, 4, 8),
        keys=_corruption_mix_keys(1),
        names="freezing",
        edition="imagenet",
      )


def _clips(count: int, frames: int, side: int) -> np.ndarray:
  return _corruption_mix_pictures(count * frames, side).reshape(
    count, frames, side, side, 3
  )
