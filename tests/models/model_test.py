"""The contract of models: pure functions, dtypes, refusals."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from models import adapters
from models import model as model_lib
from models import variables as variables_lib
from robust_tfds import models
from tests.models import drawn, with_norms


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


@dataclasses.dataclass(frozen=True)
class _OfAUser(model_lib.Model):
  """As somebody may write one, with weights in a field."""

  weights: np.ndarray

  def init(self, key):
    return self.weights

  def apply(self, variables, batch):
    return batch


class ReprTest(parameterized.TestCase):
  @parameterized.parameters("callable", "on_host", "", "user", "clahe")
  def test_a_line_without_weights(self, kind):
    spec = models.spec.Spec(num_classes=10, mean=np.zeros(3), std=np.ones(3))
    if kind == "user":
      model = _OfAUser("user", spec, np.zeros((99, 99)))
    elif kind in adapters.names():
      model = adapters.get(kind)(lambda x: x, spec)
      model = dataclasses.replace(model, variables=np.zeros((99, 99)))
    else:
      model = models.get("+".join(("digits_cnn", *filter(None, [kind]))))
    text = repr(model)
    self.assertLess(len(text), 80)
    self.assertNotIn("\n", text)
    expected = f"({model.name!r}, classification, 10 classes)"
    self.assertEqual(text, type(model).__name__ + expected)
    self.assertNotIn("\n", repr(spec))


class TrainingTest(absltest.TestCase):
  def test_who_can_be_trained(self):
    for name, trainable in (
      ("digits_cnn", True),
      ("tiny_r3d", True),
      ("tiny_retinanet", True),
      ("fasterrcnn_resnet50_fpn", True),
      ("digits_cnn+clahe", False),
    ):
      self.assertEqual(models.get(name).trainable, trainable, name)
    spec = models.get("digits_cnn").spec
    model = adapters.get("callable")(lambda x: x, spec)
    self.assertIsInstance(model, model_lib.Model)
    self.assertFalse(model.trainable)

  def test_a_step_moves_statistics_alone(self):
    model = with_norms.model()
    variables = drawn.variables(model)
    images = np.random.default_rng(0).integers(
      0, 256, (5, 32, 32, 3), dtype=np.uint8
    )
    logits, after = jax.jit(model.apply_train)(
      variables, images, jax.random.key(0)
    )
    self.assertEqual(jax.tree.structure(after), jax.tree.structure(variables))
    pixels = np.asarray(model.preprocess(images), np.float64).reshape(-1, 3)
    for name, value in (
      ("mean", pixels.mean(0)),
      ("var", pixels.var(0, ddof=1)),  # torch keeps the unbiased one
    ):
      want = 0.9 * variables["norm"][name] + 0.1 * value
      np.testing.assert_allclose(after["norm"][name], want, rtol=1e-5)
      after["norm"][name] = variables["norm"][name]
    jax.tree.map(np.testing.assert_array_equal, after, variables)
    spread = np.sqrt(pixels.var(0) + 1e-5)  # and normalises by the biased one
    normal = (pixels - pixels.mean(0)) / spread
    norm, inner = variables["norm"], variables["inner"]
    mean = (normal * norm["scale"] + norm["bias"]).reshape(5, -1, 3).mean(1)
    mean = mean + mean @ inner["kernel"] + inner["bias"]
    want = mean @ variables["head"]["kernel"] + variables["head"]["bias"]
    np.testing.assert_allclose(logits, want, atol=1e-5)

  def test_frozen_norms_are_those_of_evaluation(self):
    model = with_norms.model()
    variables = drawn.variables(model)
    batch = np.random.default_rng(0).standard_normal((5, 32, 32, 3), np.float32)
    logits, after = model.apply_train(
      variables, batch, jax.random.key(0), frozen_norms=True
    )
    np.testing.assert_array_equal(logits, model.apply(variables, batch))
    jax.tree.map(np.testing.assert_array_equal, after, variables)

  def test_what_is_given_is_not_written_over(self):
    """Outside of programs, too, where weights are NumPy's."""
    model = with_norms.model()
    variables, before = drawn.variables(model), drawn.variables(model)
    batch = np.random.default_rng(0).standard_normal((5, 32, 32, 3), np.float32)
    _, after = model.apply_train(variables, batch, jax.random.key(0))
    jax.tree.map(np.testing.assert_array_equal, variables, before)
    for name in ("mean", "var"):
      self.assertFalse(np.allclose(after["norm"][name], before["norm"][name]))

  def test_statistics_have_no_gradient(self):
    model = with_norms.model(0.5)
    variables = drawn.variables(model)
    batch = np.random.default_rng(0).standard_normal((5, 32, 32, 3), np.float32)

    def loss(variables, frozen):
      logits, _ = model.apply_train(
        variables, batch, jax.random.key(1), frozen_norms=frozen
      )
      return logits.var()

    for frozen in (False, True):
      flat = variables_lib.flatten(jax.grad(loss)(variables, frozen))
      zero = {path for path, value in flat.items() if not value.any()}
      self.assertEqual(zero, model.statistics(), frozen)

  def test_frozen_stages_are_as_in_evaluation(self):
    """Their statistics, draws and gradients; the rest trains."""
    model = with_norms.model(0.5)
    variables = drawn.variables(model)
    batch = np.random.default_rng(0).standard_normal((5, 32, 32, 3), np.float32)

    def loss(variables, model, stages):
      logits, after = model.apply_train(
        variables, batch, jax.random.key(1), frozen_stages=stages
      )
      return logits.var(), (logits, after)

    for stages in (1, 2):
      gradient, (logits, after) = jax.grad(loss, has_aux=True)(
        variables, model, stages
      )
      jax.tree.map(np.testing.assert_array_equal, after, variables)
      flat = variables_lib.flatten(gradient)
      zero = {path for path, value in flat.items() if not value.any()}
      frozen = model.statistics() | model.frozen_paths(stages=stages)
      self.assertEqual(zero, frozen)
    # Two stages leave one layer that draws.
    calm = with_norms.model()
    same = calm.apply(variables, batch)
    _, (want, _) = loss(variables, calm, 2)
    np.testing.assert_array_equal(want, same)
    self.assertFalse(np.allclose(logits, same))
    with self.assertRaisesRegex(ValueError, "with_norms: got 3 stages to"):
      loss(variables, model, 3)

  def test_draws_follow_the_key_alone(self):
    model = with_norms.model(0.5)
    variables = drawn.variables(model)
    batch = np.ones((6, 32, 32, 3), np.float32)

    def logits(key, rows=6):
      return np.asarray(
        model.apply_train(
          variables, batch[:rows], jax.random.key(key), frozen_norms=True
        )[0]
      )

    np.testing.assert_array_equal(logits(0), logits(0))
    self.assertFalse(np.array_equal(logits(0), logits(1)))
    np.testing.assert_allclose(logits(0, 2), logits(0)[:2], atol=1e-6)
    self.assertGreater(np.ptp(logits(0), axis=0).max(), 0)

  def test_no_train_mode(self):
    for name in ("digits_cnn+clahe", "digits_linear+ten_crop"):
      model = models.get(name)
      with self.assertRaisesRegex(ValueError, "no train mode: networks of"):
        model.apply_train({}, {}, jax.random.key(0))

  def test_a_key_that_is_none(self):
    model = with_norms.model()
    with self.assertRaisesRegex(ValueError, "apply_train got 'None', expected"):
      model.apply_train({}, np.ones((1, 32, 32, 3), np.uint8), None)
