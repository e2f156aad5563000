"""Weights as they travel: read back to the last bit, or refused."""

import jax
import ml_collections
import numpy as np

from eval.cells.workdir import Workdir
from eval.run.model import trained, weights
from models import weights_file
from robust_tfds import errors, models
from tests import in_folder

_RECIPE = ml_collections.ConfigDict({"dataset": "digits", "steps": 1})


class WeightsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.model = models.get("digits_linear")
    variables = self.model.init(jax.random.key(0))
    self.variables = jax.tree.map(np.asarray, variables)
    self.sha256 = weights_file.sha256(self.variables)
    self.workdir = Workdir(self.root)

  def test_of_a_run_and_of_a_submission(self):
    self.assertIsNone(weights.read(self.workdir, "a", self.sha256))
    folder = self.workdir.model_folder("a")
    trained.store(self.model, _RECIPE, folder, self.variables)
    self.assertIsNone(weights.read(self.workdir, "a", "0" * 64))
    again = weights.read(self.workdir, "a", self.sha256)
    jax.tree.map(np.testing.assert_array_equal, again, self.variables)
    submission = Workdir(self.root / "submission")
    weights_file.write(weights.path(submission, "a"), again)
    again = weights.read(submission, "a", self.sha256)
    self.assertEqual(weights_file.sha256(again), self.sha256)

  def test_weights_of_another_network(self):
    other = models.get("digits_cnn")
    with self.assertRaisesRegex(errors.UserError, "Variables do not fit"):
      trained.store(other, _RECIPE, self.root / "other", self.variables)
