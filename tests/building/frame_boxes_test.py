"""Boxes of frame sets as COCO rows: pixels, anchors, frames that are apart."""

import io

import numpy as np
from absl.testing import absltest
from PIL import Image

from robust_tfds.building import frame_boxes


def _frame(group: str, offset: int, reviewed: bool = True, boxes=()) -> dict:
  name = f"{group}{offset or ''}"
  return {
    "example_id": name.encode(),
    "group_id": group,
    "frame": offset,
    "reviewed": reviewed,
    "image": np.zeros((10, 20, 3), np.uint8),
    "objects": {"bbox": list(boxes), "label": [4] * len(boxes)},
  }


class FrameBoxesTest(absltest.TestCase):
  def test_rows(self):
    box = (0.1, 0.25, 0.5, 1.0)
    rows = frame_boxes.coco(
      [
        _frame("b", 0),
        _frame("a", 2),
        _frame("a", 0, boxes=[box, box]),
        _frame("a", -1, boxes=[box]),
        _frame("a", 7, reviewed=False),
      ]
    )
    ids = rows.image_id
    self.assertEqual(ids, {"a": 1, "a-1": 2, "a2": 3, "a7": 4, "b": 5})
    self.assertEqual(
      rows.anchors,
      [
        {"anchor": 1, "candidates": [2, 1, 3]},
        {"anchor": 5, "candidates": [5]},
      ],
    )
    self.assertEqual(rows.frame_index, {1: 0, 2: -1, 3: 2, 4: -1000, 5: 1000})
    self.assertEqual([row["id"] for row in rows.gt], [1, 2, 3])
    self.assertEqual([row["image_id"] for row in rows.gt], [1, 1, 2])
    row = rows.gt[0]
    np.testing.assert_allclose(row["bbox"], [5, 1, 15, 4])
    self.assertAlmostEqual(row["area"], 60)
    self.assertEqual((row["category_id"], row["iscrowd"]), (4, 0))

  def test_ground_truth(self):
    box = (0.1, 0.25, 0.5, 1.0)
    encoded = io.BytesIO()
    Image.new("RGB", (20, 10)).save(encoded, "PNG")
    stored = {**_frame("a", 0, boxes=[box]), "image": encoded.getvalue()}
    truth = frame_boxes.truth([_frame("a", 2), stored], list("vwxyz"))
    first, second = truth["images"]
    self.assertEqual((first["height"], first["width"]), (10, 20))
    self.assertEqual((second["group_id"], second["frame"]), ("a", 2))
    self.assertEqual(truth["annotations"][0]["category_id"], 5)  # label + 1
    sets = frame_boxes.Sets.of(truth["images"])
    self.assertEqual((sets.candidates, sets.frame), ({1: [1, 2]}, {1: 0, 2: 2}))
    with self.assertRaisesRegex(ValueError, "No frame has a box"):
      frame_boxes.truth([_frame("a", 0)], list("vwxyz"))

  def test_refusals(self):
    with self.assertRaisesRegex(ValueError, "No frames"):
      frame_boxes.coco([])
    crop = _frame("a", 0)
    del crop["objects"]
    with self.assertRaisesRegex(ValueError, "crops"):
      frame_boxes.coco([crop])
    with self.assertRaisesRegex(ValueError, "'b' is not among"):
      frame_boxes.coco([_frame("a", 0), _frame("b", 1)])
