"""Training pictures are cropped by their keys."""

import numpy as np
from absl.testing import parameterized
from PIL import Image

from models.training.data import crops
from robust_tfds import errors
from tests import tiny_files


def _keys(count):
  return np.random.default_rng(0).integers(0, 2**32, (count, 2), np.uint32)


class CropsTest(parameterized.TestCase):
  def test_parts_are_of_torchvisions_areas_and_shapes(self):
    boxes = np.array([crops.resized_box(500, 375, k) for k in _keys(4000)])
    left, top, right, bottom = boxes.T
    self.assertTrue(((left >= 0) & (right <= 500)).all())
    self.assertTrue(((top >= 0) & (bottom <= 375)).all())
    width, height = right - left, bottom - top
    ratio = np.log(width / height)
    self.assertLessEqual(np.abs(ratio).max(), np.log(4 / 3) + 0.02)
    area = width * height / (500 * 375)
    self.assertAlmostEqual(area.min(), 0.08, delta=0.005)
    # Of 10^5 draws of torchvision 0.28's RandomResizedCrop.get_params: mean and
    # deviation of the area .4338, .2171; mean of the shape's logarithm .031.
    self.assertAlmostEqual(area.mean(), 0.4338, delta=0.014)
    self.assertAlmostEqual(area.std(), 0.2171, delta=0.01)
    self.assertAlmostEqual(ratio.mean(), 0.031, delta=0.011)
    # Places are uniform in what is left.
    self.assertAlmostEqual((left / (501 - width)).mean(), 0.5, delta=0.02)

  @parameterized.parameters(
    (1000, 10, (493, 0, 506, 10)), (10, 1000, (0, 493, 10, 506))
  )
  def test_pictures_that_no_part_fits_show_their_centre(self, w, h, box):
    self.assertEqual(crops.resized_box(w, h, _keys(1)[0]), box)

  @parameterized.parameters("random_resized24", "random_resized24_bicubic")
  def test_a_part_is_resized_as_pillow_does(self, rule):
    pixels, key = tiny_files.noise(60, 91), _keys(1)[0]
    kind = getattr(Image, "BICUBIC" if "bicubic" in rule else "BILINEAR")
    box = crops.resized_box(91, 60, key)
    part = Image.fromarray(pixels).crop(box).resize((24, 24), kind)
    np.testing.assert_array_equal(
      crops.apply(pixels, rule, key), np.asarray(part)
    )

  def test_the_shorter_side_then_anywhere(self):
    pixels = tiny_files.noise(60, 91)
    whole = np.asarray(Image.fromarray(pixels).resize((60, 40), Image.BILINEAR))
    lefts = set()
    for key in _keys(200):
      left, top, right, bottom = crops.placed_box(60, 40, 32, key)
      lefts.add(left)
      cut = crops.apply(pixels, "short40_random32", key)
      np.testing.assert_array_equal(cut, whole[top:bottom, left:right])
    self.assertEqual(lefts, set(range(29)))

  def test_one_draw_for_all_frames(self):
    frames, key = np.stack([tiny_files.noise(40, 50)] * 3), _keys(1)[0]
    clip = crops.apply(frames, "random_resized16", key)
    self.assertEqual(clip.shape, (3, 16, 16, 3))
    np.testing.assert_array_equal(clip[0], clip[2])

  @parameterized.parameters(
    *("random_resized16", "short32_random24_bicubic", "short32_crop24"),
    *("squash20", "whole"),
  )
  def test_frames_are_cropped_as_each_alone(self, rule):
    frames = np.stack([tiny_files.noise(40, 50, seed=i) for i in range(11)])
    for count, key in zip((1, 8, 11), _keys(3)):
      clip = crops.apply(frames[:count], rule, key)
      alone = [crops.apply(frame, rule, key) for frame in frames[:count]]
      np.testing.assert_array_equal(clip, np.stack(alone))

  @parameterized.parameters(
    ("random_resized9000", "sizes must be from 1"),
    ("short32_random40", "crop does not lie inside"),
    ("random32", "Unknown geometry"),
  )
  def test_refused(self, rule, words):
    with self.assertRaisesRegex(errors.UserError, words):
      crops.shape(rule)

  @parameterized.parameters(
    ("random_resized224", 224), ("short256_random224", 224), ("whole", None)
  )
  def test_shape(self, rule, side):
    self.assertEqual(crops.shape(rule), (side, side, 3))
