"""Arguments of models that are refused in words."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from robust_tfds import errors, models


class ArgumentsTest(parameterized.TestCase):
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
    (None,), ("a",), (jnp.ones((2, 2)),), ([8, 8],), (np.array([[8, 8]]),)
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
