"""Weights handed over: read by `models.convert`, with how pictures are prepared."""

import jax
import jax.numpy as jnp
import numpy as np
from etils import epath

from robust_tfds import errors, models
from robust_tfds.models.convert import match
from robust_tfds.models.training import handover, state
from tests import in_folder


class HandoverTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.workdir = epath.Path(self.root)

  def test_read_by_its_folder(self):
    spec = {"mean": (0.1, 0.2, 0.3), "label_space": "custom"}
    model = models.get("digits_linear").with_fields(spec)
    variables = model.init(jax.random.key(1))
    first = _state(variables, model, averaged=True)
    handover.write(self.workdir, model, first)
    got = models.convert.load("digits_linear", self.workdir)
    jax.tree.map(np.testing.assert_array_equal, got, dict(variables))
    loaded = match.load("digits_linear", self.workdir)
    self.assertEqual(tuple(loaded.declared.fields["mean"]), (0.1, 0.2, 0.3))
    averaged = models.convert.load(
      "digits_linear", self.workdir / handover.EMA_FILE
    )
    jax.tree.map(np.testing.assert_array_equal, averaged, dict(variables))

  def test_equal_weights_are_equal_bytes(self):
    model = models.get("digits_linear")
    made = _state(model.init(jax.random.key(1)), model)
    first = handover.write(self.workdir / "a", model, made)
    self.assertEqual(first, handover.write(self.workdir / "b", model, made))

  def test_weights_that_are_not_finite(self):
    model = models.get("digits_linear")
    variables = jax.tree.map(
      lambda x: x * jnp.nan, model.init(jax.random.key(1))
    )
    with self.assertRaisesRegex(errors.UserError, "has NaN or infinite"):
      handover.write(self.workdir, model, _state(variables, model))


def _state(variables, model, averaged: bool = False) -> state.State:
  parameters, statistics = state.parted(variables, model.statistics())
  ema = {**parameters, **statistics} if averaged else {}
  return state.State(jnp.int32(1), parameters, statistics, (), ema)
