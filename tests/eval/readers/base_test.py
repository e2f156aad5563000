"""What is said of predictions, and the settings of cells from elsewhere."""

import pathlib

import ml_collections
from absl.testing import absltest

from eval.cells.cell import Cell
from eval.readers import base
from robust_tfds import conditions


class OptionsTest(absltest.TestCase):
  def test_what_means_nothing_is_refused(self):
    options = base.Options(seed=0, rules="voc")
    options.check(("seed", "rules"), "a folder")
    with self.assertRaisesRegex(
      ValueError, "--rules=voc means nothing for a f"
    ):
      options.check(("seed",), "a folder")
    with self.assertRaisesRegex(ValueError, "it takes no such flag"):
      base.Options(seed=0).check((), "a folder")

  def test_frames(self):
    self.assertFalse(base.Options(dataset="imagenet_c").of_frames)
    self.assertTrue(base.Options(dataset="ytbb_robust").of_frames)
    self.assertTrue(base.Options(metadata=pathlib.Path("x")).of_frames)


class ConfigTest(absltest.TestCase):
  def test_says_what_the_cells_are(self):
    cells = [
      Cell(model, "mine_c", conditions.parse(name), 3)
      for model in ("b", "a.1")
      for name in ("clean", "fog_1", "fog_4", "snow_2")
    ]
    config = base.config("detection", cells, rules="voc")
    self.assertEqual(config.models, ("b", "a.1"))
    self.assertEqual((config.seed, config.baseline), (3, ""))
    self.assertEqual(config.data.name, "mine_c")
    self.assertEqual(config.data.corruptions, ("fog", "snow"))
    self.assertEqual(config.data.severities, (1, 2, 4))
    self.assertEqual(config.data.rules, "voc")

  def test_a_checkpoint_takes_the_place_of_a_recipe(self):
    """Nothing says of such a model that the run trained it."""
    models = {"a": {"train": {"steps": 3}, "checkpoint": ""}}
    models["b"] = {"train": {"steps": 3}, "checkpoint": "/trained"}
    config = ml_collections.ConfigDict({"models": models})
    self.assertEqual(base.Run(config, (), dict).trained, ["a"])

  def test_labels_are_told_apart(self):
    one, two = pathlib.Path("one"), pathlib.Path("two")
    base.check_labels({one: ["a", "b"], two: ["c"]})
    with self.assertRaisesRegex(ValueError, "'b' is in one and in two"):
      base.check_labels({one: ["a", "b"], two: ["b"]})
