"""Which pictures are stylized, in which style, and what is said of it."""

import pathlib

import numpy as np
from absl.testing import parameterized

from models import training
from models.training import recipes
from robust_tfds import errors
from tests import tiny_files
from tests.models.training import tiny_trainings


def _batch(recipe, size: int = 24) -> dict:
  images = np.stack([tiny_files.noise(size, size, i) for i in range(6)])
  keys = np.random.default_rng(1).integers(0, 2**32, (6, 2), np.uint32)
  return tiny_trainings.joined(recipe, {"image": images, "key": keys})


class StylizedTest(parameterized.TestCase):
  def test_modes(self):
    """`combined` has each twice, of which one is stylized."""
    for mode, styled in (
      ("standard", [False] * 6),
      ("stylized", [True] * 6),
      ("combined", [False, True] * 3),
    ):
      recipe = recipes.make_recipe({"name": "stylized", "mode": mode})
      self.assertEqual(recipe.copies, 2 if mode == "combined" else 1)
      batch = _batch(recipe)
      got = np.asarray(recipe.views(batch))
      changed = (got != batch["image"]).any((1, 2, 3))
      self.assertEqual(changed.tolist(), styled)
      if mode == "stylized":
        want = training.stylize(
          batch["image"], keys=batch["key"], styles=batch["style"], paired=True
        )
        np.testing.assert_array_equal(got, want)

  def test_a_style_is_drawn_once(self):
    """By an example's key without the epoch, unless it is asked for again."""
    item = {"image": np.zeros((8, 8, 3), np.uint8)}
    keys = np.random.default_rng(1).integers(0, 2**32, (9, 2), np.uint32)
    for again in (False, True):
      recipe = recipes.make_recipe({"name": "stylized", "style_again": again})
      drawn = {
        recipe.extra_arrays(item, key, keys[0], 0)["style"].tobytes()
        for key in keys
      }
      self.assertEqual(len(drawn) > 1, again)

  def test_paintings_of_a_folder(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    for i in range(3):
      painting = tiny_files.encoded(tiny_files.smooth(50, 40, i))
      (root / f"{i}.png").write_bytes(painting)
    recipe = recipes.make_recipe({"name": "stylized", "styles": str(root)})
    batch = _batch(recipe)
    self.assertEqual(batch["style"].shape, (6, 32, 32, 3))
    self.assertGreater(len({s.tobytes() for s in batch["style"]}), 1)
    words = recipe.disclosure()["pictures"]
    self.assertIn("3 pictures of", words)
    self.assertIn("by texture, which is not AdaIN", words)

  def test_without_weights_it_is_no_adain(self):
    words = recipes.make_recipe({"name": "stylized"}).disclosure()["pictures"]
    self.assertIn("64 procedural textures of seed 0 by texture", words)
    standard = recipes.make_recipe({"name": "stylized", "mode": "standard"})
    self.assertEqual(standard.disclosure()["pictures"], "")

  @parameterized.parameters(
    ({"mode": "stylised"}, "Did you mean 'stylized'"),
    ({"stylizer": "decoder.pth"}, "ENCODER,DECODER"),
  )
  def test_refuses(self, change, words):
    with self.assertRaisesRegex(errors.UserError, words):
      recipes.make_recipe({"name": "stylized", **change})
