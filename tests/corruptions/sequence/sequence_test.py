"""What every perturbation of the folder must do, whoever wrote it."""

import itertools
import pathlib

import jax
import numpy as np
from absl.testing import parameterized

from robust_tfds import conditions, corruptions, errors
from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.sequence import EDITIONS, frame_count
from tests import contracts

_NAMES = conditions.SEQUENCES.known_names
# One of each kind of operation; the others are slow tests.
_KINDS = ("gaussian_noise", "motion_blur", "zoom_blur", "tilt")
_OTHERS = tuple(n for n in _NAMES if n not in _KINDS)
_SIZES = {"cifar10": (32, 32), "imagenet": (256, 270), "inception": (320, 300)}


def _plugin_file(name: str) -> pathlib.Path:
  return pathlib.Path(plugins.__file__).parent / "sequence" / f"{name}.py"


def _key() -> jax.Array:
  return corruptions.example_key(0, "imagenet_p", "x", 1, "a.JPEG")


def _image(height=256, width=270) -> np.ndarray:
  rng = np.random.default_rng(0)
  return rng.integers(0, 256, (height, width, 3), np.uint8)


class NamesTest(parameterized.TestCase):
  def test_paper_order(self):
    common = (
      "gaussian_noise shot_noise motion_blur zoom_blur snow brightness translate"
      " rotate tilt scale"
    ).split()
    extra = "speckle_noise gaussian_blur spatter shear".split()
    self.assertEqual(corruptions.sequence_names("common"), tuple(common))
    self.assertEqual(corruptions.sequence_names("extra"), tuple(extra))

  @parameterized.parameters(
    ("rotat", "Did you mean 'rotate'"),
    ("rotate_2", "only noise has"),
    ("shot_noise_4", "Difficulty must be 1-3"),
    ("clean", "Unknown perturbation 'clean'"),
  )
  def test_bad_names(self, name, message):
    with self.assertRaisesRegex(errors.UserError, message):
      corruptions.sequence(_image(), name, key=_key())

  def test_bad_images(self):
    with self.assertRaisesRegex(errors.UserError, "at least 224 px"):
      corruptions.sequence(_image(100), "rotate", key=_key())


class ContractTest(parameterized.TestCase):
  @contracts.cases(_NAMES, _plugin_file, quick=_KINDS)
  def test_padding_and_batch_change_no_frame(self, name):
    image = _image(256, 270)
    keys = conditions.raw_keys(0, "imagenet_p", name, 1, ["a", "b"])
    alone = corruptions.sequence(image, name, key=keys[1])
    canvas = np.full((2, 320, 320, 3), 77, np.uint8)
    canvas[:, :256, :270] = image
    padded = corruptions.sequence_batch(
      canvas, name, keys=keys, sizes=[(256, 270)] * 2
    )
    np.testing.assert_array_equal(alone, padded[1])

  @contracts.cases(
    itertools.product(_NAMES, EDITIONS),
    _plugin_file,
    quick=[
      *itertools.product(_KINDS, EDITIONS),
      *((n, "cifar10") for n in _OTHERS),
    ],
  )
  def test_every_edition_has_its_frames(self, name, edition):
    """By tracing alone: shapes are known before anything is compiled."""
    image = _image(*_SIZES.get(edition, (90, 80)))
    frames = jax.eval_shape(
      lambda x, k: corruptions.sequence_batch(x, name, edition=edition, keys=k),
      image[None],
      np.zeros((1, 2), np.uint32),
    )
    side = spec.edition(edition).side_px
    count = frame_count(name, edition)
    self.assertEqual(frames.shape, (1, count, side, side, 3))
    self.assertEqual(frames.dtype, np.uint8)

  @contracts.cases(itertools.product(_NAMES, EDITIONS), _plugin_file)
  def test_every_edition_runs(self, name, edition):
    image = _image(*_SIZES.get(edition, (90, 80)))
    frames = corruptions.sequence(image, name, edition=edition, key=_key())
    self.assertLen(frames, frame_count(name, edition))

  def test_cifar_frame_counts(self):
    counts = {n: frame_count(n, "cifar10") for n in _NAMES}
    self.assertEqual(counts.pop("motion_blur"), 21)
    self.assertEqual(counts.pop("translate"), 16)
    self.assertEqual(set(counts.values()), {31})
