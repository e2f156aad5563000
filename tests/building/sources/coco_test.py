"""COCO's instances: the categories, and a JSON of three objects as objects."""

import json

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.building.sources import coco
from robust_tfds.coco import rle


def _mask() -> np.ndarray:
  mask = np.zeros((8, 10), bool)
  mask[2:5, 3:9] = True
  return mask


def _row(number: int, image: int, category: int, **more) -> dict:
  runs = rle.counts(rle.encode(_mask())).tolist()
  return {
    "id": number,
    "image_id": image,
    "category_id": category,
    "bbox": [3, 2, 6, 3],
    "area": 18,
    "iscrowd": 0,
    "segmentation": {"size": [8, 10], "counts": runs},
    **more,
  }


def _content() -> dict:
  return {
    "images": [
      {"id": n, "file_name": f"{n}.jpg", "height": 8, "width": 10}
      for n in (9, 4)
    ],
    "annotations": [_row(7, 9, 90), _row(3, 9, 1, iscrowd=1)],
    "categories": [{"id": 1, "name": "person"}],
  }


def _parsed(content: dict) -> list[coco.Image]:
  return coco.parse(json.dumps(content).encode(), "x.json")


class CategoriesTest(absltest.TestCase):
  def test_eighty_of_ninety(self):
    categories = coco.categories()
    self.assertLen(categories, 80)
    missing = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
    self.assertEqual(set(range(1, 91)) - set(categories), missing)
    self.assertEqual(coco.labels()[90], 79)
    # docs/evidence/specs/detection.md section 4: a few names with their ids.
    for number, name in ((13, "stop sign"), (25, "giraffe"), (44, "bottle"),
                         (67, "dining table"), (84, "book")):  # fmt: skip
      self.assertEqual(categories[number], name)


class ParseTest(parameterized.TestCase):
  def test_images_by_id_with_their_objects_by_id(self):
    images = _parsed(_content())
    self.assertEqual([i.id for i in images], [4, 9])
    self.assertEqual(images[0].objects_in((8, 10)), [])
    crowd, brush = images[1].objects_in((8, 10))
    self.assertEqual((crowd.id, crowd.label, crowd.is_crowd), (3, 0, True))
    self.assertEqual((brush.id, brush.label, brush.is_crowd), (7, 79, False))
    self.assertEqual((brush.box, brush.area), ((3, 2, 6, 3), 18))
    np.testing.assert_array_equal(rle.decode(brush.mask), _mask())

  @parameterized.parameters(
    ({"images": []}, "x.json: images: the list is empty"),
    (
      {"annotations": [_row(7, 9, 1)] * 2},
      "Two annotation entries have the id 7",
    ),
    ({"categories": [{"id": 1, "name": "cat"}]}, "COCO's is 'person'"),
    ({"annotations": None}, "x.json: annotations: a list .* got None"),
  )
  def test_refuses_files(self, change, message):
    with self.assertRaisesRegex(ValueError, message):
      _parsed({**_content(), **change})

  @parameterized.parameters(
    ({"category_id": 12}, "9.jpg, annotation 7: category 12 is not one"),
    ({"bbox": [1, 2, 3]}, r"annotation 7: bbox .* got \[1, 2, 3\]"),
    ({"segmentation": {"size": [10, 8], "counts": [80]}}, "the image's .8, 10"),
  )
  def test_refuses_objects(self, change, message):
    rows = [_row(7, 9, 1, **change)]
    (_, image) = _parsed({**_content(), "annotations": rows})
    with self.assertRaisesRegex(ValueError, message):
      image.objects_in((8, 10))

  def test_refuses_a_picture_of_another_size(self):
    image = _parsed(_content())[0]
    with self.assertRaisesRegex(ValueError, "10 x 9 px, .* say 10 x 8"):
      image.objects_in((9, 10))
