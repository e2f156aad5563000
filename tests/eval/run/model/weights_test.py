"""Weights as they travel: read back to the last bit, or refused."""

import jax
import ml_collections
import numpy as np
from absl.testing import parameterized

from robust_tfds import errors, models
from robust_tfds.eval.cells import packed, provenance
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.eval.run import train
from robust_tfds.eval.run.model import weights
from tests import in_folder

_RECIPE = ml_collections.ConfigDict({"dataset": "digits", "steps": 1})


class WeightsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.model = models.get("digits_linear")
    variables = self.model.init(jax.random.key(0))
    self.variables = jax.tree.map(np.asarray, variables)
    self.sha256 = provenance.weights_sha256(self.variables)
    self.workdir = Workdir(self.root)
    self.path = weights.path(self.workdir, "a")

  def test_to_the_last_bit(self):
    weights.write(self.path, self.variables)
    again = weights.read(self.path, self.sha256)
    jax.tree.map(np.testing.assert_array_equal, again, self.variables)
    first = self.path.read_bytes()
    weights.write(self.path, again)
    self.assertEqual(self.path.read_bytes(), first)

  def test_other_weights(self):
    weights.write(self.path, jax.tree.map(lambda x: x + 1, self.variables))
    with self.assertRaisesRegex(
      errors.UserError, "npz: these weights have the"
    ):
      weights.read(self.path, self.sha256)

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
    self.path.write_bytes(packed.archived(arrays))
    with self.assertRaisesRegex(errors.UserError, message):
      weights.read(self.path, self.sha256)

  def test_of_a_run_and_of_a_submission(self):
    self.assertIsNone(weights.of_run(self.workdir, "a", self.sha256))
    folder = self.workdir.model_folder("a")
    train.store(self.model, _RECIPE, folder, self.variables)
    self.assertIsNone(weights.of_run(self.workdir, "a", "0" * 64))
    again = weights.of_run(self.workdir, "a", self.sha256)
    jax.tree.map(np.testing.assert_array_equal, again, self.variables)
    submission = Workdir(self.root / "submission")
    weights.write(weights.path(submission, "a"), again)
    again = weights.of_run(submission, "a", self.sha256)
    self.assertEqual(provenance.weights_sha256(again), self.sha256)

  def test_weights_of_another_network(self):
    other = models.get("digits_cnn")
    with self.assertRaisesRegex(errors.UserError, "Variables do not fit"):
      train.store(other, _RECIPE, self.root / "other", self.variables)
