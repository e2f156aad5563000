"""What the way back needs of the way forth, by hand for a tiny network."""

import jax
import pytest
from absl.testing import absltest

from models.training import recipes
from models.training.optimization import activations, optimizers, state
from robust_tfds import models
from tests.models.training import tiny_trainings


def _of(model, **changes) -> float:
  config = tiny_trainings.config(**changes)
  like = jax.eval_shape(
    lambda: state.first(
      model,
      model.init(jax.random.key(0)),
      optimizers.make_optimizer(config.optimizer, model.decayed_paths()),
      config,
    )
  )
  return activations.estimate(
    config, model, recipes.make_recipe(config.recipe), like
  )


class ActivationsTest(absltest.TestCase):
  def test_grow_with_the_batch_and_its_parts(self):
    model, recipe = tiny_trainings.network(), {"name": "standard"}
    pictures = 8 * 32 * 32 * 3 * 4  # the norm's: bytes of float32
    got = _of(model, recipe=recipe)
    self.assertGreaterEqual(got, pictures)
    self.assertLess(got, 6 * pictures)
    parts = _of(model, recipe=recipe, optimizer__accumulate=4)
    self.assertAlmostEqual(parts / got, 1 / 4, delta=0.02)

  def test_an_attack_is_as_deep_as_a_step(self):
    """Of a frozen network a step needs little, the gradient of pixels all of it."""
    model, stages = models.get("digits_cnn"), {"model__frozen_stages": 3}
    alp = {"name": "alp", "weight": 0.0, "clean": 0.0}
    whole = _of(model, recipe={"name": "standard"})
    frozen = _of(model, recipe={"name": "standard"}, **stages)
    attacked = _of(model, recipe=alp, **stages)
    self.assertLess(frozen, whole / 10)
    self.assertBetween(attacked / whole, 0.5, 1.5)

  @pytest.mark.slow
  def test_detectors(self):
    recipe = {"name": "detector"}
    got = [
      _of(models.get("tiny_retinanet"), recipe=recipe, batch_size=n)
      for n in (2, 4)
    ]
    self.assertAlmostEqual(got[1] / got[0], 2, delta=0.2)


if __name__ == "__main__":
  absltest.main()
