"""Cityscapes' folders as sources: names, order, maps before polygons."""

import json
import pathlib

import numpy as np
from absl.testing import absltest

from robust_tfds.building.sources import cityscapes
from tests import tiny_files

_A = "frankfurt/frankfurt_000001_000294"
_B = "lindau/lindau_000000_000019"


class CityscapesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    car = [[0, 0], [2, 0], [2, 2], [0, 2]]
    drawn = {
      "imgWidth": 6,
      "imgHeight": 4,
      "objects": [{"label": "cargroup", "polygon": car}],
    }
    for stem, level in ((_A, 5), (_B, 9)):
      picture = np.full((4, 6, 3), level, np.uint8)
      self._put(
        f"leftImg8bit/val/{stem}_leftImg8bit.png", tiny_files.encoded(picture)
      )
      polygons = json.dumps(drawn).encode()
      self._put(f"gtFine/val/{stem}_gtFine_polygons.json", polygons)
    values = np.full((4, 6), 26000, np.uint16)
    self._put(
      f"gtFine/val/{_A}_gtFine_instanceIds.png", tiny_files.encoded(values)
    )

  def _put(self, name, data):
    tiny_files.put(self.root, {name: data})

  def test_in_the_order_of_the_names(self):
    one, two = cityscapes.sources(self.root, drop_groups=False)
    self.assertEqual(one.example_id, f"{_A}_leftImg8bit.png".split("/")[1])
    self.assertEqual((one.image_id, two.image_id), (1, 2))
    self.assertEqual((two.group_id, two.frame), ("lindau_000000", 19))
    np.testing.assert_array_equal(one.picture.read(), np.full((4, 6, 3), 5))
    (alone,) = one.annotation.objects_in((4, 6))
    self.assertEqual((alone.area, alone.is_crowd), (24, False))
    (group,) = two.annotation.objects_in((4, 6))
    self.assertEqual((group.area, group.is_crowd), (9, True))

  def test_groups_may_be_dropped(self):
    one, two = cityscapes.sources(self.root, drop_groups=True)
    self.assertLen(one.annotation.objects_in((4, 6)), 1)
    self.assertEmpty(two.annotation.objects_in((4, 6)))

  def test_refuses_another_size(self):
    for example in cityscapes.sources(self.root, drop_groups=False):
      with self.assertRaisesRegex(ValueError, "6 x 4 px, its picture 4 x 6"):
        example.annotation.objects_in((6, 4))

  def test_refuses_other_names(self):
    for name in ("a.png", "munster_000000_000019_leftImg8bit.png"):
      self._put(f"leftImg8bit/val/lindau/{name}", b"x")
      with self.assertRaisesRegex(ValueError, f"lindau/{name} is not named <c"):
        cityscapes.sources(self.root, drop_groups=False)
      (self.root / "leftImg8bit/val/lindau" / name).unlink()

  def test_pictures_and_annotations_belong_together(self):
    polygons = self.root / f"gtFine/val/{_B}_gtFine_polygons.json"
    polygons.unlink()
    with self.assertRaisesRegex(
      FileNotFoundError, "has neither .*instanceIds.png nor"
    ):
      cityscapes.sources(self.root, drop_groups=False)
    polygons.write_bytes(b"{}")
    (self.root / f"leftImg8bit/val/{_B}_leftImg8bit.png").unlink()
    with self.assertRaisesRegex(FileNotFoundError, "but there is no"):
      cityscapes.sources(self.root, drop_groups=False)
