"""Optimizers against torch's and TensorFlow's formulas, written out."""

import jax
import numpy as np
import optax
from absl.testing import parameterized

from models.training.config import Optimizer
from models.training.optimization import optimizers
from robust_tfds import errors

_RATES = (0.1, 0.1, 0.05, 0.05, 0.2)
_DECAY = 0.01
_DECAYED = frozenset({("fc", "kernel")})


def _gradients() -> list[dict[str, np.ndarray]]:
  rng = np.random.default_rng(0)
  return [
    {
      "fc/kernel": rng.normal(size=(2, 3)),
      "fc/bias": rng.normal(size=3),
      "cls_token": rng.normal(size=(1, 1, 3)),  # a matrix, but none that decays
    }
    for _ in _RATES
  ]


def _got(**fields) -> dict[str, np.ndarray]:
  """Weights after a few steps."""
  optimizer = optimizers.make_optimizer(
    Optimizer(learning_rate=0.1, **fields), _DECAYED
  )
  weights = jax.tree.map(np.ones_like, _gradients()[0])
  state = optimizer.init(weights)
  for gradient, rate in zip(_gradients(), _RATES):
    updates, state = optimizer.update(
      gradient, state, weights, learning_rate=rate
    )
    weights = optax.apply_updates(weights, updates)
  return weights


def _sgd(g, w, memory, rate, momentum=0.9, dampening=0.0, nesterov=False):
  """torch.optim.SGD's algorithm, as its documentation has it."""
  g = g + _DECAY * w
  buffer = memory.get("b")
  memory["b"] = b = (
    g if buffer is None else momentum * buffer + (1 - dampening) * g
  )
  return w - rate * (g + momentum * b if nesterov else b)


def _adam(g, w, memory, rate, decoupled=False):
  """torch.optim.Adam's and AdamW's."""
  if not decoupled:
    g = g + _DECAY * w
  t = memory["t"] = memory.get("t", 0) + 1
  m = memory["m"] = 0.9 * memory.get("m", 0) + 0.1 * g
  v = memory["v"] = 0.999 * memory.get("v", 0) + 0.001 * g * g
  if decoupled:
    w = w - rate * _DECAY * w
  m, v = m / (1 - 0.9**t), v / (1 - 0.999**t)
  return w - rate * m / (np.sqrt(v) + 1e-8)


def _rmsprop(g, w, memory, rate):
  """tf.compat.v1.train.RMSPropOptimizer's: the rate enters the momentum."""
  g = g + _DECAY * w
  s = memory["s"] = 0.9 * memory.get("s", 1.0) + 0.1 * g * g
  b = memory["b"] = 0.9 * memory.get("b", 0) + rate * g / np.sqrt(s + 1.0)
  return w - b


class OptimizersTest(parameterized.TestCase):
  @parameterized.parameters(
    (_sgd, {}, {"name": "sgd", "momentum": 0.9}),
    (
      _sgd,
      {"dampening": 0.9},
      {"name": "sgd", "momentum": 0.9, "dampening": 0.9},
    ),
    (
      _sgd,
      {"nesterov": True},
      {"name": "sgd", "momentum": 0.9, "nesterov": True},
    ),
    (_adam, {}, {"name": "adam"}),
    (_adam, {"decoupled": True}, {"name": "adamw"}),
    (_rmsprop, {}, {"name": "rmsprop", "momentum": 0.9, "epsilon": 1.0}),
  )
  def test_formulas(self, formula, options, fields):
    got = _got(weight_decay=_DECAY, **fields)
    for name in _gradients()[0]:
      weights = np.ones_like(_gradients()[0][name])
      memory: dict = {}
      for gradient, rate in zip(_gradients(), _RATES):
        weights = formula(gradient[name], weights, memory, rate, **options)
      np.testing.assert_allclose(got[name], weights, rtol=1e-5)

  def test_decay_spares_norms_and_biases(self):
    all_, spared, none = (
      _got(weight_decay=0.1, decay_all=True),
      _got(weight_decay=0.1, decay_all=False),
      _got(),
    )
    np.testing.assert_array_equal(spared["fc/kernel"], all_["fc/kernel"])
    for name in ("fc/bias", "cls_token"):
      np.testing.assert_array_equal(spared[name], none[name])
      self.assertTrue((all_[name] != none[name]).all())

  def test_clipping(self):
    """A gradient longer than the norm is brought to it."""
    fields = Optimizer(learning_rate=1.0, clip_norm=0.5)
    optimizer = optimizers.make_optimizer(fields, _DECAYED)
    gradient = {"a": np.array([3.0, 4.0])}
    updates, _ = optimizer.update(
      gradient, optimizer.init(gradient), gradient, learning_rate=1.0
    )
    np.testing.assert_allclose(updates["a"], [-0.3, -0.4], rtol=1e-6)

  def test_refusals(self):
    with self.assertRaisesRegex(errors.UserError, "optimizer 'sdg'.*sgd"):
      _got(name="sdg")
    with self.assertRaisesRegex(errors.UserError, "with nesterov, expected 0"):
      _got(momentum=0.9, dampening=0.9, nesterov=True)
    for name in ("adam", "adamw"):
      words = f"momentum: got 0.9 with {name}, which has none"
      with self.assertRaisesRegex(errors.UserError, words):
        _got(name=name, momentum=0.9)
    with self.assertRaisesRegex(errors.UserError, "got 0 with nesterov"):
      _got(name="sgd", nesterov=True)
