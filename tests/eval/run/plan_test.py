"""From a config to cells: what is refused before anything is touched."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.eval.run import plan as plan_lib
from tests.eval import tiny_config


def _config(**data):
  config = tiny_config.get_config()
  with config.unlocked():
    config.data.update(data)
  return config


class PlanTest(parameterized.TestCase):
  def test_a_plan(self):
    plan = plan_lib.make(_config())
    self.assertEqual((plan.dataset, plan.seed, plan.fly), ("digits_c", 0, True))
    self.assertEqual(plan.names, ("gaussian_noise", "brightness"))
    self.assertTrue(plan.conditions[0].clean)
    self.assertEqual(plan.cells, 5)
    self.assertEqual(list(plan.models), ["digits_cnn"])
    self.assertEqual(plan.task.setting.edition, "cifar10")
    self.assertEqual(plan_lib.image_px(plan), 32)

  @parameterized.parameters(
    ({"corruptions": "fogg"}, "Did you mean 'fog'"),
    ({"severities": (0,)}, "level 0 is clean data"),
    ({"severities": (6,)}, "must be 1-5, got 6"),
    ({"name": "digit_c"}, "Did you mean 'digits_c'"),
    ({"source": "flight"}, "Unknown data.source"),
    ({"codec": "png"}, "'png' cannot be made on the fly; .* 'raw', 'jpeg85'"),
  )
  def test_bad_data(self, data, message):
    with self.assertRaisesRegex(errors.UserError, message):
      plan_lib.make(_config(**data))

  def test_unknown_task(self):
    config = _config()
    config.task = "clasification"
    with self.assertRaisesRegex(errors.UserError, "mean 'classification'"):
      plan_lib.make(config)


class ModelsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("digits_cn", "Did you mean 'digits_cnn'"),
    ("tiny_retinanet", "of kind detection, expected classification"),
  )
  def test_names(self, name, message):
    config = _config()
    config.models.digits_cnn.name = name
    with self.assertRaisesRegex(errors.UserError, message):
      plan_lib.make(config)

  def test_no_model(self):
    config = _config()
    with config.unlocked():
      del config.models.digits_cnn
    with self.assertRaisesRegex(errors.UserError, "names no model"):
      plan_lib.make(config)

  def test_dtype(self):
    config = _config()
    with config.unlocked():
      config.models.digits_cnn.dtype = "bfloat17"
    with self.assertRaisesRegex(errors.UserError, "bfloat17"):
      plan_lib.make(config)

  def test_checkpoint_that_is_not_there(self):
    config = _config()
    with config.unlocked():
      config.models.digits_cnn.checkpoint = "/nowhere/x.npz"
    with self.assertRaisesRegex(FileNotFoundError, "/nowhere/x.npz"):
      plan_lib.make(config)

  def test_neither_checkpoint_nor_recipe(self):
    config = _config()
    with config.unlocked():
      del config.models.digits_cnn.train
    with self.assertRaisesRegex(errors.UserError, "neither a checkpoint nor"):
      plan_lib.make(config)

  @parameterized.parameters(
    ("alexnett", "Did you mean 'alexnet'"),
    ("model:digits_linear", "Unknown baseline model"),
  )
  def test_unknown_baselines(self, baseline, message):
    config = _config()
    config.baseline = baseline
    with self.assertRaisesRegex(errors.UserError, message):
      plan_lib.make(config)


class FrostTest(absltest.TestCase):
  def test_pictures_are_looked_for_where_frost_is_made_alone(self):
    absent = mock.patch.object(
      plan_lib.frost_pictures, "folder", side_effect=FileNotFoundError("frost")
    )
    with absent:
      plan_lib.make(_config(corruptions="fog"))
      plan_lib.make(_config(corruptions="frost", source="prepared"))
      with self.assertRaisesRegex(FileNotFoundError, "frost"):
        plan_lib.make(_config(corruptions="frost"))


if __name__ == "__main__":
  absltest.main()
