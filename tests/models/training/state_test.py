"""The state: parameters and statistics apart, and together again."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds.models.training import optimizers, state
from robust_tfds.models.training.config import Optimizer
from tests.models.training import tiny_trainings


class StateTest(absltest.TestCase):
  def test_parted_and_together(self):
    model = tiny_trainings.network()
    variables = model.init(jax.random.key(0))
    optimizer = optimizers.of(Optimizer(learning_rate=0.1))
    first = state.first(model, variables, optimizer, ema=True)
    self.assertCountEqual(first.statistics, ["norm/mean", "norm/var"])
    self.assertIn("norm/scale", first.parameters)
    for whole in (first.variables, first.averaged):
      jax.tree.map(np.testing.assert_array_equal, whole, variables)
    without = state.first(model, variables, optimizer, ema=False)
    self.assertEqual(without.ema, {})
    jax.tree.map(np.testing.assert_array_equal, without.averaged, variables)
