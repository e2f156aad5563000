"""Pictures of a detector are mirrored and stylized with their objects."""

import numpy as np
from absl.testing import absltest

from models.training import recipes
from robust_tfds import errors
from tests import tiny_files
from tests.models.training import tiny_trainings


def _batch(count: int = 12) -> dict:
  rng = np.random.default_rng(0)
  sizes = rng.integers(10, 21, (count, 2)).astype(np.int32)
  images = np.zeros((count, 24, 28, 3), np.uint8)
  masks = np.zeros((count, 2, 24, 28), bool)
  for i, (high, wide) in enumerate(sizes):
    images[i, :high, :wide] = tiny_files.noise(high, wide, i)
    masks[i, 0, 2:7, 1:5] = True
  boxes = np.tile(np.float32([[1, 2, 5, 7], [0, 0, 0, 0]]), (count, 1, 1))
  labels = np.tile(np.int32([3, -1]), (count, 1))
  return {
    "image": images,
    "size": sizes,
    "boxes": boxes,
    "labels": labels,
    "masks": masks,
    "key": rng.integers(0, 2**32, (count, 2), np.uint32),
  }


class DetectorTest(absltest.TestCase):
  def test_mirrored(self):
    """Written out: pixels, boxes and masks within the size, some and not all."""
    batch = _batch()
    shown = recipes.make_recipe({"name": "detector", "flip": True}).views(batch)
    shown = {k: np.asarray(v) for k, v in shown.items()}
    turned = []
    for i, (_, wide) in enumerate(batch["size"]):
      image, masks = batch["image"][i].copy(), batch["masks"][i].copy()
      boxes = batch["boxes"][i].copy()
      turned.append((shown["boxes"][i] != boxes).any())
      if turned[-1]:
        image[:, :wide] = image[:, :wide][:, ::-1]
        masks[:, :, :wide] = masks[:, :, :wide][:, :, ::-1]
        boxes[0] = wide - 5, 2, wide - 1, 7
      np.testing.assert_array_equal(shown["image"][i], image)
      np.testing.assert_array_equal(shown["masks"][i], masks)
      np.testing.assert_array_equal(shown["boxes"][i], boxes)
      rows, columns = np.nonzero(masks[0])
      x0, y0, x1, y1 = boxes[0]
      box = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
      self.assertEqual((x0, y0, x1, y1), box)
    self.assertLen(set(turned), 2)

  def test_stylized_within_their_size(self):
    """As each picture alone; nothing is drawn outside."""
    recipe = recipes.make_recipe({"name": "detector", "mode": "stylized"})
    batch = tiny_trainings.joined(recipe, _batch(3))
    got = np.asarray(recipe.views(batch)["image"]).astype(int)
    alone = recipes.make_recipe({"name": "stylized"})
    for i, (high, wide) in enumerate(batch["size"]):
      one = {name: array[i : i + 1] for name, array in batch.items()}
      one["image"] = one["image"][:, :high, :wide]
      want = np.asarray(alone.views(one))[0].astype(int)
      self.assertLessEqual(np.abs(got[i, :high, :wide] - want).max(), 1)
      self.assertFalse(got[i, high:].any() or got[i, :, wide:].any())

  def test_refuses_what_is_of_classifiers(self):
    with self.assertRaisesRegex(errors.UserError, "recipe.crop_px: got 4"):
      recipes.make_recipe({"name": "detector", "crop_px": 4})
