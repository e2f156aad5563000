"""A cell's columns as detections of COCO's rules and VOC's."""

import numpy as np
from absl.testing import absltest

from eval.metrics import resampling
from eval.tasks import base, detection
from robust_tfds import errors
from robust_tfds.coco import rle


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
    "group_id": np.array(["7", "9"]),
    "boxes": boxes,
    "classes": np.array([[labels[0], -1], [labels[1], -1]]),
    "scores": np.array([[0.9, 0.0], [0.8, 0.0]], np.float32),
    "masks": np.array([a["segmentation"]["counts"] for a in annotations]),
  }
  return {**columns, **changes}


def _numbers(columns, dataset="coco_c"):
  task = detection.Detection(base.Setting(dataset))
  draws = resampling.Draws.from_groups(np.array(["7", "9"]))
  return {
    metric: float(number.value)
    for metric, number in task.replicates(columns, draws, _truth()).items()
  }


class CocoTest(absltest.TestCase):
  def test_exact_hits(self):
    got = _numbers(_columns())
    self.assertLen(got, 2 * 8)  # all objects are small
    for kind in ("bbox", "segm"):
      self.assertAlmostEqual(got[f"{kind}/AP"], 1.0)

  def test_labels_are_places_among_the_categories(self):
    got = _numbers(_columns(labels=(0, 0)))
    self.assertAlmostEqual(got["bbox/AP"], 0.5)

  def test_refusals(self):
    boxes, nowhere = _columns()["boxes"], _columns()["boxes"]
    boxes[1, 0, 2] = np.nan
    nowhere[0, 0, 0] = -np.inf
    for dataset in ("coco_c", "pascal_c"):
      for columns, message in (
        (_columns((0, 2)), "label 2; .* 2 classes"),
        (_columns(boxes=boxes), "every number must be finite"),
        (_columns(boxes=nowhere), "every number must be finite"),
        (
          _columns(image_id=np.array([7, 8])),
          "the ground truth has no image 8",
        ),
      ):
        with self.assertRaisesRegex(errors.UserError, message):
          _numbers(columns, dataset)

  def test_nothing_detected(self):
    got = _numbers(_columns(labels=(-1, -1)))
    self.assertEqual(got["bbox/AP"], 0.0)


class VocTest(absltest.TestCase):
  def test_exact_hits(self):
    got = _numbers(_columns(), "pascal_c")
    self.assertEqual(list(got), ["bbox/AP50"])
    self.assertAlmostEqual(got["bbox/AP50"], 1.0)

  def test_one_class_is_missed(self):
    boxes = _columns()["boxes"]
    boxes[1] += 20
    got = _numbers(_columns(boxes=boxes), "pascal_c")
    self.assertAlmostEqual(got["bbox/AP50"], 0.5)

  def test_only_pictures_that_were_shown_count(self):
    columns = {k: v[:1] for k, v in _columns().items()}
    got = _numbers(columns, "pascal_c")
    self.assertAlmostEqual(got["bbox/AP50"], 1.0)
