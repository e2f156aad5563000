"""Small models: trained once, read again, never mixed up."""

import pathlib
import tempfile
from unittest import mock

import jax
import ml_collections
import numpy as np
from absl.testing import absltest

from robust_tfds import datasets
from robust_tfds import errors
from robust_tfds import models
from robust_tfds.eval.run import train

_COUNT = 24


class _Rows:
  """A data set of two classes: dark and bright."""

  def as_dataset(self, split):
    assert split == "train"
    return self

  def as_numpy_iterator(self):
    rng = np.random.default_rng(0)
    for i in range(_COUNT):
      noise = rng.integers(0, 60, (32, 32, 3))
      yield {"image": (noise + 180 * (i % 2)).astype(np.uint8), "label": i % 2}


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
    self.prepare.assert_called_once_with("digits", "", data_dir="/sets")
    rows = list(_Rows().as_numpy_iterator())
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

  def test_another_recipe_is_refused(self):
    with self.assertRaisesRegex(
      errors.UserError, "first holds a model trained by another recipe"
    ):
      self._load(steps=21)
    with self.assertRaisesRegex(errors.UserError, "digits_linear.*digits_cnn"):
      self._load(model=models.get("digits_cnn"))


if __name__ == "__main__":
  absltest.main()
