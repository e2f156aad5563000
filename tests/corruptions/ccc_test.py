"""Edition `ccc`: severities between the whole ones (Press et al. 2023)."""

import numpy as np
from absl.testing import parameterized

from robust_tfds import conditions, corruptions, datasets, errors
from robust_tfds.corruptions import plugins

_RNG = np.random.default_rng(0)
_IMAGE = _RNG.integers(0, 256, (48, 48, 3)).astype(np.uint8)
_SMOOTH = np.repeat(np.repeat(_IMAGE[:12, :12], 4, 0), 4, 1)


def _corrupt(name, severity, edition="ccc", image=_IMAGE, **options):
  options = options or {"seed": 0}
  return np.asarray(
    corruptions.corrupt(image, name, severity, edition=edition, **options)
  )


class TablesTest(parameterized.TestCase):
  """Numbers of docs/evidence/specs/ccc.md, between which a line runs."""

  @parameterized.parameters(
    ("gaussian_noise", 0.25, 0.02),
    ("gaussian_noise", 2.5, 0.15),
    ("shot_noise", 0.5, 120.0),
    ("shot_noise", 1.75, 1 / (0.25 / 60 + 0.75 / 25)),
    ("shot_noise", 5, 3.0),
    ("impulse_noise", 4.75, 0.245),
    ("defocus_blur", 0.25, (0.75, 0.025)),
    ("glass_blur", 0.25, (0.175, 1, 0)),
    ("glass_blur", 2.75, (0.975, 2, 2)),
    ("motion_blur", 1.5, (12.5, 4)),
    ("zoom_blur", 3.5, (1.235, 0.02)),
    ("snow", 0.5, (0.1, 0.3, 3, 0.75, 10, 4, 0.9)),
    ("frost", 4.25, (0.6375, 0.7125)),
    ("fog", 2.5, (2.25, 1.85)),
    ("brightness", 0.25, 0.025),
    ("contrast", 0.5, 0.7),
    ("pixelate", 4.75, 0.2625),
    ("jpeg_compression", 0.25, 70),
    ("jpeg_compression", 4.75, 8),
    ("elastic_transform", 0.5, (1, (999 / 244 + 0.7) / 2, 0.05)),
  )
  def test_a_row(self, name, severity, expected):
    rows = plugins.picture(name).severities["ccc"]
    self.assertLen(rows, 20)
    np.testing.assert_allclose(rows[round(4 * severity) - 1], expected, 1e-7)

  def test_whole_severities_have_imagenets_rows(self):
    for name in corruptions.names():
      of = plugins.picture(name).severities
      np.testing.assert_allclose(
        of["ccc"][3::4], of["imagenet"], 1e-9, 0, True, name
      )


class PixelsTest(parameterized.TestCase):
  @parameterized.parameters("contrast", "shot_noise", "frost", "fog")
  def test_whole_severities_are_imagenets(self, name):
    for severity in (1, 4.0):
      np.testing.assert_array_equal(
        _corrupt(name, severity), _corrupt(name, int(severity), "imagenet")
      )

  def test_0_is_the_picture(self):
    np.testing.assert_array_equal(_corrupt("jpeg_compression", 0), _IMAGE)
    batch = corruptions.corrupt_batch(
      _IMAGE[None], "fog", 0.0, edition="ccc", keys=np.zeros((1, 2), np.uint32)
    )
    np.testing.assert_array_equal(batch[0], _IMAGE)

  @parameterized.parameters("contrast", "gaussian_noise", "defocus_blur")
  def test_between_lies_between(self, name):
    key = corruptions.example_key(0, "d", name, 1, "a")
    away = [
      np.abs(_corrupt(name, s, image=_SMOOTH, key=key) - 1.0 * _SMOOTH).mean()
      for s in (3, 3.25, 3.5, 3.75, 4)
    ]
    self.assertEqual(away, sorted(away))
    self.assertLen(set(away), 5)

  def test_photons_of_a_fraction(self):
    grey = np.full((48, 48, 3), 128, np.uint8)
    got = _corrupt("shot_noise", 1.75, image=grey) / 255
    rate = 1 / (0.25 / 60 + 0.75 / 25)
    self.assertAlmostEqual(got.mean(), 128 / 255, delta=0.005)
    self.assertAlmostEqual(got.var(), 128 / 255 / rate, delta=0.001)

  def test_disks_of_even_side(self):
    """Radius 8.5 has 18 px, and OpenCV's anchor is the tenth."""
    grid = np.arange(-8.5, 9.5)
    disk = (grid**2 + grid[:, None] ** 2 <= 8.5**2) * 1.0
    disk /= disk.sum()
    taps = np.exp(-(np.arange(-2, 3) ** 2) / (2 * 0.5**2))
    taps /= taps.sum()
    for axis in (0, 1):
      wide = np.pad(
        disk, [(2, 2) if a == axis else (0, 0) for a in (0, 1)], "reflect"
      )
      disk = sum(
        t * np.take(wide, np.arange(i, i + 18), axis)
        for i, t in enumerate(taps)
      )
    padded = np.pad(1.0 * _SMOOTH, ((9, 8), (9, 8), (0, 0)), "reflect")
    expected = sum(
      disk[i, j] * padded[i : i + 48, j : j + 48]
      for i in range(18)
      for j in range(18)
    )
    got = _corrupt("defocus_blur", 4.25, image=_SMOOTH)
    self.assertLess(np.abs(got + 0.5 - expected).max(), 1.2)


class RefusalsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("fog", 2.5, "imagenet", "integer 1-5, got 2.5.*edition='ccc' alone"),
    ("fog", 2.3, "ccc", "got 2.3"),
    ("fog", 5.25, "ccc", "got 5.25"),
    ("fog", -0.25, "ccc", "got -0.25"),
    ("fog", 0, "imagenet", "Severity 0 is the clean image"),
    ("spatter", 2.5, "ccc", "No severities for edition 'ccc'"),
    ("plasma_noise", 0.25, "ccc", "No severities for edition 'ccc'"),
  )
  def test_severities(self, name, severity, edition, message):
    with self.assertRaisesRegex(errors.UserError, message):
      _corrupt(name, severity, edition)

  def test_keys(self):
    one, two, half = (
      conditions.raw_keys(0, "d", "fog", s, ["a"]) for s in (2.0, 2, 2.5)
    )
    np.testing.assert_array_equal(one, two)
    self.assertTrue((half != two).any())
    for edition in ("any", "ccc"):  # as keys, so pictures
      np.testing.assert_array_equal(
        _corrupt("fog", 2.0, edition), _corrupt("fog", 2, edition)
      )
    with self.assertRaisesRegex(errors.UserError, "got 2.6"):
      corruptions.example_key(0, "d", "fog", 2.6, "a")

  def test_no_configs(self):
    with self.assertRaisesRegex(errors.UserError, "Unknown"):
      datasets.builder("imagenet_c", "fog_2.5")
