"""Checks of what a model answers, and of agreement."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from models.adapters import Adapted, OnHost, routes
from models.checks import answers
from models.spec import Spec
from robust_tfds import errors, models


def _detections(**changes):
  return {
    "boxes": np.zeros((2, 3, 4), np.float32),
    "scores": np.zeros((2, 3), np.float32),
    "classes": np.zeros((2, 3), np.int32),
    "valid": np.zeros((2, 3), bool),
    **changes,
  }


class AnswersTest(parameterized.TestCase):
  """What a model from elsewhere may answer: shapes, dtypes, names."""

  def test_by_the_kind_of_the_spec(self):
    spec = models.get("digits_cnn").spec
    got = answers.check("mine", spec, np.zeros((2, 10), np.float16), 2)
    self.assertEqual((got.shape, got.dtype), ((2, 10), np.float32))
    spec = models.get("tiny_retinanet").spec
    whole = _detections(masks=np.zeros((2, 3, 5, 5), np.float32))
    self.assertEqual(set(answers.check("mine", spec, whole, 2)), set(whole))

  @parameterized.parameters(
    ({"boxes": np.zeros((2, 3, 5), np.float32)}, "boxes of shape .2, 3, 5."),
    ({"classes": np.zeros((2, 3), np.float32)}, "classes of float32, expected"),
    ({"valid": np.zeros((2, 3), np.int32)}, "valid of int32, expected bool"),
    ({"scores": np.zeros((2, 3), np.int32)}, "scores of int32, expected float"),
    ({"masks": np.zeros((2, 3, 5), np.float32)}, "masks of shape"),
    ({"scores": "high"}, "scores as a str"),
  )
  def test_wrong_detections(self, change, words):
    with self.assertRaisesRegex(errors.UserError, words):
      answers.detections("mine", _detections(**change), 2)

  def test_detections_that_are_none(self):
    with self.assertRaisesRegex(errors.UserError, "a list, expected a dict"):
      answers.detections("mine", [], 2)
    with self.assertRaisesRegex(errors.UserError, "gave boxes, without scores"):
      answers.detections("mine", {"boxes": _detections()["boxes"]}, 2)


_SPEC = Spec(input_px=8, resize_px=8, num_classes=3)


def _host(pixels):
  return pixels.mean((1, 2))


class AgreementTest(parameterized.TestCase):
  """A run takes the traced route where it gives what the host gives."""

  def _choose(self, traced):
    host = OnHost("mine", _SPEC, _host, preprocessed=True)
    return routes.choose_route(traced, host)

  @parameterized.parameters((1e-7, False), (1e-3, True))
  def test_by_the_distance(self, apart, on_host):
    model = self._choose(
      lambda: Adapted("mine", _SPEC, lambda _, x: _host(x) * (1 + apart))
    )
    self.assertEqual(model.on_host, on_host)
    words = "^host: in JAX .* are 1" if on_host else "^traced: .*e-0[78] of"
    self.assertRegex(model.route, words)

  def test_what_cannot_be_traced(self):
    def traced():
      raise errors.UserError("no such operator.")

    model = self._choose(traced)
    self.assertTrue(model.on_host)
    self.assertEqual(model.route, "host: no such operator.")

  def test_batches(self):
    self.assertEqual(routes.batch_shape(_SPEC, 2), (2, 8, 8, 3))
    with self.assertRaisesRegex(errors.UserError, "Got a spec of type dict"):
      routes.batch_shape({}, 2)


class ArgumentsTest(parameterized.TestCase):
  """Arguments of models that are refused in words."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("digits_linear")
    cls.variables = cls.model.init(jax.random.key(0))

  def test_keys_of_every_kind_are_the_same(self):
    for key in (
      0,
      np.int64(0),
      jax.random.PRNGKey(0),
      np.asarray(jax.random.PRNGKey(0)),
    ):
      jax.tree.map(
        np.testing.assert_array_equal, self.model.init(key), self.variables
      )

  @parameterized.parameters(
    (None,), (1.5,), ("a",), (True,), (1 << 70,), (np.zeros(3),)
  )
  def test_keys_that_are_none(self, key):
    with self.assertRaisesRegex(
      errors.UserError, "digits_linear.init got .*, expected one key"
    ):
      self.model.init(key)
    with self.assertRaisesRegex(errors.UserError, r"key<fry> \[2\]"):
      self.model.init(jax.random.split(jax.random.key(0)))

  @parameterized.parameters(
    (np.zeros((2, 32, 32, 3), np.int16), "int16 pixels, expected uint8"),
    (np.zeros((2, 32, 32, 3), bool), "bool pixels"),
    (
      np.zeros((2, 3, 32, 32), np.float32),
      r"a batch of shape \(2, 3, 32, 32\), expected",
    ),
    (
      np.zeros((32, 32, 3), np.uint8),
      r"a batch of shape \(32, 32, 3\), expected",
    ),
    (np.zeros((2, 28, 28, 3), np.uint8), "pictures of 28 x 28, expected 32 x"),
    (np.zeros((0, 32, 32, 3), np.uint8), "an empty batch of shape"),
    (np.full((2, 32, 32, 3), "a"), "a ndarray as a batch"),
    (None, "a NoneType as a batch"),
    ([[1, 2], [3]], "a list as a batch"),
  )
  def test_batches(self, batch, words):
    with self.assertRaisesRegex(errors.UserError, f"digits_linear got {words}"):
      self.model.apply(self.variables, batch)

  def test_variables(self):
    batch = np.zeros((1, 32, 32, 3), np.uint8)
    for variables in (None, [1, 2], "a", {"head": {"kernel": "x", "bias": 1}}):
      with self.assertRaisesRegex(errors.UserError, "do not fit digits_linear"):
        self.model.apply(variables, batch)

  @parameterized.parameters(
    ("a",), (jnp.ones((2, 2)),), ([8, 8],), (np.array([[8, 8]]),)
  )
  def test_sizes(self, sizes):
    detector = models.get("tiny_retinanet")
    images = np.zeros((2, 64, 64, 3), np.uint8)
    with self.assertRaisesRegex(errors.UserError, "tiny_retinanet.* sizes"):
      detector.apply({}, images, sizes)

  @parameterized.parameters(0, -1, 1, 2.5, "10", True, float("nan"), 10**12)
  def test_numbers_of_classes(self, number):
    with self.assertRaisesRegex(errors.UserError, "^Got num_classes=.*of 2 or"):
      models.get("digits_linear", num_classes=number)
    self.assertEqual(
      models.get("digits_linear", np.int64(5)).spec.num_classes, 5
    )

  def test_names(self):
    for name in (None, 3, b"digits_linear"):
      with self.assertRaisesRegex(errors.UserError, "as the name of a model"):
        models.get(name)
    with self.assertRaisesRegex(errors.UserError, "Unknown kind of models 'x'"):
      models.get("digits_linear", kind="x")
