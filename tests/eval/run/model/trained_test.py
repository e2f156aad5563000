"""Small models: trained once, read again, never mixed up."""

import pathlib
import re
import tempfile
import types
from unittest import mock

import jax
import ml_collections
import numpy as np
from absl.testing import absltest

from robust_tfds import datasets, errors, models
from robust_tfds.eval.run import train
from robust_tfds.models import adapters
from tests.models import with_norms

_COUNT = 24


_SPLITS = {
  "train": types.SimpleNamespace(num_examples=_COUNT),
  "train[5:4]": types.SimpleNamespace(num_examples=-1),
}


class _Rows:
  """A data set of two classes: dark and bright."""

  first_label = 0
  info = types.SimpleNamespace(
    splits=_SPLITS,
    features={},
    file_format=types.SimpleNamespace(value="array_record"),
  )

  def as_data_source(self, split, decoders):
    assert split == "train" and decoders is None
    rng = np.random.default_rng(0)
    return [self._example(rng, i) for i in range(_COUNT)]

  def _example(self, rng, i):
    noise = rng.integers(0, 60, (32, 32, 3))
    return {
      "image": (noise + 180 * (i % 2)).astype(np.uint8),
      "label": self.first_label + i % 2,
    }


def _recipe(**changes) -> ml_collections.ConfigDict:
  recipe = {
    "dataset": "digits",
    "split": "train",
    "steps": 20,
    "batch_size": 8,
    "learning_rate": 1e-2,
    "seed": 0,
  }
  return ml_collections.ConfigDict({**recipe, **changes})


class TrainTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(tempfile.mkdtemp())
    cls.model = models.get("digits_linear")
    cls.variables, cls.prepare = cls._load()

  @classmethod
  def _load(cls, folder="first", model=None, **changes):
    with mock.patch.object(datasets, "prepare", return_value=_Rows()) as read:
      variables = train.load_or_train(
        model or cls.model,
        _recipe(**changes),
        cls.folder / folder,
        data_dir="/sets",
      )
    return variables, read

  def test_it_learns(self):
    self.prepare.assert_called_once_with(
      "digits", "", data_dir="/sets", say=mock.ANY
    )
    rows = list(_Rows().as_data_source("train", None))
    images = np.stack([r["image"] for r in rows])
    logits = self.model.apply(self.variables, images)
    labels = [r["label"] for r in rows]
    self.assertEqual(np.argmax(logits, axis=-1).tolist(), labels)

  def test_read_again_to_the_last_bit_without_data(self):
    again, read = self._load()
    read.assert_not_called()
    jax.tree.map(np.testing.assert_array_equal, again, self.variables)

  def test_the_seed_decides(self):
    same, _ = self._load("second")
    jax.tree.map(np.testing.assert_array_equal, same, self.variables)
    other, _ = self._load("third", seed=1)
    self.assertFalse(
      all(
        np.array_equal(a, b)
        for a, b in zip(jax.tree.leaves(other), jax.tree.leaves(same))
      )
    )

  def test_only_parameters_follow_the_gradient(self):
    model = with_norms.model()
    start = model.init(jax.random.key(0))
    variables, _ = self._load("norms", model, steps=60)
    rows = list(_Rows().as_data_source("train", None))
    pixels = np.asarray(model.preprocess(np.stack([r["image"] for r in rows])))
    moved = variables["norm"]
    # The statistics are the data's, which a gradient would not have led to.
    np.testing.assert_allclose(moved["mean"], pixels.mean((0, 1, 2)), atol=0.1)
    np.testing.assert_allclose(moved["var"], pixels.var((0, 1, 2)), rtol=0.15)
    self.assertGreater(abs(moved["scale"] - start["norm"]["scale"]).max(), 1e-3)
    logits = model.apply(variables, pixels)
    labels = [r["label"] for r in rows]
    self.assertEqual(np.argmax(logits, axis=-1).tolist(), labels)
    again, read = self._load("norms", model, steps=60)
    read.assert_not_called()
    jax.tree.map(np.testing.assert_array_equal, again, variables)

  def test_models_without_a_train_mode(self):
    mine = adapters.get("callable")(lambda x: x, self.model.spec, name="mine")
    for model in (
      mine,
      models.get("digits_linear+clahe"),
    ):
      with self.assertRaisesRegex(
        errors.UserError, re.escape(f"{model.name} has no train mode")
      ):
        self._load("without", model)

  def test_labels_that_the_model_has_not(self):
    with mock.patch.object(_Rows, "first_label", 9):
      with self.assertRaisesRegex(errors.UserError, "labels 9..10, digits_lin"):
        self._load("labels")

  def test_what_is_no_set_to_learn_from(self):
    for split, message in (
      ("valid", "digits has no 'valid'. It has: train"),
      ("train[5:4]", "train.split: 'train.5:4.' of digits has no examples"),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        self._load("nothing", split=split)
    rows = [{"image": 0}]
    with mock.patch.object(_Rows, "as_data_source", return_value=rows):
      with self.assertRaisesRegex(
        errors.UserError, "'digits': its examples have no label,"
      ):
        self._load("nothing")

  def test_training_that_diverges(self):
    with self.assertRaisesRegex(errors.UserError, "diverged.*learning_rate"):
      self._load("diverged", learning_rate=1e38)
    self.assertFalse((self.folder / "diverged").exists())

  def test_another_recipe_is_refused(self):
    with self.assertRaisesRegex(
      errors.UserError, "first holds a model trained by another recipe"
    ):
      self._load(steps=21)
    with self.assertRaisesRegex(errors.UserError, "digits_linear.*digits_cnn"):
      self._load(model=models.get("digits_cnn"))
