"""Random flips and crops of training pictures."""

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np
import pytest
from absl.testing import parameterized

from robust_tfds import models
from robust_tfds.eval.run import augment, train
from tests import in_folder

_KEY = jax.random.key(0)


def _examples(count=64, shape=(8, 8, 3)):
  rng = np.random.default_rng(0)
  image = rng.integers(1, 255, (count, *shape)).astype(np.float32)
  return {"image": jnp.asarray(image), "label": jnp.arange(count)}


class BatchTest(parameterized.TestCase):
  def test_nothing_is_the_default(self):
    examples = _examples()
    self.assertIs(augment.batch(_KEY, examples), examples)

  @parameterized.parameters((8, 8, 3), (4, 8, 6, 3))
  def test_flip(self, *shape):
    examples = _examples(shape=shape)
    flipped = augment.batch(_KEY, examples, flip=True)
    np.testing.assert_array_equal(flipped["label"], examples["label"])
    mirrored = [
      np.array_equal(after, before[..., ::-1, :])
      for before, after in zip(
        np.asarray(examples["image"]), np.asarray(flipped["image"])
      )
    ]
    same = np.all(
      np.asarray(flipped["image"] == examples["image"]).reshape(64, -1), axis=1
    )
    np.testing.assert_array_equal(np.array(mirrored), ~same)
    self.assertBetween(np.mean(mirrored), 0.3, 0.7)

  @parameterized.parameters((8, 8, 3), (4, 8, 8, 3))
  def test_crop(self, *shape):
    examples = _examples(shape=shape)
    cropped = np.asarray(augment.batch(_KEY, examples, crop_px=2)["image"])
    self.assertEqual(cropped.shape, (64, *shape))
    pads = [(0, 0)] * (len(shape) - 3) + [(2, 2), (2, 2), (0, 0)]
    corners = set()
    for before, after in zip(np.asarray(examples["image"]), cropped):
      padded = np.pad(before, pads)
      places = [
        (y, x)
        for y in range(5)
        for x in range(5)
        if np.array_equal(padded[..., y : y + 8, x : x + 8, :], after)
      ]
      self.assertLen(places, 1)
      corners.update(places)
    self.assertEqual({y for y, _ in corners}, set(range(5)))
    self.assertEqual({x for _, x in corners}, set(range(5)))

  def test_dtype_and_key(self):
    examples = {"image": _examples()["image"].astype(jnp.uint8)}
    options = {"flip": True, "crop_px": 3}
    first, again = (augment.batch(_KEY, examples, **options) for _ in range(2))
    other = augment.batch(jax.random.key(1), examples, **options)
    self.assertEqual(first["image"].dtype, jnp.uint8)
    np.testing.assert_array_equal(first["image"], again["image"])
    self.assertFalse(np.array_equal(first["image"], other["image"]))

  def test_boxes_are_refused(self):
    examples = {**_examples(), "boxes": jnp.zeros((64, 1, 4))}
    with self.assertRaisesRegex(ValueError, "boxes would have to move"):
      augment.batch(_KEY, examples, flip=True)


class RecipeTest(in_folder.TestCase):
  @pytest.mark.slow
  def test_a_recipe_turns_it_on(self):
    weights = {}
    for name, options in (
      ("plain", {}),
      ("off", {"flip": False, "crop_px": 0}),
      ("crop", {"crop_px": 2}),
    ):
      recipe = ml_collections.ConfigDict(
        {
          "dataset": "digits",
          "split": "train",
          "steps": 5,
          "batch_size": 16,
          "learning_rate": 3e-3,
          "seed": 0,
          **options,
        }
      )
      weights[name] = train.load_or_train(
        models.get("digits_linear"),
        recipe,
        self.root / name,
        data_dir=str(self.root / "data"),
      )
    jax.tree.map(
      np.testing.assert_array_equal, weights["plain"], weights["off"]
    )
    same = jax.tree.map(np.array_equal, weights["plain"], weights["crop"])
    self.assertFalse(all(jax.tree.leaves(same)))
