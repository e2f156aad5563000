"""Detectors that are functions of one picture, on the host."""

import numpy as np
from absl.testing import parameterized

from models import adapters
from models.detection.detector import DetectorSpec
from robust_tfds import errors
from robust_tfds.coco import rle

IMAGES = np.zeros((4, 16, 24, 3), np.uint8)
SIZES = np.array([[16, 24], [10, 24], [16, 9], [3, 4]], np.int32)


def _whole(picture):
  """The picture's own size as a box; nothing where it is tiny."""
  h, w = picture.shape[:2]
  count = 2 if h > 4 else 0
  return {
    "boxes": [[0, 0, w, h], [0, 0, 1, 1]][:count],
    "scores": [0.25, 0.5][:count],
    "classes": [1, 0][:count],
  }


def _runs(mask):
  coded = rle.encode(mask)
  return {"size": list(coded.size), "counts": coded.counts.encode()}


def _model(function=_whole, detections=3):
  spec = DetectorSpec(num_classes=2, short_px=0, detections=detections)
  return adapters.get("on_host")(function, spec, name="mine")


class ByPictureTest(parameterized.TestCase):
  def test_pictures_of_their_own_sizes(self):
    got = _model().apply(None, IMAGES, SIZES)
    np.testing.assert_array_equal(
      got["scores"], [[0.5, 0.25, 0]] * 3 + [[0, 0, 0]]
    )
    np.testing.assert_array_equal(got["classes"][:3], [[0, 1, 0]] * 3)
    np.testing.assert_array_equal(got["valid"].sum(axis=1), [2, 2, 2, 0])
    np.testing.assert_array_equal(
      got["boxes"][:3, 1], [[0, 0, 24, 16], [0, 0, 24, 10], [0, 0, 9, 16]]
    )
    self.assertEqual({type(x) for x in got.values()}, {np.ndarray})
    whole = _model().apply(None, IMAGES)["boxes"][:, 1]
    np.testing.assert_array_equal(whole, [[0, 0, 24, 16]] * 4)

  def test_keypoints_are_said(self):
    model = _model(lambda picture: {**_whole(picture), "keypoints": []})
    with self.assertWarnsRegex(UserWarning, "mine gives keypoints, which are"):
      got = model.apply(None, IMAGES, SIZES)
    self.assertNotIn("keypoints", got)

  def test_the_best_are_taken(self):
    got = _model(detections=1).apply(None, IMAGES, SIZES)
    np.testing.assert_array_equal(got["scores"][:, 0], [0.5, 0.5, 0.5, 0])

  @parameterized.parameters(bool, np.float32, "runs")
  def test_masks(self, kind):
    def function(picture):
      answer = _whole(picture)
      masks = np.zeros((len(answer["boxes"]), *picture.shape[:2]), bool)
      masks[:1, 2:, 3:5] = True
      if kind != "runs":
        return {**answer, "masks": masks.astype(kind)}
      return {**answer, "masks": [_runs(mask) for mask in masks]}

    got = _model(function).apply(None, IMAGES, SIZES)["masks"]
    self.assertEqual(got.shape, (4, 3))
    self.assertEqual(got[3].tolist(), ["", "", ""])
    for texts, (high, wide) in zip(got[:3], SIZES[:3].tolist()):
      first, second = (rle.decode(rle.Mask(t, (high, wide))) for t in texts[:2])
      self.assertEqual(first.sum(), 0)  # of the better score
      np.testing.assert_array_equal(
        np.argwhere(second).min(0).tolist() + [second.sum()],
        [2, 3, 2 * (high - 2)],
      )

  @parameterized.parameters(
    (np.zeros((2, 5, 5)), r"masks of float64 \[2, 5, 5\] .* \[2, 16, 24\]"),
    ([{"size": [16, 24], "counts": "01"}] * 2, "mask 0 that is broken"),
    ([{"size": [5, 5], "counts": "5"}] * 2, r"expected size \[16, 24\]"),
    ([{"size": [16, 24], "counts": [384]}] * 2, "compressed counts"),
  )
  def test_masks_that_are_none(self, masks, words):
    model = _model(lambda picture: {**_whole(picture), "masks": masks})
    with self.assertRaisesRegex(errors.UserError, f"^mine gave.* {words}"):
      model.apply(None, IMAGES[:1], SIZES[:1])

  def test_masks_of_some_pictures(self):
    def function(picture):
      masks = {"masks": []} if picture.shape[0] == 3 else {}
      return {**_whole(picture), **masks}

    with self.assertRaisesRegex(errors.UserError, "gave masks for 1 of 4 pict"):
      _model(function).apply(None, IMAGES, SIZES)

  @parameterized.parameters(
    ({"classes": [1, 2]}, "^mine gave classes 1..2, expected 0..1"),
    ({"classes": [0.5, 1]}, "^mine gave classes 0.5 for a .* whole numbers"),
    ({"scores": [0.5]}, "^mine gave 2 boxes, 1 scores and 2 classes"),
    ({"scores": [np.nan, 1]}, "^mine gave scores for a picture with NaN"),
    ({"boxes": [[1, 2], [3]]}, "^mine gave boxes that are no array"),
    ({"boxes": np.zeros((2, 3))}, r"^mine gave boxes of float64 \[2, 3\]"),
  )
  def test_refused_answers(self, change, words):
    model = _model(lambda picture: {**_whole(picture), **change})
    with self.assertRaisesRegex(errors.UserError, words):
      model.apply(None, IMAGES[:1], SIZES[:1])

  @parameterized.parameters(
    (
      lambda p: [1],
      "^mine answered with a list for a picture, expected a dict",
    ),
    (lambda p: {"boxes": []}, "^mine gave boxes for a picture, without scores"),
  )
  def test_answers_that_are_none(self, function, words):
    with self.assertRaisesRegex(errors.UserError, words):
      _model(function).apply(None, IMAGES, SIZES)

  @parameterized.parameters(
    (IMAGES.astype(np.int16), SIZES, r"^mine got int16 \[4, 16, 24, 3\]"),
    (IMAGES[0], SIZES, "^mine got a batch of shape"),
    (IMAGES, SIZES[:2], r"^mine got sizes int32 \[2, 2\], expected"),
    (IMAGES, SIZES / 2, r"^mine got sizes float64"),
  )
  def test_refused_batches(self, images, sizes, words):
    with self.assertRaisesRegex(errors.UserError, words):
      _model().apply(None, images, sizes)
