"""The pictures that PixMix mixes with: a user's, or seeded fractals."""

import pathlib

import numpy as np
from absl.testing import absltest

from models import training
from models.training import named_conditions, recipes
from robust_tfds import conditions, errors
from tests import tiny_files
from tests.models.training import tiny_trainings


def _keys(count: int) -> np.ndarray:
  return np.random.default_rng(0).integers(0, 2**32, (count, 2), np.uint32)


class PixmixTest(absltest.TestCase):
  def _folder(self, count: int = 3) -> str:
    root = pathlib.Path(self.create_tempdir().full_path)
    for i in range(count):
      picture = tiny_files.encoded(tiny_files.smooth(60, 50, i))
      (root / f"{i}.png").write_bytes(picture)
    return str(root)

  def test_pictures_of_a_folder(self):
    """Each mixture is that of the public function with the picture of its key."""
    recipe = recipes.make_recipe({"name": "pixmix", "pictures": self._folder()})
    images = np.stack([tiny_files.noise(32, 32, i) for i in range(4)])
    batch = tiny_trainings.joined(recipe, {"image": images, "key": _keys(4)})
    self.assertEqual(batch["picture"].shape, images.shape)
    self.assertGreater(len({p.tobytes() for p in batch["picture"]}), 1)
    got = np.asarray(recipe.views(batch))
    from models.training.recipes import base

    for i, key in enumerate(base.stream(batch["key"], 0)):
      one = training.pixmix(
        images[i : i + 1], keys=key[None], pictures=batch["picture"][i : i + 1]
      )
      np.testing.assert_array_equal(got[i], one[0])

  def test_frames_have_pictures_of_their_own(self):
    recipe = recipes.make_recipe({"name": "pixmix", "fractals": 5})
    video = np.stack([[tiny_files.noise(24, 24, i)] * 6 for i in range(2)])
    batch = tiny_trainings.joined(recipe, {"video": video, "key": _keys(2)})
    self.assertEqual(batch["picture"].shape, video.shape)
    for frames in batch["picture"]:
      self.assertGreater(len({f.tobytes() for f in frames}), 1)
    got = np.asarray(recipe.views(batch))
    self.assertEqual(got.shape, video.shape)
    self.assertFalse((got[:, 0] == got[:, 1]).all())

  def test_discloses_the_pictures(self):
    folder = self._folder()
    words = recipes.make_recipe(
      {"name": "pixmix", "pictures": folder}
    ).disclosure()
    self.assertRegex(
      words["pictures"],
      r"^3 pictures of \S+ \(sha256 \w{12}\) and 9 operations",
    )
    pathlib.Path(folder, "0.png").write_bytes(
      tiny_files.encoded(tiny_files.noise(40, 40))
    )
    again = recipes.make_recipe(
      {"name": "pixmix", "pictures": folder, "short_px": 37}
    )
    self.assertNotEqual(again.disclosure()["pictures"], words["pictures"])
    seeded = recipes.make_recipe({"name": "pixmix"}).disclosure()
    self.assertIn("fractals of seed 0", seeded["pictures"])

  def test_overlap_is_of_benchmarks(self):
    shown = recipes.make_recipe(
      {"name": "pixmix", "overlap": True}
    ).disclosure()
    names = named_conditions.benchmark_conditions(shown["conditions"])
    self.assertContainsSubset(["brightness", "contrast", "saturate"], names)
    self.assertLessEqual({*names}, {*conditions.PICTURES.names()})

  def test_refuses(self):
    recipe = recipes.make_recipe({"name": "pixmix", "pictures": "/nowhere"})
    with self.assertRaisesRegex(errors.UserError, "there is no such folder"):
      recipe.disclosure()
    small = recipes.make_recipe({"name": "pixmix", "pictures": self._folder()})
    item = {"image": np.zeros((64, 64, 3), np.uint8)}
    with self.assertRaisesRegex(errors.UserError, "recipe.short_px: got 36"):
      small.extra_arrays(item, _keys(1)[0], _keys(1)[0], 0)
