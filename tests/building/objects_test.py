"""What detection datasets share: refusals of unsound objects, boxes."""

import dataclasses

import numpy as np
from absl.testing import parameterized

from robust_tfds.building import objects
from robust_tfds.coco import rle

_GOOD = objects.Object(
  id=1,
  label=0,
  box=(2.0, 3.0, 10.0, 5.5),
  area=50.0,
  mask=rle.encode(np.ones((48, 60), bool)),
)


class CheckedTest(parameterized.TestCase):
  def _check(self, *annotated):
    return objects.validated(annotated, (48, 60), "a.jpg")

  def test_sound_objects_pass(self):
    other = dataclasses.replace(_GOOD, id=2, box=(-0.6, 0.0, 60.9, 48.5))
    self.assertLen(self._check(_GOOD, other), 2)
    self.assertEmpty(self._check())

  @parameterized.parameters(
    (dict(box=(2.0, 3.0, 0.0, 5.0)), "a.jpg, object 1: zero area"),
    (dict(box=(2.0, 3.0, 4.0, -5.0)), "zero area"),
    (dict(area=0.0), "zero area"),
    (dict(area=float("nan")), "not finite"),
    (dict(box=(float("inf"), 3.0, 4.0, 5.0)), "not finite"),
    (dict(box=(55.0, 3.0, 10.0, 5.0)), "outside the image of 60 x 48 px"),
    (dict(box=(2.0, 40.0, 10.0, 20.0)), "outside the image"),
    (dict(box=(-2.0, 3.0, 10.0, 5.0)), "outside the image"),
    (dict(mask=rle.encode(np.ones((60, 48)))), "mask is 48 x 60 px, the image"),
    (dict(id=0), "unique and not 0"),
  )
  def test_unsound_objects(self, change, message):
    with self.assertRaisesRegex(ValueError, message):
      self._check(dataclasses.replace(_GOOD, **change))

  def test_an_id_used_twice(self):
    with self.assertRaisesRegex(ValueError, "unique"):
      self._check(_GOOD, _GOOD)

  def test_boxes_are_clipped_to_the_image(self):
    box = objects.normalised((-0.5, 12.0, 61.0, 12.0), (48, 60))
    self.assertEqual(tuple(box), (0.25, 0.0, 0.5, 1.0))
