"""Replicates of a cell's AP: the value is COCO's, blocks are of pictures."""

import numpy as np
from absl.testing import absltest

from eval.metrics import detection, resampling
from eval.metrics.detection import checks
from eval.tasks.detections import average_precision
from eval.tasks.detections.detected_columns import Corners
from tests import shared_data


def _stored(name):
  return shared_data.golden_json("detection", "coco", "typical_200x10", name)


def _voc_rows(rows, label):
  """COCO's boxes as corners of inclusive pixels."""
  for row in rows:
    x, y, width, height = row["bbox"]
    corners = [x, y, x + width - 1, y + height - 1]
    facts = {"image": row["image_id"], "label": label[row["category_id"]]}
    yield {"bbox": corners, "score": row.get("score", 0.0), **facts}


class AveragePrecisionTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.results = _stored("dt_bbox.json.gz")
    cls.truth = checks.ground_truth(_stored("gt.json.gz"))
    cls.detected = checks.detections(cls.truth, cls.results, "bbox")
    cls.ids = np.array([i["id"] for i in cls.truth["images"]])[::-1]
    cls.groups = np.array([f"city{i % 40}" for i in cls.ids])
    cls.draws = resampling.Draws.from_groups(cls.groups, blocks=7)
    cls.pictures = average_precision.Pictures.of(cls.ids, cls.groups, cls.draws)

  def test_a_group_is_left_out_whole(self):
    got = average_precision.coco(
      "bbox", self.detected, self.truth, self.pictures
    )
    blocks = self.draws.blocks_of(self.groups)
    one = got["bbox/AP"]
    self.assertIsNone(one.draws)
    self.assertEqual((one.blocks, one.effective_groups), (7, 40))
    self.assertAlmostEqual(
      float(one.value), detection.coco_ap(self.truth, self.results)["AP"]
    )
    rest = self.ids[blocks != 3].tolist()
    expected = detection.coco_ap(self.truth, self.results, image_ids=rest)
    self.assertAlmostEqual(one.jackknife[3], expected["AP"])
    self.assertAlmostEqual(
      got["bbox/ARs"].jackknife[3], expected["ARs"], delta=1e-12
    )

  def test_numbers_without_objects_are_not_there(self):
    truth = {**_stored("gt.json.gz"), "annotations": []}
    got = average_precision.coco(
      "bbox", self.detected, checks.ground_truth(truth), self.pictures
    )
    self.assertEqual(got, {})

  def test_voc(self):
    label = {c["id"]: i for i, c in enumerate(self.truth["categories"])}
    box = self.detected.bbox.copy()
    box[:, 2:] += box[:, :2]
    boxes = Corners.of(
      np.array(self.detected.image_id),
      np.array([label[c] for c in self.detected.category_id]),
      box,
      self.detected.score,
    )
    one = average_precision.voc_ap50(boxes, self.truth, self.pictures)
    expected = detection.voc_ap50(
      list(_voc_rows(self.truth["annotations"], label)),
      list(_voc_rows(self.results, label)),
      list(range(len(label))),
    )
    self.assertAlmostEqual(float(one["bbox/AP50"].value), expected["mean"])
    self.assertEqual(one["bbox/AP50"].blocks, 7)
