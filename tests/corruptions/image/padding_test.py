"""Every corruption of pictures: the same bytes in any canvas, batch and order."""

import itertools

import numpy as np
from absl.testing import parameterized

from robust_tfds import conditions, corruptions
from robust_tfds.corruptions import frost_pictures
from tests import contracts, frost_folder, quick
from tests.corruptions.image import image_test

_NAMES = conditions.PICTURES.known_names
_BLURS_AND_WEATHER = (
  "glass_blur",
  "motion_blur",
  "zoom_blur",
  "snow",
  "frost",
  "fog",
  "elastic_transform",
  "spatter",
)
# One of each kind of operation; the others are slow tests.
_KINDS = ("zoom_blur", "fog")
_LARGE = ((200, 320), (256, 256), (33, 290), (129, 65))
_SIZES = ((64, 64), (33, 80))  # the fog map of the first is the smaller one
_TINY = ((1, 1), (1, 31), (5, 7))
_MORE_TINY = ((2, 2), (31, 1), (40, 3), (3, 48))


def _canvas(sizes, shape):
  """Pictures of those sizes in canvases full of other pixels."""
  rng = np.random.default_rng(0)
  canvas = rng.integers(0, 256, (len(sizes), *shape, 3)).astype(np.uint8)
  y, x = np.mgrid[: shape[0], : shape[1]]
  smooth = (x * 3 + y * 2)[..., None] % 256 // np.array([1, 2, 3])
  for place, (height, width) in zip(canvas, sizes, strict=True):
    place[: height // 2, :width] = smooth[: height // 2, :width]
  keys = rng.integers(0, 2**32, (len(sizes), 2), dtype=np.uint32)
  return canvas, keys


class CanvasTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    frost_folder.use_drawn()
    cls.addClassCleanup(frost_pictures.use_folder, None)

  @contracts.cases(_NAMES, image_test.plugin_file, quick=_KINDS)
  def test_padded_equals_unpadded(self, name):
    self._check(name, (1, 2, 5), _SIZES, (72, 80))

  @contracts.cases(_NAMES, image_test.plugin_file, quick=_KINDS[:1])
  def test_tiny_pictures(self, name):
    self._check(name, (3, 4), _TINY, (40, 48))

  @contracts.cases(_NAMES, image_test.plugin_file)
  def test_more_sizes(self, name):
    self._check(name, (1, 2, 3, 4, 5), _LARGE, (256, 320))
    self._check(name, (1, 2, 3, 4, 5), _MORE_TINY, (40, 48))

  @contracts.cases(_NAMES, image_test.plugin_file)
  def test_order_and_size_of_the_batch(self, name):
    canvas, keys = _canvas(((64, 64),) * 5, (64, 64))
    edition = image_test.edition_of(name, "tiny_imagenet")
    for severity in (1, 3, 5):
      kwargs = {"name": name, "severity": severity, "edition": edition}
      together = corruptions.corrupt_batch(canvas, keys=keys, **kwargs)
      order = np.array([3, 0, 4])
      some = corruptions.corrupt_batch(
        canvas[order], keys=keys[order], **kwargs
      )
      np.testing.assert_array_equal(np.asarray(together)[order], some)
      alone = corruptions.corrupt(canvas[2], key=keys[2], **kwargs)
      np.testing.assert_array_equal(np.asarray(together)[2], alone)

  @quick.cases(
    [(name, "cifar10") for name in ("motion_blur", "zoom_blur", "fog")],
    itertools.product(_BLURS_AND_WEATHER, ("cifar10", "any")),
  )
  def test_black_white_and_grey_stay_plausible(self, name, edition):
    # imagecorruptions' motion blur darkens pictures shorter than its 41 taps.
    side = 32 if edition == "cifar10" else 48
    levels = np.array([0, 255, 128], np.uint8)
    batch = np.broadcast_to(levels[:, None, None, None], (3, side, side, 3))
    keys = np.arange(6, dtype=np.uint32).reshape(3, 2)
    for severity in (1, 2, 3, 4, 5):
      black, white, grey = np.asarray(
        corruptions.corrupt_batch(
          batch, name, severity, edition=edition, keys=keys
        )
      )
      if name in ("zoom_blur", "motion_blur", "elastic_transform"):
        for output, level in ((black, 0), (white, 255), (grey, 128)):
          np.testing.assert_array_equal(output, level)
      elif name == "glass_blur":  # may lose a level in each of two truncations
        self.assertEqual(black.max(), 0)
        self.assertGreaterEqual(white.min(), 253)
      elif name == "fog":
        self.assertEqual(black.max(), 0)
        self.assertLess(white.mean(), 250)
      else:
        self.assertGreater(black.mean(), 0)
        self.assertGreater(white.mean(), 200)

  def _check(self, name, severities, sizes, shape):
    for severity in severities:
      self._check_severity(name, severity, sizes, shape)

  def _check_severity(self, name, severity, sizes, shape):
    canvas, keys = _canvas(sizes, shape)
    edition = image_test.edition_of(name, "any")
    kwargs = {"name": name, "severity": severity, "edition": edition}
    padded = np.asarray(
      corruptions.corrupt_batch(
        canvas, keys=keys, sizes=np.array(sizes), **kwargs
      )
    )
    for image, output, key, (height, width) in zip(
      canvas, padded, keys, sizes, strict=True
    ):
      alone = corruptions.corrupt(image[:height, :width], key=key, **kwargs)
      np.testing.assert_array_equal(output[:height, :width], alone)
      self.assertEqual(output[height:].max(initial=0), 0)
      self.assertEqual(output[:, width:].max(initial=0), 0)
