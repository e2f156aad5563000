"""Weights as a file: read back to the last bit, or refused."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from models import weights_file
from robust_tfds import errors, models
from robust_tfds.storage import npz
from tests import in_folder


def _arrays(**changes):
  return {"a": {"kernel": np.arange(6.0).reshape(2, 3)}, **changes}


class DigestTest(parameterized.TestCase):
  def test_where_arrays_lie_does_not_matter(self):
    on_device = {"a": {"kernel": jnp.arange(6, dtype=jnp.float32)}}
    on_host = {"a": {"kernel": np.arange(6, dtype=np.float32)}}
    self.assertEqual(
      weights_file.sha256(on_device), weights_file.sha256(on_host)
    )
    transposed = np.asfortranarray(_arrays()["a"]["kernel"])
    self.assertEqual(
      weights_file.sha256({"a": {"kernel": transposed}}),
      weights_file.sha256(_arrays()),
    )

  @parameterized.named_parameters(
    ("value", {"a": {"kernel": np.arange(1.0, 7).reshape(2, 3)}}),
    ("shape", {"a": {"kernel": np.arange(6.0).reshape(3, 2)}}),
    ("dtype", {"a": {"kernel": np.arange(6).reshape(2, 3)}}),
    ("name", {"a": {"bias": np.arange(6.0).reshape(2, 3)}}),
    ("more", _arrays(b=np.zeros(1))),
  )
  def test_everything_else_does(self, other):
    self.assertNotEqual(
      weights_file.sha256(other), weights_file.sha256(_arrays())
    )


class FileTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    variables = models.get("digits_linear").init(jax.random.key(0))
    self.variables = jax.tree.map(np.asarray, variables)
    self.sha256 = weights_file.sha256(self.variables)
    self.path = self.root / "a" / weights_file.FILE

  def test_to_the_last_bit(self):
    weights_file.write(self.path, self.variables)
    again = weights_file.read(self.path, self.sha256)
    jax.tree.map(np.testing.assert_array_equal, again, self.variables)
    first = self.path.read_bytes()
    weights_file.write(self.path, again)
    self.assertEqual(self.path.read_bytes(), first)

  def test_other_weights(self):
    weights_file.write(self.path, jax.tree.map(lambda x: x + 1, self.variables))
    with self.assertRaisesRegex(
      errors.UserError, "npz: these weights have the"
    ):
      weights_file.read(self.path, self.sha256)

  @parameterized.parameters(
    ({"a": np.zeros(1), "a/b": np.zeros(1)}, "these are no variables"),
    ({"/".join("a" * 33): np.zeros(1)}, "a path of 1 to 32 names, got 33"),
    ({"a//b": np.zeros(1)}, "a path of 1 to 32 names"),
    ({"a": np.array([1, np.nan])}, "expected finite numbers"),
    ({"a": np.array(["x"])}, "finite numbers, got <U1"),
    ({"a": np.ones(2, complex)}, "finite numbers, got complex128"),
  )
  def test_arrays_that_are_no_variables(self, arrays, message):
    self.path.parent.mkdir(parents=True)
    self.path.write_bytes(npz.archived(arrays))
    with self.assertRaisesRegex(errors.UserError, message):
      weights_file.read(self.path, self.sha256)
