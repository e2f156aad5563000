"""Each kind of model brought along equals itself, under jit, on any batch."""

import inspect
import os
import pathlib
import typing

# Keras reads it once, when it is first imported.
os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized
from flax import linen, nnx

from models import adapters, model
from robust_tfds import errors
from tests.models.adapters import small

_SPEC = small.spec(16)


def _images(n: int = 3) -> np.ndarray:
  rng = np.random.default_rng(0)
  return rng.integers(0, 256, (n, 16, 16, 3), np.uint8)


class _Linen(linen.Module):
  @linen.compact
  def __call__(self, x, train: bool):
    x = linen.BatchNorm(use_running_average=not train, momentum=0.0)(x)
    return linen.Dense(4)(x.mean((1, 2)))


class _Nnx(nnx.Module):
  def __init__(self, rngs):
    self.conv = nnx.Conv(3, 8, (3, 3), (2, 2), rngs=rngs)
    self.norm = nnx.BatchNorm(8, momentum=0.0, rngs=rngs)
    self.dropout = nnx.Dropout(0.5, rngs=rngs)
    self.head = nnx.Linear(8, 4, rngs=rngs)

  def __call__(self, x):
    x = nnx.relu(self.norm(self.conv(x))).mean((1, 2))
    return self.head(self.dropout(x))


class AdaptersTest(parameterized.TestCase):
  def _check(self, model, want):
    """`want` maps float32 preprocessed pictures to logits, in numpy."""
    images = _images()
    pixels = np.asarray(model.preprocess(images))
    expected = np.asarray(want(pixels))
    self.assertGreater(np.ptp(expected), 0)
    variables = model.init(jax.random.key(0))
    got = jax.jit(model.apply)(variables, images)
    self.assertEqual(got.dtype, jnp.float32)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(got, expected, atol=1e-5 * max(scale, 1))
    single = jax.jit(model.apply)(variables, pixels[1:2])
    np.testing.assert_allclose(single, got[1:2], atol=1e-5 * max(scale, 1))

  def test_names_and_unknown_kind(self):
    self.assertContainsSubset(
      ("callable", "flax_module", "keras", "onnx", "savedmodel"),
      adapters.names(),
    )
    with self.assertRaisesRegex(ValueError, "Did you mean 'onnx'"):
      adapters.get("onx")

  @parameterized.parameters(*adapters.names())
  def test_each_takes_a_model_its_spec_and_a_name(self, kind):
    adapt = adapters.get(kind)
    _, spec, *others = inspect.signature(adapt).parameters.values()
    self.assertEqual((spec.name, spec.default), ("spec", spec.empty))
    (name,) = [p for p in others if p.name == "name"]
    self.assertEqual(name.kind, name.KEYWORD_ONLY)
    self.assertTrue(
      issubclass(typing.get_type_hints(adapt)["return"], model.Model)
    )

  def test_callable(self):
    weights = np.random.default_rng(1).standard_normal((3, 4), np.float32)
    model = adapters.get("callable")(lambda x: x.mean((1, 2)) @ weights, _SPEC)
    self._check(model, lambda x: x.mean((1, 2)) @ weights)
    with self.assertRaisesRegex(ValueError, "expected a function"):
      adapters.get("callable")(3, _SPEC)

  def test_specs_and_names_that_are_none(self):
    for spec, name in ((None, "mine"), ({}, "mine"), (_SPEC, ""), (_SPEC, 3)):
      with self.assertRaisesRegex(errors.UserError, "Got .*, expected"):
        adapters.get("callable")(lambda x: x, spec, name=name)

  @parameterized.parameters("onnx", "keras", "savedmodel")
  def test_files_that_are_no_models(self, kind):
    packages = {
      "onnx": ("onnx",),
      "keras": ("keras",),
      "savedmodel": ("tensorflow", "tf2jax"),
    }
    for package in packages[kind]:
      module = pytest.importorskip(package, reason=f"the extra `{kind}`")
    if kind == "keras" and module.backend.backend() != "jax":
      self.skipTest("Keras was imported with another backend before.")
    folder = pathlib.Path(self.create_tempdir().full_path)
    path = folder / f"net.{kind}"
    for data in (b"", b"hello", np.random.default_rng(0).bytes(999)):
      path.write_bytes(data)
      with self.assertRaisesRegex(errors.UserError, f"^{path}: cannot be read"):
        adapters.get(kind)(path, _SPEC)
    with self.assertRaisesRegex(errors.UserError, "none: no such file"):
      adapters.get(kind)(folder / "none", _SPEC)
    with self.assertRaisesRegex(errors.UserError, "Got a int, expected"):
      adapters.get(kind)(3, _SPEC)

  @pytest.mark.slow
  def test_linen(self):
    net, adapt = _Linen(), adapters.get("flax_module")
    pixels = _SPEC.normalize_on_host(_images())
    variables = net.init(jax.random.key(0), pixels, True)
    _, moved = net.apply(variables, pixels, True, mutable="batch_stats")
    variables = {**variables, **moved}
    model = adapt(net, _SPEC, variables, train=False)
    self._check(model, lambda x: net.apply(variables, x, False))
    with self.assertRaisesRegex(ValueError, "give its variables"):
      adapt(net, _SPEC)
    model = adapt(net, _SPEC, variables, name="mine", train=True)
    with self.assertRaisesRegex(
      errors.UserError, "^mine is in train mode: .*`train=False`"
    ):
      model.apply(variables, _images())

  def test_nnx(self):
    net, adapt = _Nnx(nnx.Rngs(0)), adapters.get("flax_module")
    net.dropout.deterministic = True
    with self.assertRaisesRegex(ValueError, r"norm .*module.eval\(\)"):
      adapt(net, _SPEC)
    net.train()
    net.norm.use_running_average = True
    with self.assertRaisesRegex(ValueError, r"dropout .*module.eval\(\)"):
      adapt(net, _SPEC)
    net.train()
    net(_SPEC.normalize_on_host(_images()))  # moves the statistics
    net.eval()
    self._check(adapt(net, _SPEC), net)
    with self.assertRaisesRegex(ValueError, "carries its variables"):
      adapt(net, _SPEC, {})

  def test_keras(self):
    keras = pytest.importorskip("keras", reason="the extra `keras`")
    if keras.backend.backend() != "jax":
      with self.assertRaisesRegex(ValueError, "KERAS_BACKEND=jax"):
        adapters.get("keras")("net.keras", _SPEC)
      self.skipTest("Keras was imported with another backend before.")
    keras.utils.set_random_seed(0)
    net = keras.Sequential(
      [
        keras.Input((16, 16, 3)),
        keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(4),
      ]
    )
    path = os.path.join(self.create_tempdir().full_path, "net.keras")
    net.save(path)
    for given in (net, path):
      self._check(adapters.get("keras")(given, _SPEC), net)

  def test_savedmodel(self):
    pytest.importorskip("tf2jax", reason="the extra `savedmodel`")
    import tensorflow as tf

    rng = np.random.default_rng(0)
    module = tf.Module()
    module.kernel = tf.Variable(rng.standard_normal((3, 3, 3, 4), np.float32))

    @tf.function(
      input_signature=[tf.TensorSpec((None, 16, 16, 3), tf.float32, "images")]
    )
    def serve(images):
      y = tf.nn.conv2d(images, module.kernel, 2, "SAME")
      return {"logits": tf.reduce_mean(tf.nn.relu(y), (1, 2))}

    path = self.create_tempdir().full_path
    tf.saved_model.save(module, path, {"serving_default": serve})
    adapt = adapters.get("savedmodel")
    self._check(adapt(path, _SPEC), lambda x: serve(x)["logits"].numpy())
    with self.assertRaisesRegex(ValueError, "no signature 'other'"):
      adapt(path, _SPEC, signature="other")
    with self.assertRaisesRegex(ValueError, "no output 'other'"):
      adapt(path, _SPEC, output="other")

  def test_tensorflow_in_memory(self):
    pytest.importorskip("tf2jax", reason="the extra `savedmodel`")
    import tensorflow as tf

    rng = np.random.default_rng(0)
    kernel = tf.Variable(rng.standard_normal((3, 3, 3, 4), np.float32))

    def net(images, training):
      self.assertFalse(training)
      return tf.reduce_mean(tf.nn.conv2d(images, kernel, 1, "VALID"), (1, 2))

    model = adapters.get("tfm")(net, _SPEC, training=False)
    self._check(model, lambda x: net(x, False).numpy())

  @parameterized.parameters(
    ("onnx", "onnx"), ("savedmodel", "tf2jax"), ("keras", "keras")
  )
  def test_missing_package_is_said(self, kind, package):
    import sys
    from unittest import mock

    with mock.patch.dict(sys.modules, {package: None}):
      with self.assertRaisesRegex(ImportError, rf"robust_tfds\[{kind}\]"):
        adapters.get(kind)("nowhere", _SPEC)
