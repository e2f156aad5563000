"""A cell's columns as COCO's numbers and VOC's AP50."""

import numpy as np
from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.datasets import rle
from robust_tfds.eval.tasks.parts import average_precision


def _truth():
  """Two images; ids of categories are no labels."""
  return {
    "images": [{"id": i, "height": 40, "width": 50} for i in (7, 9)],
    "categories": [{"id": 3, "name": "cat"}, {"id": 30, "name": "dog"}],
    "annotations": [
      _annotation(1, 7, 3, [2, 3, 20, 10]),
      _annotation(2, 9, 30, [5, 5, 30, 30]),
    ],
  }


def _annotation(number, image, category, box):
  x, y, width, height = box
  mask = np.zeros((40, 50), bool)
  mask[y : y + height, x : x + width] = True
  return {
    "id": number,
    "image_id": image,
    "category_id": category,
    "bbox": box,
    "area": width * height,
    "iscrowd": 0,
    "segmentation": {"size": [40, 50], "counts": rle.encode(mask).counts},
  }


def _columns(labels=(0, 1), **changes):
  """Detections that hit both objects exactly; borders, and padding."""
  annotations = _truth()["annotations"]
  boxes = np.zeros((2, 2, 4), np.float32)
  boxes[:, 0] = [[2, 3, 22, 13], [5, 5, 35, 35]]
  columns = {
    "image_id": np.array([7, 9]),
    "boxes": boxes,
    "classes": np.array([[labels[0], -1], [labels[1], -1]]),
    "scores": np.array([[0.9, 0.0], [0.8, 0.0]], np.float32),
    "masks": np.array([a["segmentation"]["counts"] for a in annotations]),
  }
  return {**columns, **changes}


class CocoTest(absltest.TestCase):
  def test_exact_hits(self):
    for kind in ("bbox", "segm"):
      got = average_precision.coco_numbers(kind, _columns(), _truth())
      self.assertAlmostEqual(got[f"{kind}/AP"], 1.0)
      self.assertLen(got, 12)

  def test_labels_are_places_among_the_categories(self):
    columns = _columns(labels=(0, 0))
    got = average_precision.coco_numbers("bbox", columns, _truth())
    self.assertAlmostEqual(got["bbox/AP"], 0.5)

  def test_a_label_beyond_the_categories(self):
    with self.assertRaisesRegex(errors.UserError, "label 2; .* 2 classes"):
      average_precision.coco_numbers("bbox", _columns((0, 2)), _truth())

  def test_nothing_detected(self):
    columns = _columns(labels=(-1, -1))
    got = average_precision.coco_numbers("bbox", columns, _truth())
    self.assertEqual(got["bbox/AP"], 0.0)


def _voc(columns, truth, shown=(7, 9)):
  detected = average_precision.corners(columns, truth)
  return average_precision.voc_ap50(detected, truth, shown)


class VocTest(absltest.TestCase):
  def test_exact_hits(self):
    self.assertAlmostEqual(_voc(_columns(), _truth()), 1.0)

  def test_one_class_is_missed(self):
    boxes = _columns()["boxes"]
    boxes[1] += 20
    self.assertAlmostEqual(_voc(_columns(boxes=boxes), _truth()), 0.5)

  def test_only_images_that_were_shown_count(self):
    columns = {k: v[:1] for k, v in _columns().items()}
    truth = _truth()
    truth["annotations"].append(_annotation(3, 9, 3, [0, 0, 9, 9]))
    self.assertGreater(
      _voc(columns, truth, shown=(7,)), _voc(columns, truth, shown=(7, 9))
    )


if __name__ == "__main__":
  absltest.main()
