"""`--plan`: what it says of every config, what it refuses."""

import importlib
import re

from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.models.training import config as config_lib
from robust_tfds.models.training import plan


def _config(name: str):
  file, _, setting = name.partition(":")
  module = importlib.import_module(f"robust_tfds.configs.{file}")
  return module.get_config(*[setting] if setting else [])


class PlanTest(absltest.TestCase):
  def test_papers_settings(self):
    text = plan.describe(config_lib.parse(_config("train_standard:imagenet")))
    self.assertIn("1,281,167 examples", text)
    self.assertIn("90 epochs, 450,360 steps of 256 examples", text)

  def test_what_a_step_costs_follows_from_its_gradients(self):
    """A picture is shown in so many copies; an attack has ten steps before."""
    seconds = {}
    for name in ("standard", "augmix", "stability", "alp"):
      text = plan.describe(config_lib.parse(_config(f"train_{name}")))
      (found,) = re.findall(r"estimate: (\S+) s a step", text)
      seconds[name] = float(found)
    for name, passes in (("augmix", 3), ("stability", 2), ("alp", 12)):
      got = seconds[name] / seconds["standard"]
      self.assertAlmostEqual(got, passes, delta=0.1)

  def test_activations_of_a_part_of_a_batch(self):
    config = _config("train_standard").unlock()
    config.optimizer.accumulate = 4
    text = plan.describe(config_lib.parse(config))
    self.assertRegex(text, r"about 2 MiB of activations \(of one of 4 parts")
    self.assertIn("accumulate 4", text)

  def test_official_lists(self):
    config = _config("train_standard").unlock()
    config.data.source = "coco_train"
    self.assertIn("118,287 examples", plan.describe(config_lib.parse(config)))

  def test_a_recipe_that_is_not_there(self):
    config = _config("train_standard").unlock()
    config.recipe.name = "standart"
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'standard'"):
      plan.describe(config_lib.parse(config))
