"""Drawn scenes: sound objects, the same for ever, digits that stand out."""

import hashlib

import numpy as np
from absl.testing import parameterized

from robust_tfds.coco import rle
from robust_tfds.corruptions import canvas
from robust_tfds.datasets.digits_detection import scenes


class ScenesTest(parameterized.TestCase):
  def test_how_many(self):
    self.assertEqual(scenes.COUNTS, {"train": 1000, "test": 200})

  def test_objects_are_sound(self):
    labels = set()
    for number in range(60):
      image, objects = scenes.draw("test", number)
      self.assertNotEmpty(objects)
      self.assertLessEqual(len(objects), 5)
      self.assertLessEqual(max(image.shape[:2]), 128)
      masks = np.array([rle.decode(o.mask) for o in objects])
      self.assertEqual(masks.sum(axis=0).max(), 1, "masks share a pixel")
      for o, mask in zip(objects, masks):
        self.assertEqual(mask.shape, image.shape[:2])
        self.assertEqual(o.area, mask.sum())
        self.assertEqual(o.box, rle.box(o.mask))
        labels.add(o.label)
    self.assertEqual(labels, set(range(10)))

  def test_many_sizes_in_one_canvas(self):
    shapes = {scenes.draw("test", n)[0].shape[:2] for n in range(60)}
    self.assertGreater(len(shapes), 10)
    self.assertEqual({canvas.shape(*s) for s in shapes}, {(128, 128)})

  def test_the_same_for_ever(self):
    digest = hashlib.sha256()
    for split in scenes.COUNTS:
      for number in range(20):
        image, objects = scenes.draw(split, number)
        digest.update(image.tobytes())
        digest.update(repr(objects).encode())
    self.assertEqual(
      digest.hexdigest()[:16],
      "17559a41ad33e269",
      "Scenes changed: raise the version of both builders.",
    )

  def test_seeds_and_splits_differ(self):
    first = scenes.draw("test", 0)[0]
    for other in (scenes.draw("test", 0, 1), scenes.draw("train", 0)):
      self.assertFalse(np.array_equal(first, other[0]))

  def test_digits_stand_out(self):
    image, (one, *_) = scenes.draw("test", 0)
    mask = rle.decode(one.mask)
    outside = ~np.any(
      [rle.decode(o.mask) for o in scenes.draw("test", 0)[1]], axis=0
    )
    gap = image[mask].mean() - image[outside].mean()
    self.assertGreater(abs(gap), 50)
