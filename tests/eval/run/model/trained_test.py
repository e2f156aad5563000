"""Small models: trained once, read again, never mixed up."""

import re
import subprocess
import sys
import tempfile
from unittest import mock

import jax
import ml_collections
import numpy as np
from absl.testing import absltest, parameterized
from etils import epath

from eval.run.model import trained
from models import adapters
from robust_tfds import datasets, devices, errors, hosts, models
from tests.models import with_norms

# Reads a trained model; says which of the trainer's packages that took.
_READS = """
import sys, ml_collections
from etils import epath
from robust_tfds import models
from eval.run.model import trained
folder, recipe = epath.Path(sys.argv[1]), ml_collections.ConfigDict(eval(sys.argv[2]))
trained.load_or_train(models.get("digits_linear"), recipe, folder, data_dir="")
print({"grain", "orbax", "dm_pix"} & {*sys.modules})
"""


def _recipe(**changes) -> ml_collections.ConfigDict:
  recipe = {
    "dataset": "digits",
    "split": "train",
    "steps": 20,
    "batch_size": 32,
    "learning_rate": 1e-2,
    "seed": 0,
  }
  return ml_collections.ConfigDict({**recipe, **changes})


class TrainedTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = epath.Path(tempfile.mkdtemp())
    cls.model = models.get("digits_linear")
    cls.variables = cls._load()

  @classmethod
  def _load(cls, folder="first", model=None, **changes):
    return trained.load_or_train(
      model or cls.model,
      _recipe(**changes),
      cls.folder / folder,
      data_dir=str(cls.folder / "data"),
    )

  def _assert_error_below(self, share, model, variables):
    builder = datasets.builder("digits", data_dir=str(self.folder / "data"))
    rows = list(builder.as_data_source("test"))
    images = np.stack([row["image"] for row in rows])
    answers = np.argmax(model.apply(variables, images), axis=-1)
    wrong = answers != np.array([row["label"] for row in rows])
    self.assertLess(wrong.mean(), share)

  def test_it_learns(self):
    self._assert_error_below(0.25, self.model, self.variables)

  def test_read_again_to_the_last_bit_without_data(self):
    with mock.patch.object(datasets, "prepare") as read:
      again = self._load()
    read.assert_not_called()
    jax.tree.map(np.testing.assert_array_equal, again, self.variables)

  def test_what_is_read_needs_no_trainer(self):
    arguments = (str(self.folder / "first"), str(_recipe().to_dict()))
    done = subprocess.run(
      [sys.executable, "-c", _READS, *arguments],
      capture_output=True,
      text=True,
    )
    self.assertEqual(done.stdout.strip(), "set()", done.stderr)

  def test_the_seed_decides(self):
    same = self._load("second")
    jax.tree.map(np.testing.assert_array_equal, same, self.variables)
    other = self._load("third", seed=1)
    equal = jax.tree.map(np.array_equal, other, same)
    self.assertFalse(all(jax.tree.leaves(equal)))

  def test_statistics_are_moved(self):
    model = with_norms.model()
    start = model.init(jax.random.key(0))
    moved = self._load("norms", model, steps=60)["norm"]
    self.assertGreater(abs(moved["mean"] - start["norm"]["mean"]).max(), 1e-2)
    self.assertGreater(abs(moved["scale"] - start["norm"]["scale"]).max(), 1e-3)

  @parameterized.parameters("flip", "crop_px")
  def test_pictures_are_changed_where_a_recipe_says_so(self, key):
    plain = self._load(f"no_{key}", **{key: 0 if key == "crop_px" else False})
    jax.tree.map(np.testing.assert_array_equal, plain, self.variables)
    changed = self._load(key, **{key: 2 if key == "crop_px" else True})
    equal = jax.tree.map(np.array_equal, changed, plain)
    self.assertFalse(all(jax.tree.leaves(equal)))

  def test_models_without_a_train_mode(self):
    mine = adapters.get("callable")(lambda x: x, self.model.spec, name="mine")
    for model in (mine, models.get("digits_linear+clahe")):
      with self.assertRaisesRegex(
        errors.UserError, re.escape(f"{model.name} has no train mode")
      ):
        self._load("without", model)

  @parameterized.parameters(
    ({"split": "valid"}, "Unknown split of digits 'valid'"),
    ({"split": "train[9999:]"}, "'train.9999:.': no part of train"),
    ({"split": "test"}, "config.model.train.split: got 'test': digits's test"),
    (
      {"dataset": "digits_c"},
      "train.dataset: by its name, 'digits_c', it trains on",
    ),
    ({"batch_size": 4096}, "config.model.train.batch_size: got 4096"),
    ({"crop_px": 40}, "config.model.train.crop_px: got 40"),
    (
      {"learning_rate": 1e38},
      "digits_linear diverged.*Lower config.model.train.learning_rate",
    ),
    (
      {"learning_rate": 1e39, "steps": 1},
      "digits_linear diverged: .* values at the end",
    ),
  )
  def test_what_is_refused(self, changes, message):
    with self.assertRaisesRegex(errors.UserError, message):
      self._load("refused", **changes)
    self.assertFalse((self.folder / "refused").exists())

  @parameterized.parameters(
    ("digits_linear", 5, "digits' has 10 classes, digits_linear has 5"),
    ("tiny_r3d", 10, "a set of pictures; tiny_r3d learns from videos"),
    ("tiny_retinanet", None, "dataset: got 'digits', a set of pictures; tiny_"),
  )
  def test_models_of_other_data(self, name, classes, message):
    with self.assertRaisesRegex(errors.UserError, message):
      self._load("refused", models.get(name, classes))

  def test_detectors_have_no_crops(self):
    with self.assertRaisesRegex(
      errors.UserError, "config.model.train.crop_px: got 2.*are whole"
    ):
      self._load("refused", models.get("tiny_retinanet"), crop_px=2)

  def test_another_recipe_is_refused(self):
    with self.assertRaisesRegex(
      errors.UserError,
      "first holds a model trained in another way: steps: 20 there, 21 now",
    ):
      self._load(steps=21)
    with self.assertRaisesRegex(errors.UserError, "digits_linear.*digits_cnn"):
      self._load(model=models.get("digits_cnn"))


class AloneTest(absltest.TestCase):
  def test_one_device_of_one_host(self):
    with mock.patch.object(jax, "process_count", return_value=2):
      self.assertEqual(hosts.this_host().count, 2)
      with hosts.alone():
        self.assertEqual(hosts.this_host(), hosts.Host(0, 1))
        self.assertEqual(devices.mesh().size, 1)
      self.assertEqual(hosts.this_host().count, 2)
