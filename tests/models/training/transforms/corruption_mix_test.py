"""Every example is what the benchmark's own function gives; names are even."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized

from models import training
from models.training.transforms import corruption_mix
from robust_tfds import corruptions, errors
from tests import tiny_files

_SHORTER = ("sampling", "reverse_sampling", "freezing")


def _keys(count: int) -> np.ndarray:
  return np.random.default_rng(9).integers(0, 2**32, (count, 2), np.uint32)


def _pictures(count: int, side: int = 32) -> np.ndarray:
  return np.stack([tiny_files.noise(side, side, i) for i in range(count)])


def _drawn(
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
    images, keys = _pictures(6), _keys(6)
    mixed = training.corruption_mix(
      images, keys=keys, names=names, severities=severities, edition=edition
    )
    drawn = _drawn(keys, names, severities)
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

    count = np.bincount(jax.jit(jax.vmap(one))(_keys(20000)), minlength=12)
    expected = 20000 / 12
    # Chi-square of 11 degrees of freedom: above 31 once in a thousand.
    self.assertLess(((count - expected) ** 2 / expected).sum(), 31)

  def test_a_set_is_its_names(self):
    images, keys = _pictures(2), _keys(2)
    by_name = training.corruption_mix(
      images, keys=keys, names=["brightness", "contrast"]
    )
    by_words = training.corruption_mix(
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
    given = {"images": _pictures(2), "keys": _keys(2), "names": "contrast"}
    with self.assertRaisesRegex(errors.UserError, words):
      training.corruption_mix(**given | change)


class ClipsTest(parameterized.TestCase):
  def _check(
    self, clips: np.ndarray, names: tuple[str, ...], severities: tuple[int, ...]
  ) -> set[tuple[str, int]]:
    """What was drawn, all of which is what the benchmark gives."""
    keys = _keys(len(clips))

    @jax.jit
    def mix(clips, keys):
      return training.corruption_mix(
        clips, keys=keys, names=names, severities=severities
      )

    drawn = _drawn(keys, names, severities)
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
      np.asarray(training.corruption_mix(x, keys=_keys(2), names="freezing"))
      for x in (grey, np.repeat(grey, 3, axis=-1))
    )
    np.testing.assert_array_equal(got, expected)

  def test_refuses_clips_without_frames(self):
    none = np.zeros((2, 0, 8, 8, 3), np.uint8)
    with self.assertRaisesRegex(errors.UserError, "must have frames"):
      training.corruption_mix(none, keys=_keys(2), names="freezing")

  @parameterized.parameters(
    ("mpeg1", "codec of whole videos"),
    ("translation", "224x224 px, the clips are 8x8"),
    ("fog", "Unknown perturbation"),
    ("scale", "perturbation of sequences"),
  )
  def test_refuses(self, name, words):
    with self.assertRaisesRegex(errors.UserError, words):
      training.corruption_mix(_clips(1, 4, 8), keys=_keys(1), names=name)

  def test_refuses_editions_of_pictures(self):
    with self.assertRaisesRegex(errors.UserError, "edition of the video"):
      training.corruption_mix(
        _clips(1, 4, 8), keys=_keys(1), names="freezing", edition="imagenet"
      )


def _clips(count: int, frames: int, side: int) -> np.ndarray:
  return _pictures(count * frames, side).reshape(count, frames, side, side, 3)
