"""Switches of adaptation methods, each by its formula."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized
from flax import nnx

from models import adaptation, layers, spec
from models.adaptation import network
from robust_tfds import errors, models

_SPEC = spec.Spec(input_px=8, num_classes=4, resize_px=8, weights="here")
_IMAGES = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), np.uint8)


class _Network(nnx.Module):
  """A convolution, a batch norm, and what may be dropped before the answer."""

  def __init__(self, dropped=lambda x: x, affine=True):
    self.conv = nnx.Conv(3, 4, (3, 3), strides=2, rngs=nnx.Rngs(0))
    self.bn = nnx.BatchNorm(
      4, use_bias=affine, use_scale=affine, rngs=nnx.Rngs(0)
    )
    self.dropped = dropped

  def __call__(self, x):
    return self.dropped(nnx.relu(self.bn(self.conv(x))).mean((1, 2)) + 1)


def _model(*args):
  module = _Network(*args)
  module.eval()
  return models.adapters.get("flax_module")(module, _SPEC, name="net")


def _step(model, method, key=0, **hyperparameters):
  adapts = adaptation.get(method)(model, **hyperparameters)
  state = adapts.init(model.variables)
  return adapts.step(state, _IMAGES, jax.random.key(key))


class SwitchesTest(parameterized.TestCase):
  @parameterized.parameters(("bn_alpha", {"alpha": 1.0}), ("bn_cumulative", {}))
  def test_variance(self, method, given):
    model = _model()
    biased, _ = network.forward(model, model.variables, _IMAGES)
    got, _ = _step(model, method, unbiased=False, **given)
    np.testing.assert_allclose(got, biased, atol=1e-6)
    unbiased, _ = _step(model, method, **given)
    count = 6 * 4 * 4

    def rule(running, measured, values):
      self.assertEqual(values, count)
      var = measured.var * count / (count - 1)
      return network.Moments(measured.mean, var), running

    expected, _ = network.forward(model, model.variables, _IMAGES, rule)
    np.testing.assert_allclose(unbiased, expected, atol=1e-6)
    self.assertGreater(np.abs(unbiased - biased).max(), 1e-4)

  @parameterized.parameters(
    ("tent", {"dropout": "no"}, "dropout is 'no', expected True or False"),
    (
      "tent",
      {"optimizer": {"learning_rate": "1e-3"}},
      "learning_rate is '1e-3'",
    ),
    (
      "tent",
      {"optimizer": {"learning_rate": -1}},
      "learning_rate is -1, expected",
    ),
    ("tent", {"steps": 1.5}, "steps is 1.5, expected a whole number from 1"),
    ("bn_alpha", {"batch_size": -5}, "batch_size is -5, expected a whole"),
    (
      "bn_alpha",
      {"prior": float("nan")},
      "prior is nan, expected a number from 0",
    ),
    ("bn_ema", {"momentum": 2}, "momentum is 2, expected a number from 0 to 1"),
  )
  def test_hyperparameters_out_of_range(self, method, given, expected):
    with self.assertRaisesRegex(errors.UserError, expected):
      _step(_model(), method, **given)

  def test_eata_without_clean_pictures(self):
    model = _model()
    with self.assertRaisesRegex(errors.UserError, "needs clean pictures"):
      adaptation.get("eata")(model).init(model.variables, clean=_IMAGES[:0])

  @parameterized.parameters(
    (lambda: layers.Dropout(0.5),), (lambda: nnx.Dropout(0.5),)
  )
  def test_dropout(self, dropped):
    model = _model(dropped())
    still, _ = _step(model, "tent", dropout=False)
    expected, _ = network.forward(model, model.variables, _IMAGES)
    np.testing.assert_array_equal(still, expected)
    first, again, other = (_step(model, "tent", key)[0] for key in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    self.assertFalse(np.array_equal(first, other))
    left = np.asarray(first != 0)  # half of them, twice as large
    self.assertBetween(left.mean(), 0.2, 0.8)
    np.testing.assert_allclose(first, np.where(left, 2 * still, 0), rtol=1e-6)

  @parameterized.parameters(False, True)
  def test_recovery_of_sar(self, full):
    given = {"recovery": 1e9, "e_margin": 1e9, "full_recovery": full}
    _, state = _step(_model(), "sar", **given)
    self.assertTrue(state["recovered"])
    for path, value in state["source"].items():
      np.testing.assert_array_equal(value, state["weights"][path])
    momentum = [jnp.abs(m).max() for m in jax.tree.leaves(state["optimizer"])]
    self.assertEqual(max(momentum) == 0, full)
    self.assertEqual(bool(jnp.isnan(state["loss"])), full)

  def test_nothing_to_train(self):
    for method in ("tent", "sar"):
      with self.assertRaisesRegex(errors.UserError, "no scale or bias"):
        _step(_model(lambda x: x, False), method)
