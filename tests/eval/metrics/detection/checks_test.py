"""What COCO's tools take without a word is refused and named."""

import math

import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics.detection import checks

_ROW = [5, 0, 0, 1, 1, 0.5, 9]
_DETECTION = {
  "image_id": 5,
  "category_id": 9,
  "score": 0.5,
  "bbox": [0, 0, 1, 1],
}


def _truth():
  return {
    "images": [{"id": 5, "height": 4, "width": 6}],
    "categories": [{"id": 9, "name": "cat"}],
    "annotations": [
      {"id": 0, "image_id": 5, "category_id": 9, "bbox": [0, 1, 2, 3]}
    ],
  }


class GroundTruthTest(absltest.TestCase):
  def test_numbered_from_one_with_defaults(self):
    truth = _truth()
    (got,) = checks.ground_truth(truth, "bbox")["annotations"]
    self.assertEqual((got["id"], got["area"], got["iscrowd"]), (1, 6.0, 0))
    self.assertEqual(truth, _truth())  # a copy was changed, not the argument


class DetectionsTest(absltest.TestCase):
  def test_only_what_is_compared_is_passed_on(self):
    got = checks.detections(_truth(), [{**_DETECTION, "more": 1}], "bbox")
    self.assertEqual(got.rows().tolist(), [[5, 0, 0, 1, 1, 0.5, 9]])
    far = {**_truth(), "annotations": [], "images": [{"id": 2**60}]}
    distant = {**_DETECTION, "image_id": 2**60}
    (row,) = checks.detections(far, [distant], "bbox").rows()
    self.assertEqual(row, distant)

  def test_a_key_that_is_not_there(self):
    row = {k: v for k, v in _DETECTION.items() if k != "score"}
    with self.assertRaisesRegex(ValueError, "Detection 0 has no 'score'"):
      checks.detections(_truth(), [row], "bbox")


class ArrayTest(parameterized.TestCase):
  def test_rows(self):
    got = checks.detection_array(_truth(), np.array([_ROW]))
    np.testing.assert_array_equal(got, [_ROW])

  @parameterized.parameters((0, 4), (3, -1), (5, math.nan), (6, 1))
  def test_refusals(self, column, value):
    rows = np.array([_ROW, _ROW])
    rows[1, column] = value
    with self.assertRaisesRegex(ValueError, "^Detection 1, "):
      checks.detection_array(_truth(), rows)

  def test_known_images(self):
    self.assertEqual(checks.known_images(_truth(), [5, 5]), [5])
