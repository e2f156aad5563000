"""The registry, and the contract of every model in it."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

import models
from models import adapters
from models import model as model_lib
from models.spec import Spec


def build_own():
  """A model of the user's own, as `module:function` names it."""
  return adapters.get("callable")(
    lambda x: x.mean((1, 2, 3))[:, None] * jnp.arange(10.0),
    models.get("digits_cnn").spec,
    name="mine",
  )


def build_nothing():
  """Not a model."""
  return 3


class RegistryTest(parameterized.TestCase):
  def test_names(self):
    names = models.names()
    self.assertEqual(names, tuple(sorted(names)))
    for name in ("alexnet", "digits_cnn", "resnet50", "squeezenet1_1"):
      self.assertIn(name, names)

  def test_unknown_name_is_answered_with_the_nearest(self):
    with self.assertRaisesRegex(ValueError, "Did you mean 'resnet50'"):
      models.get("resnet5O")
    with self.assertRaisesRegex(ValueError, "Unknown model 'qqq'.*Known: "):
      models.get("qqq")

  def test_enhancements_in_the_name(self):
    model = models.get("digits_cnn+clahe")
    self.assertEqual(model.name, "digits_cnn+clahe")
    self.assertIs(
      models.family("digits_cnn+clahe"), models.family("digits_cnn")
    )
    with self.assertRaisesRegex(ValueError, "Did you mean 'clahe'"):
      models.get("digits_cnn+clahee")

  def test_own_model_by_path(self):
    model = models.get(f"{__name__}:build_own")
    self.assertEqual(model.name, "mine")
    with self.assertRaisesRegex(ValueError, "No model at 'nowhere:build'"):
      models.get("nowhere:build")
    with self.assertRaisesRegex(ValueError, "without name, spec"):
      models.get(f"{__name__}:build_nothing")
    with self.assertRaisesRegex(
      ValueError, "has 10 classes, got num_classes=3"
    ):
      models.get(f"{__name__}:build_own", num_classes=3)
    with self.assertRaisesRegex(ValueError, "brings its own variables"):
      models.convert.load(f"{__name__}:build_own", "x.npz")

  def test_refuses_bad_options(self):
    with self.assertRaisesRegex(ValueError, "num_classes=1"):
      models.get("resnet18", num_classes=1)
    with self.assertRaisesRegex(ValueError, "float16.*expected one of"):
      models.get("resnet18", dtype="float16")

  def test_another_head_has_its_own_labels(self):
    model = models.get("resnet18", num_classes=7)
    self.assertEqual(model.spec.num_classes, 7)
    self.assertEqual(model.spec.label_space, "custom")
    self.assertEqual(model.shapes()["fc", "kernel"], (512, 7))
    self.assertEqual(models.get("resnet18", 1000), models.get("resnet18"))

  @parameterized.parameters(*models.names())
  def test_published_size(self, name):
    model = models.get(name)
    self.assertIsNotNone(model.spec.parameters)
    self.assertEqual(model.count_parameters(), model.spec.parameters)
    self.assertTrue(model.spec.source)
    self.assertTrue(models.family(name).__doc__)

  def test_spec_refuses_what_cannot_be(self):
    with self.assertRaisesRegex(ValueError, "crop must lie inside"):
      Spec(input_px=299, resize_px=256)
    with self.assertRaisesRegex(ValueError, "expected one of"):
      Spec(resize="stretch")
    with self.assertRaisesRegex(ValueError, "expected one of"):
      Spec(channel_order="gbr")


class ModelTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.model = models.get("digits_cnn")
    self.variables = self.model.init(jax.random.key(0))
    rng = np.random.default_rng(0)
    self.images = rng.integers(0, 256, (5, 32, 32, 3), np.uint8)

  def test_init_is_a_function_of_the_key(self):
    again = jax.jit(self.model.init)(jax.random.key(0))
    other = self.model.init(jax.random.key(1))
    same = jax.tree.map(np.array_equal, self.variables, again)
    self.assertTrue(all(jax.tree.leaves(same)))
    kernel = self.variables["head"]["kernel"]
    self.assertFalse(np.array_equal(kernel, other["head"]["kernel"]))
    self.assertGreater(float(jnp.std(kernel)), 0)

  def test_uint8_is_preprocessed_as_the_spec_says(self):
    spec = dataclasses.replace(
      self.model.spec,
      channel_order="bgr",
      scale=1.0,
      mean=(1.0, 2.0, 3.0),
      std=(2.0, 4.0, 8.0),
    )
    model = dataclasses.replace(self.model, spec=spec)
    pixels = model.preprocess(np.full((1, 1, 1, 3), (30, 20, 10), np.uint8))
    np.testing.assert_allclose(pixels[0, 0, 0], [4.5, 4.5, 3.375])
    np.testing.assert_allclose(
      model.apply(self.variables, self.images),
      model.apply(self.variables, model.preprocess(self.images)),
      rtol=1e-6,
    )

  def test_jit_and_batch_size_do_not_matter(self):
    whole = self.model.apply(self.variables, self.images)
    self.assertEqual(whole.dtype, jnp.float32)
    self.assertEqual(whole.shape, (5, 10))
    one = jax.jit(self.model.apply)(self.variables, self.images[3:4])
    np.testing.assert_allclose(one, whole[3:4], atol=1e-5)

  def test_bfloat16_computes_near_float32(self):
    model = models.get("digits_cnn", dtype="bfloat16")
    got = model.apply(self.variables, self.images)
    want = self.model.apply(self.variables, self.images)
    self.assertEqual(got.dtype, jnp.float32)
    scale = float(jnp.abs(want).max())
    self.assertLess(float(jnp.abs(got - want).max()), 0.03 * scale)
    self.assertFalse(np.array_equal(got, want))

  def test_bfloat16_keeps_statistics_wide(self):
    model = models.get("resnet18", dtype="bfloat16")
    batch = np.random.default_rng(0).standard_normal((2, 64, 64, 3), np.float32)
    variables = jax.jit(model.init)(jax.random.key(0))
    got = jax.jit(model.apply)(variables, batch)
    want = jax.jit(models.get("resnet18").apply)(variables, batch)
    self.assertEqual(got.dtype, jnp.float32)
    scale = float(jnp.abs(want).max())
    self.assertLess(float(jnp.abs(got - want).max()), 0.05 * scale)

  def test_refuses_batches_that_do_not_fit(self):
    def apply(batch):
      return self.model.apply(self.variables, batch)

    with self.assertRaisesRegex(ValueError, r"shape \(32, 32, 3\)"):
      apply(self.images[0])
    with self.assertRaisesRegex(ValueError, "28 x 28, expected 32 x 32"):
      apply(self.images[:, :28, :28])
    with self.assertRaisesRegex(ValueError, "int32 pixels"):
      apply(self.images.astype(np.int32))

  def test_refuses_variables_of_another_model(self):
    other = models.get("digits_linear").init(jax.random.key(0))
    with self.assertRaisesRegex(ValueError, "do not fit digits_cnn: at conv1"):
      self.model.apply(other, self.images)
    extra = {**self.variables, "tail": {"bias": np.zeros(3)}}
    with self.assertRaisesRegex(ValueError, "has no tail/bias"):
      self.model.apply(extra, self.images)

  def test_variables_are_a_plain_nested_dict(self):
    flat = model_lib.flatten(self.variables)
    self.assertEqual(set(flat), set(self.model.shapes()))
    again = model_lib.nest(flat)
    self.assertEqual(
      jax.tree.structure(again), jax.tree.structure(self.variables)
    )

  def test_gradients_reach_every_variable(self):
    def loss(variables):
      return self.model.apply(variables, self.images)[:, 0].sum()

    gradient = jax.grad(loss)(self.variables)
    for path, leaf in model_lib.flatten(gradient).items():
      self.assertGreater(float(jnp.abs(leaf).max()), 0, path)


class NetworkTest(parameterized.TestCase):
  """Small passes; equality with the references is in convert/parity_test."""

  @parameterized.parameters("squeezenet1_0", "squeezenet1_1")
  def test_squeezenet_takes_any_size(self, name):
    model = models.get(name, num_classes=4)
    variables = jax.jit(model.init)(jax.random.key(0))
    for side in (64, 97, 224, 227):
      batch = jax.ShapeDtypeStruct((2, side, side + 5, 3), np.uint8)
      got = jax.eval_shape(model.apply, variables, batch)
      self.assertEqual(got.shape, (2, 4))
    batch = np.random.default_rng(0).integers(0, 256, (1, 64, 70, 3), np.uint8)
    self.assertTrue(np.isfinite(jax.jit(model.apply)(variables, batch)).all())

  def test_vit_refuses_other_sizes(self):
    model = models.get("vit_tiny_patch16_224")
    with self.assertRaisesRegex(ValueError, "expected 224 x 224"):
      model.apply({}, np.zeros((1, 256, 256, 3), np.uint8))


if __name__ == "__main__":
  absltest.main()
