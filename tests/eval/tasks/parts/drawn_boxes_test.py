"""Hits, misses and false alarms of a picture, and the score they are shown from."""

import numpy as np
from absl.testing import absltest

from eval.metrics.detection import checks
from eval.tasks.detections import drawn_boxes
from robust_tfds.coco import rle

_TRUTH = {
  "images": [{"id": 4, "width": 50, "height": 40}],
  "categories": [{"id": 1, "name": "cat"}, {"id": 7, "name": "dog"}],
  "annotations": [
    {"id": 1, "image_id": 4, "category_id": 7, "bbox": [5.0, 5, 20, 20]},
    {"id": 2, "image_id": 4, "category_id": 1, "bbox": [30.0, 5, 9, 9]},
    {
      "id": 3,
      "image_id": 4,
      "category_id": 1,
      "bbox": [0, 0, 50, 40],
      "iscrowd": 1,
    },
  ],
}


def _columns(**more):
  boxes = [[5, 5, 25, 25], [5, 5, 25, 24], [0, 30, 9, 39], [0, 0, 0, 0]]
  return {
    "example_id": np.array(["a.png"]),
    "image_id": np.array([4]),
    "boxes": np.array([boxes], np.float32),
    "scores": np.array([[0.9, 0.8, 0.2, 0]], np.float32),
    "classes": np.array([[1, 1, 0, -1]], np.int16),
    **more,
  }


def _drawn(least=0.0, **more):
  return drawn_boxes.of_picture("a.png", _columns(**more), _TRUTH, least)


class DrawnBoxesTest(absltest.TestCase):
  def test_an_object_is_hit_once(self):
    got = [(o.kind, o.text) for o in _drawn()]
    self.assertEqual(
      got,
      [
        ("hit", "dog 0.90"),
        ("wrong", "dog 0.80"),
        ("wrong", "cat 0.20"),
        ("missed", "cat"),
      ],
    )
    self.assertEqual(_drawn()[-1].box, (30, 5, 39, 14))

  def test_detections_below_the_limit_are_not_shown(self):
    kinds = [o.kind for o in _drawn(0.85)]
    self.assertEqual(kinds, ["hit", "missed"])

  def test_masks_are_cut_to_their_pixels(self):
    pixels = np.zeros((40, 50), bool)
    pixels[7:10, 6:20] = True
    text = rle.encode(pixels).counts
    masks = np.array([" ".join([text] * 3)])
    one = _drawn(masks=masks)[0]
    self.assertEqual(one.corner, (6, 7))
    self.assertEqual(one.mask.shape, (3, 14))
    self.assertTrue(one.mask.all())

  def test_the_score_of_the_best_f1(self):
    truth = checks.ground_truth(_TRUTH)
    least, f1 = drawn_boxes.best_score(_columns(), truth)
    self.assertAlmostEqual(least, 0.9)
    self.assertAlmostEqual(f1, 2 / 3)
