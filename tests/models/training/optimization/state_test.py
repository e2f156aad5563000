"""The state: parameters and statistics apart, and together again."""

import jax
import numpy as np
from absl.testing import absltest

from models.training.optimization import optimizers, state
from tests.models.training import tiny_trainings


class StateTest(absltest.TestCase):
  def test_parted_and_together(self):
    model = tiny_trainings.network()
    variables = model.init(jax.random.key(0))
    config = tiny_trainings.config(optimizer__ema=0.9)
    optimizer = optimizers.make_optimizer(
      config.optimizer, model.decayed_paths()
    )
    first = state.first(model, variables, optimizer, config)
    self.assertCountEqual(first.statistics, ["norm/mean", "norm/var"])
    self.assertIn("norm/scale", first.parameters)
    for whole in (first.variables, first.averaged):
      jax.tree.map(np.testing.assert_array_equal, whole, variables)
    without = state.first(model, variables, optimizer, tiny_trainings.config())
    self.assertEqual(without.ema, {})
    jax.tree.map(np.testing.assert_array_equal, without.averaged, variables)
