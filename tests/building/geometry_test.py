"""Crop rules: shapes, and offsets that round as the published ones."""

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors, resizing
from robust_tfds.building import geometry
from tests import resizing_golden, shared_data, tiny_files


class GeometryTest(parameterized.TestCase):
  @parameterized.parameters(
    ("imagenet", (224, 224, 3)),
    ("inception", (299, 299, 3)),
    ("squash256_crop227", (227, 227, 3)),
    ("centre7of8_224_bicubic", (224, 224, 3)),
    ("short256", (256, 341, 3)),
    ("whole", (375, 500, 3)),
  )
  def test_shapes(self, rule, shape):
    data = tiny_files.encoded(tiny_files.noise(375, 500), "JPEG")
    image = geometry.decode(data, rule, "x")
    self.assertEqual(image.shape, shape)
    for got, want in zip(geometry.shape(rule), shape):
      self.assertIn(got, (None, want))

  @parameterized.parameters(
    ("short256_crop224", (30_000, 1), "x.JPEG: 30000 x 1 px become 7680000"),
    ("fraction0.875_299", (1, 1), "x.JPEG: 1 x 1 px are too few"),
    ("centre7of8_224", (500, 1), "x.JPEG: 500 x 1 px are too few"),
  )
  def test_sides_that_a_rule_cannot_take(self, rule, size, text):
    data = tiny_files.encoded(tiny_files.noise(*size[::-1]), "JPEG")
    with self.assertRaisesRegex(errors.UserError, text):
      geometry.decode(data, rule, "x.JPEG")

  @parameterized.parameters(False, True)
  def test_16_bit_grey_is_scaled(self, convert_last):
    data = tiny_files.encoded(np.full((300, 300), 0x8080, np.uint16))
    got = geometry.decode(data, "imagenet", "x", convert_last=convert_last)
    np.testing.assert_array_equal(got, np.full((224, 224, 3), 0x80))

  def test_offsets_round_half_to_even(self):
    # (341 - 224) / 2 = 58.5 -> 58: docs/evidence/specs/imagenet_p.md section 1.
    column = np.arange(341, dtype=np.uint16) % 256
    image = np.tile(column.astype(np.uint8)[None, :, None], (256, 1, 3))
    out = geometry.apply(image, "imagenet")
    self.assertEqual(int(out[0, 0, 0]), 58)

  @parameterized.parameters(
    # 0.875 of 346 is 302, which leaves 44; of 323 282, 41: 20.5 -> 20; of 332
    # 290, 42; of 340 297, 43: 21.5 -> 22. Pillow resizes from there.
    ("inception", 323, 20),
    ("inception", 340, 22),
    ("inception", 332, 21),
    ("fraction0.875_299", 340, 21),
  )
  def test_margins_of_the_inception_crop(self, rule, side, margin):
    image = tiny_files.noise(side, side)
    part = slice(margin, margin + int(0.875 * side))
    taps = resizing.taps(part.stop - margin, 299)
    expected = resizing.resized(image[part, part], taps, taps)
    np.testing.assert_array_equal(geometry.apply(image, rule), expected)

  @parameterized.parameters(
    # int(px / (px + 32) * shorter side); left and top (side - part + 1) // 2.
    ("centre7of8_224", (500, 375), (86, 24, 414, 352)),
    ("centre7of8_224", (375, 500), (24, 86, 352, 414)),
    ("centre15of17_240", (500, 375), (85, 23, 415, 353)),
    ("centre65of73_260", (500, 333), (102, 19, 398, 315)),
    ("centre35of39_280", (640, 480), (105, 25, 535, 455)),
    ("centre75of83_300", (332, 400), (16, 50, 316, 350)),
    ("centre1of1_224", (300, 299), (1, 0, 300, 299)),
  )
  def test_centre_squares(self, rule, size, box):
    way = geometry.fit(rule, *size)
    self.assertEqual(way.box, box)
    side = int(rule.rpartition("_")[2])
    self.assertEqual(way.size, (side, side))

  def test_a_centre_square_is_resized(self):
    image = tiny_files.noise(301, 400)
    taps = resizing.taps(263, 224, bicubic=True)
    expected = resizing.resized(image[19:282, 69:332], taps, taps)
    got = geometry.apply(image, "centre7of8_224_bicubic")
    np.testing.assert_array_equal(got, expected)

  @parameterized.parameters(*resizing_golden.MODES)
  def test_what_older_pillows_gave(self, mode):
    rows = shared_data.lines(shared_data.golden("resizing", "modes.tsv"))
    for row in (row for row in rows if row["mode"] == mode):
      size = int(row["height"]), int(row["width"])
      data = tiny_files.encoded(resizing_golden.picture(mode, *size), "TIFF")
      got = geometry.decode(data, row["rule"], mode, convert_last=True)
      self.assertEqual(resizing_golden.checksum(got), row["sha256"], row)

  @parameterized.parameters(
    "centre0of8_224", "centre9of8_224", "centre224of256_224", "centre1of0_224"
  )
  def test_shares_have_one_name(self, rule):
    with self.assertRaisesRegex(errors.UserError, "share .* in lowest terms"):
      geometry.shape(rule)
