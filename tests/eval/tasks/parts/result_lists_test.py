"""Results lists as columns: exact, in their order, checked."""

import json

import numpy as np
from absl.testing import parameterized

from eval.cells.files import predictions
from eval.metrics import detection
from eval.metrics.detection import coco
from eval.tasks.detections import result_lists
from tests import shared_data

_LISTS = (
  ("typical_200x10", "bbox"),
  ("typical_200x10", "segm"),
  ("ties_200x10", "bbox"),
  ("all_ties", "bbox"),
)


def _stored(case, name):
  return shared_data.golden_json("detection", "coco", case, name)


def _one(**changes):
  row = {"image_id": 1, "category_id": 2, "score": 0.5, "bbox": [1, 2, 3, 4]}
  row |= changes
  return [{k: v for k, v in row.items() if v is not None}]


_TRUTH = {
  "images": [{"id": 1, "width": 9, "height": 9}],
  "categories": [{"id": 2, "name": "cat"}],
  "annotations": [],
}


class ResultListsTest(parameterized.TestCase):
  @parameterized.parameters(*_LISTS)
  def test_the_list_again_to_the_last_bit(self, case, kind):
    truth = _stored(case, "gt.json.gz")
    results = _stored(case, f"dt_{kind}.json.gz")
    columns = predictions.sort(result_lists.columns(results, truth))
    self.assertEqual(result_lists.kinds(columns, {}), [kind])
    found = result_lists.detections(kind, columns, truth)
    again, given = (
      detection.coco_ap(truth, list_, kind, backend=coco.fastest())
      for list_ in (found, results)
    )
    self.assertEqual(again, given)

  def test_columns(self):
    rows = _one(score=1 / 3) + _one(bbox=[0.1, 0.2, 1 / 3, 1])
    columns = result_lists.columns(rows, _TRUTH)
    self.assertTrue(result_lists.is_one(columns))
    self.assertEqual(columns["score"].tolist(), [1 / 3, 0.5])
    self.assertEqual(columns["bbox"][1].tolist(), [0.1, 0.2, 1 / 3, 1])
    self.assertEqual(columns["frame"].tolist(), [0, 1])
    self.assertEqual(columns["score"].dtype, np.float64)
    empty = result_lists.columns([], _TRUTH)
    self.assertEqual(empty["bbox"].shape, (0, 4))

  @parameterized.parameters(
    ({}, "list expected, got {}"),
    ([1], "Detection 0 is no object"),
    (_one(bbox=None), "neither a bbox nor a segmentation"),
    (_one() + _one(bbox=None), "Detection 1 has no 'bbox'"),
    (_one(image_id=7), "Detection 0 is of image 7"),
    (_one(category_id=7), "Detection 0 is of category 7"),
    (_one(score=float("nan")), "scores must be finite"),
    (_one(score=None), "Detection 0 has no 'score'"),
    (_one(bbox=[1, 2, 3]), r"bbox \[x, y, w, h\] expected"),
    (_one(image_id=True), "image_id is a whole number"),
  )
  def test_refusals(self, results, message):
    with self.assertRaisesRegex(ValueError, message):
      result_lists.columns(json.loads(json.dumps(results)), _TRUTH)

  def test_voc_needs_boxes(self):
    mask = {"size": [9, 9], "counts": "a2"}
    columns = result_lists.columns(_one(bbox=None, segmentation=mask), _TRUTH)
    with self.assertRaisesRegex(ValueError, "needs boxes"):
      result_lists.corners(columns, _TRUTH)
