"""Columns of COCO's rows: what is legitimate passes, the row at fault is named."""

import numpy as np
from absl.testing import parameterized

from robust_tfds.coco import rle
from robust_tfds.coco import rows as coco_rows


def _rows(*values, key="id") -> coco_rows.Rows:
  return coco_rows.Rows.from_list([{key: v} for v in values], "Row")


class RowsTest(parameterized.TestCase):
  @parameterized.parameters((None,), ("abc",), (5,), ({"a": 1},))
  def test_no_list(self, rows):
    with self.assertRaisesRegex(ValueError, "Row: a list of objects expected"):
      coco_rows.Rows.from_list(rows, "Row")

  def test_no_objects(self):
    with self.assertRaisesRegex(ValueError, "Row 1 is no object: 3"):
      coco_rows.Rows.from_list([{}, 3], "Row")

  def test_ids(self):
    self.assertEqual(_rows(5, 0, 2**40).ids("id"), [5, 0, 2**40])
    self.assertEqual(
      _rows(5.0, np.int64(3), np.float32(2)).ids("id"), [5, 3, 2]
    )
    for bad in (1.5, -1, True, "1", None, float("nan"), 2**63, np.bool_(True)):
      with self.assertRaisesRegex(ValueError, "Row 1: id is a whole number"):
        _rows(1, bad).ids("id")
    with self.assertRaisesRegex(ValueError, "Row 0 has no 'n'; it has id"):
      _rows(1).ids("n")
    with self.assertRaisesRegex(ValueError, "Two row entries have the id 3"):
      _rows(3, 3.0).unique("id")
    with self.assertRaisesRegex(ValueError, "Row 1 is of image 9, .*ids: 3"):
      _rows(3, 9).known_ids("id", "image", [3])

  def test_flags(self):
    rows = _rows(0, 1, True, False, 1.0, np.int8(1), np.bool_(False))
    self.assertEqual(
      rows.flags("id"), [False, True, True, False, True, True, False]
    )
    self.assertEqual(rows.flags("absent"), [False] * 7)
    for bad in ("yes", 2, -1, 0.5, None, [1], float("nan")):
      with self.assertRaisesRegex(ValueError, "Row 1: id is 0 or 1, got"):
        _rows(0, bad).flags("id")

  def test_numbers(self):
    got = _rows(1, 0.5, np.float32(2), -3, 10**20).numbers("id", "what")
    self.assertEqual(got.tolist(), [1, 0.5, 2, -3, 1e20])
    for bad in (float("nan"), -float("inf"), "1", True, None, [1], 10**400):
      with self.assertRaisesRegex(ValueError, "Row 1 has the id .*; what"):
        _rows(0, bad).numbers("id", "what")

  def test_boxes(self):
    good = [[0, 1, 2, 3.5], (0, 0, 0, 0), np.arange(4.0), [-9, -9, 1, 1]]
    self.assertEqual(_rows(*good).boxes("id").shape, (4, 4))
    self.assertEqual(_rows().boxes("id").shape, (0, 4))
    for bad in (
      None, 5, "abcd", [1, 2, 3], [1, 2, 3, 4, 5], [1, 2, "3", 4], [1, 2, True, 4],
      [1, 2, float("nan"), 4], [1, 2, 1e30, 4], [1, 2, -1, 4], [1, 2, None, 4],
      [1, 2, 10**400, 4], [[1, 2], [3, 4]], {"x": 1, "y": 2, "w": 3, "h": 4},
    ):  # fmt: skip
      with self.assertRaisesRegex(
        ValueError, r"Row 1: id \[x, y, w, h\] expected"
      ):
        _rows([0, 0, 1, 1], bad).boxes("id")
    with self.assertRaisesRegex(ValueError, "Row 0: id .* x1 <= x2"):
      _rows([5, 0, 4, 1]).corners("id")

  def test_sizes_and_names(self):
    images = coco_rows.Rows.from_list([{"height": 3, "width": 4}, {}], "Image")
    self.assertEqual(images.sizes(), [(3, 4), None])
    with self.assertRaisesRegex(ValueError, "Image 1: height and width"):
      images.sizes(needed=True)
    with self.assertRaisesRegex(ValueError, "Row 0: id is a text, got 5"):
      _rows(5).names("id")
    with self.assertRaisesRegex(ValueError, "Two row entries have the id 'a'"):
      _rows("a", "a").names("id")

  def test_masks(self):
    mask = rle.encode(np.eye(3, dtype=bool))
    same = [
      {"size": [3, 3], "counts": mask.counts},
      {"size": (3, 3), "counts": mask.counts.encode()},
      {"size": [3, 3], "counts": rle.counts(mask).tolist()},
    ]
    got = _rows(*same).masks([(3, 3)] * 3, polygons=rle.from_polygons, key="id")
    self.assertEqual({m["counts"] for m in got}, {mask.counts})
    polygon = [[0, 0, 3, 0, 3, 3]]
    (drawn,) = _rows(polygon).masks([(3, 3)], polygons=lambda p, _: p, key="id")
    self.assertEqual(drawn, polygon)

  @parameterized.parameters(
    (None, "Row 1 has no id"), ([], "Row 1 has no id"), ({}, "Row 1 has no id"),
    ("abc", "Row 1: id: polygons or .size, counts. expected, got 'abc'"),
    ({"size": [3, 3]}, "compressed string, got None"),
    ({"size": [3, 3], "counts": ""}, "Row 1: id: Broken compressed mask"),
    ({"size": [3, 3], "counts": "8"}, "Row 1: id: .* add up to 9, got 1 runs"),
    ({"size": [3, 3], "counts": b"\xff"}, "Row 1: id: Broken compressed mask"),
    ({"size": [3, 3], "counts": [4]}, "add up to 9"),
    ({"size": [3, 4], "counts": "a2"}, "is .3, 4., the image's .3, 3."),
    ({"size": "ab", "counts": "a2"}, "a mask's size is .height, width."),
    ([[0, 0, 1e9, 0, 5, 5]], "Row 1: id: .* far outside the picture of 3 x 3"),
  )  # fmt: skip
  def test_bad_masks(self, value, message):
    good = {"size": [3, 3], "counts": rle.encode(np.eye(3)).counts}
    with self.assertRaisesRegex(ValueError, message):
      _rows(good, value).masks(
        [(3, 3)] * 2, polygons=rle.from_polygons, key="id"
      )
