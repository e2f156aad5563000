"""A training's config: what is refused, beginning with the key."""

import ml_collections
from absl.testing import parameterized

from configs import train_standard
from models.training import config as config_lib
from robust_tfds import errors
from tests.models.training import tiny_trainings


class ConfigTest(parameterized.TestCase):
  @parameterized.parameters("digits", "cifar", "imagenet")
  def test_shipped(self, setting):
    config = config_lib.parse(train_standard.get_config(setting))
    self.assertEqual(config.recipe["flip"], setting != "digits")
    with self.assertRaisesRegex(
      errors.UserError, "setting of train_standard .mnist."
    ):
      train_standard.get_config("mnist")

  @parameterized.parameters(
    ("steps", -1, "config.steps: got -1"),
    ("epochs", 2, "config.steps: got 12 steps and 2 epochs"),
    ("optimizer__momentum", 1.0, "config.optimizer.momentum: got 1.0"),
    ("optimizer__learning_rate", 0.0, "config.optimizer.learning_rate: got 0"),
    ("schedule__floor", 0.6, "floor: got 0.6, expected at most the learning"),
    ("schedule__factor", 10.0, "config.schedule.factor: got 10.0"),
    (
      "schedule__at",
      (-5,),
      r"schedule.at: got \(-5,\), expected whole .*from 1",
    ),
    ("schedule__at", (0,), "schedule.at: got"),
    ("schedule__at", (5, 5), "schedule.at: got .*ascending, each once"),
    ("schedule__at_steps", [9, 3], "schedule.at_steps: got .*ascending"),
    ("optimizer__accumulate", 3, "expected a divisor of batch_size 8"),
    (
      "schedule__name",
      "plateau",
      "validation: got 0 with the schedule plateau",
    ),
    ("optimizer__rate", 1.0, "config.optimizer.rate: "),
  )
  def test_refusals(self, key, value, message):
    with self.assertRaisesRegex(errors.UserError, message):
      tiny_trainings.config(**{key: value})

  def test_imagenets_rate_follows_the_batch(self):
    """AugMix's code: .1 * B / 256."""
    config = train_standard.get_config("imagenet")
    self.assertEqual(config.optimizer.learning_rate, 0.1)
    config.batch_size = 1024
    self.assertAlmostEqual(
      config_lib.parse(config).optimizer.learning_rate, 0.4
    )
    config.optimizer.learning_rate = 0.3
    self.assertEqual(config_lib.parse(config).optimizer.learning_rate, 0.3)

  def test_no_config_of_a_training(self):
    with self.assertRaisesRegex(errors.UserError, "no config of a training"):
      config_lib.parse(ml_collections.ConfigDict({"task": "video"}))
    with self.assertRaisesRegex(errors.UserError, "got dict"):
      config_lib.parse({})
