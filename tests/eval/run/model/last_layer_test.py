"""The last layer that a run fits: by hand, seeded, once a picture, refusals."""

import jax
import numpy as np
from absl.testing import absltest
from etils import epath

from eval.pipeline import inputs
from eval.run.model import last_layer
from models.last_layer import LastLayer
from robust_tfds import datasets, errors, models

_RECIPE = {
  "split": "train",
  "epochs": 3,
  "learning_rate": 0.01,
  "batch_size": 128,
  "seed": 0,
}


class FitTest(absltest.TestCase):
  def test_a_step_is_torchs(self):
    # SGD(lr, momentum=0.9, weight_decay=5e-4, nesterov=True) of torch 2:
    # g += decay w; v = g in the first step, 0.9 v + g later; w -= lr (g + 0.9 v).
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4, 2)).astype(np.float32)
    labels = np.array([0, 1, 1, 2])
    recipe = {**_RECIPE, "epochs": 1, "batch_size": 2}
    got = last_layer.fit(features, labels, 3, recipe)
    draws = np.random.default_rng(0)
    w = draws.uniform(-(2**-0.5), 2**-0.5, (3, 3))
    order, v = draws.permutation(4), np.zeros((3, 3))
    for step, rate in enumerate(
      (0.01, 0.005)
    ):  # the cosine's half at the middle
      rows = order[2 * step : 2 * step + 2]
      x = np.concatenate([features[rows], np.ones((2, 1))], axis=1)
      logits = x @ w
      p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
      g = x.T @ (p - np.eye(3)[labels[rows]]) / 2 + 5e-4 * w
      v = 0.9 * v + g
      w = w - rate * (g + 0.9 * v)
    np.testing.assert_allclose(got["kernel"], w[:2], rtol=1e-5)
    np.testing.assert_allclose(got["bias"], w[2], rtol=1e-5)

  def test_separates_what_can_be_and_is_seeded(self):
    rng = np.random.default_rng(1)
    labels = np.arange(600) % 3
    centres = 4 * np.eye(3, 8)
    features = (centres[labels] + rng.normal(size=(600, 8))).astype(np.float32)
    recipe = {**_RECIPE, "epochs": 10}
    head = last_layer.fit(features, labels, 3, recipe)
    right = (features @ head["kernel"] + head["bias"]).argmax(1) == labels
    self.assertGreater(right.mean(), 0.97)
    again = last_layer.fit(features, labels, 3, recipe)
    np.testing.assert_array_equal(head["kernel"], again["kernel"])
    other = last_layer.fit(features, labels, 3, {**recipe, "seed": 1})
    self.assertFalse(np.array_equal(head["kernel"], other["kernel"]))


class LoadOrFitTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = absltest.TEST_TMPDIR.value + "/last_layer"
    cls.built = datasets.prepare("digits_subtypes", data_dir=folder)
    cls.model = LastLayer.from_network(models.get("digits_linear"), 2, "loops")
    cls.network = cls.model.network.init(jax.random.key(0))

  def _source(self):
    return inputs.Source(self.built, "train", batch_size=128)

  def _variables(self, folder, recipe=None, network=None, source=None):
    return last_layer.load_or_fit(
      self.model,
      recipe or _RECIPE,
      network or self.network,
      source or self._source(),
      epath.Path(folder),
    )

  def test_shows_every_picture_once_and_is_kept(self):
    folder, source = self.create_tempdir().full_path, self._source()
    first = self._variables(folder, source=source)
    self.assertEqual(source.decoded, 1022)
    again = self._source()
    second = self._variables(folder, source=again)
    self.assertEqual(again.decoded, 0)
    for name in ("kernel", "bias"):
      np.testing.assert_array_equal(
        first["last_layer"][name], second["last_layer"][name]
      )
    self.assertIs(first["network"], self.network)
    images = np.stack([b.image for b in self._source().batches()][:1])[0]
    labels = next(self._source().batches()).label
    right = np.argmax(self.model.apply(first, images), axis=1) == labels
    self.assertGreater(right.mean(), 0.8)

  def test_refuses_another_recipe_or_network_and_damage(self):
    folder = self.create_tempdir().full_path
    self._variables(folder)
    with self.assertRaisesRegex(errors.UserError, "another recipe, network"):
      self._variables(folder, {**_RECIPE, "epochs": 4})
    other = self.model.network.init(jax.random.key(1))
    with self.assertRaisesRegex(errors.UserError, "another recipe, network"):
      self._variables(folder, network=other)
    file = epath.Path(folder) / "last_layer.npz"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with self.assertRaisesRegex(
      errors.UserError, "changed or removed after it was written"
    ):
      self._variables(folder)

  def test_refuses_features_that_are_no_numbers(self):
    broken = jax.tree.map(lambda x: x, self.network)
    model = LastLayer.from_network(models.get("digits_cnn"), 2, "loops")
    broken = model.network.init(jax.random.key(0))
    broken["conv1"]["bias"] = broken["conv1"]["bias"].at[0].set(np.nan)
    with self.assertRaisesRegex(errors.UserError, "1,022 of 1,022"):
      last_layer.load_or_fit(
        model,
        _RECIPE,
        broken,
        self._source(),
        epath.Path(self.create_tempdir().full_path),
      )
