"""The contract of models: pure functions, dtypes, refusals."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from robust_tfds import models
from robust_tfds.models import adapters
from robust_tfds.models import model as model_lib
from robust_tfds.models import variables as variables_lib
from tests.models import drawn


class ModelTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("digits_cnn")
    cls.variables = cls.model.init(jax.random.key(0))
    rng = np.random.default_rng(0)
    cls.images = rng.integers(0, 256, (5, 32, 32, 3), np.uint8)

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

  def test_with_fields(self):
    fields = {"mean": (0.1, 0.2, 0.3), "interpolation": "bicubic"}
    model = models.get("digits_linear+clahe").with_fields(fields)
    for spec in (model.spec, model.model.spec):
      self.assertEqual(spec.mean, (0.1, 0.2, 0.3))
      self.assertEqual(spec.interpolation, "bicubic")
    self.assertEndsWith(model.spec.source, " + clahe")
    with self.assertRaisesRegex(ValueError, "field of a Spec 'men'"):
      model.with_fields({"men": 3})

  def test_a_function_of_bytes_prepares_them_itself(self):
    spec = self.model.spec
    host = adapters.get("on_host")
    mine = host(lambda x: x, spec, preprocessed=True)
    self.assertEqual(mine.with_fields({"scale": 1}).spec.scale, 1)
    mine = host(lambda x: x, spec)
    with self.assertRaisesRegex(ValueError, "spec.scale would change nothing"):
      mine.with_fields({"scale": 1})
    self.assertEqual(mine.with_fields({"resize": "squash"}).name, "on_host")

  def test_jit_and_batch_size_do_not_matter(self):
    whole = self.model.apply(self.variables, self.images)
    self.assertEqual(whole.dtype, jnp.float32)
    self.assertEqual(whole.shape, (5, 10))
    one = jax.jit(self.model.apply)(self.variables, self.images[3:4])
    np.testing.assert_allclose(one, whole[3:4], atol=1e-5)

  @pytest.mark.slow
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
    batch = np.random.default_rng(0).standard_normal((2, 32, 32, 3), np.float32)
    variables = drawn.variables(model)
    got = jax.jit(model.apply)(variables, batch)
    want = jax.jit(models.get("resnet18").apply)(variables, batch)
    self.assertEqual(got.dtype, jnp.float32)
    scale = float(jnp.abs(want).max())
    self.assertLess(float(jnp.abs(got - want).max()), 0.05 * scale)

  def test_gradients_reach_every_variable(self):
    def loss(variables):
      return self.model.apply(variables, self.images)[:, 0].sum()

    gradient = jax.jit(jax.grad(loss))(self.variables)
    for path, leaf in variables_lib.flatten(gradient).items():
      self.assertGreater(float(jnp.abs(leaf).max()), 0, path)


class TrainingTest(absltest.TestCase):
  def test_who_can_be_trained(self):
    for name, trainable in (
      ("digits_cnn", True),
      ("tiny_r3d", True),
      ("tiny_retinanet", True),
      ("retinanet_resnet50_fpn", False),  # batch norms, no train mode
      ("fasterrcnn_resnet50_fpn", False),
      ("digits_cnn+clahe", False),
    ):
      self.assertEqual(models.get(name).trainable, trainable, name)
    spec = models.get("digits_cnn").spec
    model = adapters.get("callable")(lambda x: x, spec)
    self.assertIsInstance(model, model_lib.Model)
    self.assertFalse(model.trainable)

  def test_a_loss_that_is_not_there(self):
    with self.assertRaisesRegex(ValueError, "digits_cnn.*no training loss"):
      models.get("digits_cnn").loss({}, {})
