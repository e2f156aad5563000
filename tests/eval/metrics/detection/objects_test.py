"""Objects of a ground truth as columns."""

import numpy as np
from absl.testing import absltest

from eval.metrics.detection import checks, objects
from robust_tfds.coco import rle


def _truth():
  square = [2.0, 2.0, 8.0, 2.0, 8.0, 8.0, 2.0, 8.0]
  return checks.ground_truth(
    {
      "images": [{"id": i, "width": 20, "height": 10} for i in (9, 4, 7)],
      "categories": [{"id": 30, "name": "a"}, {"id": 3, "name": "b"}],
      "annotations": [
        {
          "id": number,
          "image_id": image,
          "category_id": 3,
          "bbox": [2, 2, 6, 6],
          "area": 36,
          "iscrowd": number == 1,
          "segmentation": [square],
        }
        for number, image in enumerate((7, 9, 4))
      ],
    }
  )


class ObjectsTest(absltest.TestCase):
  def test_of_some_pictures(self):
    got = objects.truth_objects(_truth(), np.array([7, 9]))
    self.assertEqual(got.image.tolist(), [0, 1])
    self.assertEqual(got.label.tolist(), [1, 1])
    self.assertEqual(got.crowd.tolist(), [False, True])
    self.assertEqual(got.area.tolist(), [36, 36])
    self.assertIsNone(got.masks)

  def test_of_no_picture(self):
    got = objects.truth_objects(_truth(), np.zeros(0, np.int64))
    self.assertEqual((got.image.shape, got.box.shape), ((0,), (0, 4)))

  def test_masks_are_drawn_once(self):
    truth = _truth()
    got = objects.truth_objects(truth, np.array([4, 7, 9]), "segm")
    self.assertEqual(got.image.tolist(), [1, 2, 0])
    mask = rle.Mask(got.masks[0]["counts"], (10, 20))
    self.assertEqual(rle.area(mask), 36)
    again = objects.truth_objects(truth, np.array([4]), "segm")
    self.assertIs(again.masks[0], got.masks[2])
