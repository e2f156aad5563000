"""Every file of the folder: found by its name, a finite loss, what it discloses."""

import jax
import numpy as np
from absl.testing import parameterized

from robust_tfds import conditions, errors
from robust_tfds.models.training import recipes
from robust_tfds.models.training.recipes import augmix
from tests.models.training import tiny_trainings


class RecipesTest(parameterized.TestCase):
  def test_unknown(self):
    with self.assertRaisesRegex(
      errors.UserError, "recipe 'standart'.*standard"
    ):
      recipes.of({"name": "standart"})
    with self.assertRaisesRegex(
      errors.UserError, "config.recipe .standard.*flip"
    ):
      recipes.of({"name": "standard", "flop": True})

  @parameterized.parameters(*[(n,) for n in recipes.names() if n != "detector"])
  def test_classifiers(self, name):
    """The loss is finite, the same again, and moves the statistics."""
    recipe, model = recipes.of({"name": name}), tiny_trainings.network()
    batch = next(tiny_trainings.Source().batches(batch_size=4, seed=0, epoch=0))
    del batch["id"]
    variables = model.init(jax.random.key(0))
    loss = jax.jit(
      lambda v, b: recipe.loss(model.apply_train, v, b, jax.random.key(1))
    )
    value, (moved, numbers) = loss(variables, batch)
    again, _ = loss(variables, batch)
    self.assertTrue(np.isfinite(value))
    self.assertEqual(value, again)
    self.assertIn("error", numbers)
    self.assertFalse(
      np.array_equal(moved["norm"]["mean"], variables["norm"]["mean"])
    )
    shown = recipe.disclosure()
    self.assertLessEqual({*shown["conditions"]}, {*conditions.every_name()})

  @parameterized.parameters(("detector",))
  def test_detectors_sum_their_losses(self, name):
    def apply_train(variables, batch, key):
      del batch, key
      return {
        "box": jax.numpy.float32(1.0),
        "mask": jax.numpy.float32(2.0),
      }, variables

    recipe = recipes.of({"name": name})
    loss, (variables, numbers) = recipe.loss(apply_train, "v", {}, None)
    self.assertEqual(
      (loss, variables, sorted(numbers)), (3, "v", ["box", "mask"])
    )

  def test_disagreement_of_augmix(self):
    """Mean of KL(p_k || M), written out."""
    p = np.array([[[0.7, 0.3]], [[0.2, 0.8]], [[0.5, 0.5]]])
    mean = p.mean(0)
    want = np.mean([np.sum(q * np.log(q / mean)) for q in p])
    np.testing.assert_allclose(augmix.disagreement(np.log(p)), want, rtol=1e-5)

  def test_views(self):
    """Clean pictures first; noise within its bound."""
    source = tiny_trainings.Source()
    batch = next(source.batches(batch_size=4, seed=0, epoch=0))
    images, keys = batch["image"], batch["key"]
    for name, views in (("augmix", 3), ("stability", 2), ("pixmix", 1)):
      got = np.asarray(recipes.of({"name": name}).transform(images, keys))
      self.assertEqual(
        (got.dtype, got.shape), (np.uint8, (4 * views, 32, 32, 3))
      )
      if views > 1:
        np.testing.assert_array_equal(got[:4], images)
      self.assertFalse(np.array_equal(got[-4:], images))
      if name == "augmix":
        self.assertFalse(np.array_equal(got[4:8], got[8:]))
      if name == "stability":
        far = np.abs(got[4:].astype(int) - images).max()
        self.assertBetween(far, 10, 13)  # of 12.75

  def test_one_noise_is_disclosed(self):
    recipe = recipes.of({"name": "corruption_mix", "severities": (1, 2)})
    self.assertEqual(
      recipe.disclosure(),
      {"conditions": ["gaussian_noise"], "severities": [1, 2], "pictures": ""},
    )

  @parameterized.parameters(
    ("fog,jpeg_compression", ["fog", "jpeg_compression"]),
    ("fog, fog", ["fog"]),
    ("freezing,jumbling", ["jumbling", "freezing"]),
  )
  def test_names_of_a_mix(self, names, shown):
    recipe = recipes.of({"name": "corruption_mix", "names": names})
    self.assertCountEqual(recipe.disclosure()["conditions"], shown)

  def test_unknown_names_of_a_mix_are_refused(self):
    with self.assertRaisesRegex(errors.UserError, "Unknown corruption 'jpeg'"):
      recipes.of({"name": "corruption_mix", "names": "fog,jpeg"})
