"""Every file of the folder: found by its name, a finite loss, what it discloses."""

import jax
import numpy as np
from absl.testing import parameterized

from robust_tfds import conditions, errors
from robust_tfds.models.training import recipes
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
