"""TensorFlow functions: both routes agree, and the host takes what JAX lacks."""

import jax
import numpy as np
import pytest
import tensorflow as tf
from absl.testing import parameterized

from models import adapters
from models.spec import Spec
from robust_tfds import errors

_SPEC = Spec(input_px=8, resize_px=8, num_classes=4, label_space="custom")
_RNG = np.random.default_rng(0)
_IMAGES = _RNG.integers(0, 256, (3, 8, 8, 3), np.uint8)


class _Net(tf.Module):
  def __init__(self):
    super().__init__()
    self.kernel = tf.Variable(_RNG.standard_normal((3, 3, 3, 4), np.float32))

  def __call__(self, x):
    y = tf.reduce_mean(tf.nn.conv2d(x, self.kernel, 1, "SAME"), (1, 2))
    return {"logits": y, "twice": 2 * y}


class RoutesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    pytest.importorskip("tf2jax", reason="the extra `savedmodel`")

  @parameterized.parameters("auto", "traced", "host")
  def test_agree(self, route):
    net = _Net()
    model = adapters.get("tfm")(net, _SPEC, route=route, output="twice")
    want = net(_SPEC.normalize_on_host(_IMAGES))["twice"].numpy()
    apply = model.apply if model.on_host else jax.jit(model.apply)
    np.testing.assert_allclose(
      apply(model.init(0), _IMAGES), want, atol=1e-5 * np.abs(want).max()
    )
    self.assertStartsWith(model.route, "host" if route == "host" else "traced")
    self.assertLen(jax.tree.leaves(model.variables), 1)

  def test_operators_that_jax_lacks(self):
    def net(x):
      pooled = tf.nn.avg_pool3d(x[:, None], 1, 1, "SAME")
      return tf.reduce_mean(pooled, (1, 2)) @ tf.ones((3, 4))

    pooled = lambda x: tf.reduce_mean(net(x), 1)
    model = adapters.get("tfm")(pooled, _SPEC)
    self.assertTrue(model.on_host)
    self.assertRegex(model.route, "^host: .*AvgPool3D")
    with self.assertRaisesRegex(errors.UserError, "AvgPool3D.*route='host'"):
      adapters.get("tfm")(pooled, _SPEC, route="traced")

  def test_refused(self):
    with self.assertRaisesRegex(errors.UserError, "Unknown route 'both'"):
      adapters.get("tfm")(_Net(), _SPEC, route="both")
    with self.assertRaisesRegex(errors.UserError, "got a int, expected"):
      adapters.get("tfm")(3, _SPEC)
