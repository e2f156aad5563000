"""The own resize: the bytes of older Pillows, under any Pillow."""

import numpy as np
from absl.testing import parameterized
from PIL import Image

from robust_tfds import resizing
from tests import resizing_golden, shared_data

_ROWS = shared_data.lines(shared_data.golden("resizing", "sizes.tsv"))


def _resized(picture, out, bicubic):
  down, across = (
    resizing.taps(n, o, bicubic) for n, o in zip(picture.shape, out)
  )
  return resizing.resized(picture, down, across)


def _by_axis(picture, out, method):
  """Pillow's own sums, without its choice of which pass comes first."""
  image = Image.fromarray(picture).resize((out[1], picture.shape[0]), method)
  return np.asarray(image.resize(out[::-1], method))


class ResizedTest(parameterized.TestCase):
  def test_what_older_pillows_gave(self):
    self.assertLen(_ROWS, 2 * len(resizing_golden.sizes()))
    other = []
    for row in _ROWS:
      picture = resizing_golden.levels(int(row["height"]), int(row["width"]))
      out = int(row["to_height"]), int(row["to_width"])
      got = _resized(picture, out, row["filter"] == "bicubic")
      if resizing_golden.checksum(got) != row["sha256"]:
        other.append(row)
    self.assertEmpty(other)

  @parameterized.parameters(0, 1)
  def test_pillows_one_axis_at_a_time(self, seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
      height, width, *out = rng.integers(1, 200, 4).tolist()
      picture = resizing_golden.levels(height, width)
      for name, method in resizing_golden.FILTERS.items():
        np.testing.assert_array_equal(
          _resized(picture, out, name == "bicubic"),
          _by_axis(picture, out, method),
          f"{height} x {width} to {out}, {name}",
        )

  def test_sums_that_are_a_half(self):
    picture = np.random.default_rng(0).integers(0, 2, (80, 120, 3), np.uint8)
    for name, method in resizing_golden.FILTERS.items():
      got = _resized(picture, (40, 60), name == "bicubic")
      want = _by_axis(picture, (40, 60), method)
      np.testing.assert_array_equal(got, want)

  @parameterized.parameters(1, 2, 4, 7)
  def test_any_number_of_channels(self, channels):
    picture = resizing_golden.levels(50, 70, channels)
    whole = _resized(picture, (31, 90), False)
    self.assertEqual(whole.shape, (31, 90, channels))
    for i in range(channels):
      one = _resized(picture[..., i], (31, 90), False)
      np.testing.assert_array_equal(one, whole[..., i])

  def test_a_part_is_a_crop_and_black_beyond(self):
    picture = resizing_golden.levels(60, 90)
    whole = _resized(picture, (40, 50), True)
    down = resizing.taps(60, 40, True).part(30, 44)
    across = resizing.taps(90, 50, True).part(-3, 20)
    want = np.zeros((14, 23, 3), np.uint8)
    want[:10, 3:] = whole[30:, :20]
    got = resizing.resized(picture, down, across)
    np.testing.assert_array_equal(got, want)

  def test_a_part_of_the_picture(self):
    picture = resizing_golden.levels(60, 90)
    down, across = resizing.taps(40, 20), resizing.taps(30, 20)
    np.testing.assert_array_equal(
      resizing.resized(picture, down.after(15), across.after(50)),
      resizing.resized(picture[15:55, 50:80], down, across),
    )

  def test_taps_of_a_larger_picture_are_refused(self):
    down, across = resizing.taps(60, 40), resizing.taps(91, 50)
    with self.assertRaisesRegex(ValueError, "larger picture than 90 x 60 px"):
      resizing.resized(resizing_golden.levels(60, 90), down, across)

  def test_as_long_as_before_is_as_before(self):
    picture = resizing_golden.levels(33, 44)
    for bicubic in (False, True):
      np.testing.assert_array_equal(
        _resized(picture, (33, 44), bicubic), picture
      )
