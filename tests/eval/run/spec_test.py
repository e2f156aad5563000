"""A typed config, value by value."""

import ml_collections
import numpy as np
from absl.testing import absltest, parameterized

from eval.run import spec as spec_lib
from robust_tfds import errors
from tests.eval import tiny_config

_TRAIN = "models.digits_cnn.train"
_NAN, _INF = float("nan"), float("inf")


def _changed(key: str, value: object) -> ml_collections.ConfigDict:
  config = tiny_config.get_config().unlock()
  *groups, last = key.split(".")
  place = config
  for group in groups:
    place = place[group]
  with config.ignore_type():
    place[last] = value
  return config


class ParseTest(parameterized.TestCase):
  @parameterized.parameters(
    ("data.limit", (-1, True, 2.0, "3", None)),
    ("data.block_mib", (0, -1, 1.5, "4")),
    ("data.severities", ((), (1, 1), "3", (1.5,), (True,), None)),
    ("data.corruptions", ("", (), ("fog", "fog"), "fog,fog", 3, (3,), None)),
    ("data.file_format", ("riegeli", 3)),
    ("data.name", ("", 3, None)),
    ("data.split", ("", 3)),
    ("data.manual_dir", (3,)),
    ("data", (3, None)),
    ("batch_size", (0, -8, 2.5, "8", True, None)),
    ("seed", (-1, 1.5, 2**63, "0", True, _NAN)),
    ("baseline", (None, 3)),
    ("reports", ("yes", 1)),
    ("models", (3,)),
    ("models.digits_cnn", (3,)),
    ("models.digits_cnn.name", ("", 3)),
    (f"{_TRAIN}.batch_size", (0, -1, 2.5)),
    (f"{_TRAIN}.steps", (0, -1, "3")),
    (f"{_TRAIN}.learning_rate", (_NAN, _INF, 0.0, -1e-3, "1e-3")),
    (f"{_TRAIN}.seed", (-1, 0.5)),
  )
  def test_values(self, key, values):
    for value in values:
      with self.assertRaises(errors.UserError) as refusal:
        spec_lib.from_config(_changed(key, value))
      message = str(refusal.exception)
      self.assertStartsWith(message, f"config.{key}: got {value!r}, expected")

  @parameterized.parameters(
    ("data.limt", "config.data.limt: .*Did you mean 'limit'"),
    ("sed", "config.sed: .*Did you mean 'seed'"),
    (f"{_TRAIN}.stepz", "train.stepz: .*Did you mean 'steps'"),
  )
  def test_unknown_keys(self, key, message):
    with self.assertRaisesRegex(errors.UserError, message):
      spec_lib.from_config(_changed(key, 1))

  def test_fields_of_a_spec(self):
    key = "models.digits_cnn.spec"
    spec_lib.from_config(_changed(key, ml_collections.ConfigDict({"scale": 1})))
    for value, message in (
      (3, f"config.{key}: got 3, expected fields of the model's spec"),
      ({"scal": 1}, f"config.{key}.scal: .*Did you mean 'scale'"),
      (
        {"scale": "1"},
        f"config.{key}.scale: got '1', expected a finite number",
      ),
      ({"mean": 0.5}, f"{key}.mean: got 0.5, expected three finite numbers"),
      ({"flexible": 1}, f"{key}.flexible: got 1, expected True or False"),
      ({"input_px": 2.5}, "spec.input_px: got 2.5, expected a whole number"),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        spec_lib.from_config(_changed(key, value))

  def test_missing_keys(self):
    config = tiny_config.get_config().unlock()
    del config.models.digits_cnn.train.steps
    with self.assertRaisesRegex(errors.UserError, r"train.steps: missing"):
      spec_lib.from_config(config)
    with self.assertRaisesRegex(errors.UserError, "batch_size: missing"):
      spec_lib.from_config(ml_collections.ConfigDict({"data": {}}))

  def test_model_beside_models(self):
    config = _changed("model", ml_collections.ConfigDict({"name": "resnet50"}))
    with self.assertRaisesRegex(errors.UserError, "are both set"):
      spec_lib.from_config(config)
    spec_lib.from_config(
      _changed("model", ml_collections.ConfigDict({"name": ""}))
    )

  @parameterized.parameters(
    ("data.severities", 3),
    ("data.severities", [1, 3]),
    ("data.corruptions", ["fog"]),
    ("data.block_mib", 4),
    ("data.manual_dir", None),
    ("seed", np.int64(3)),
    (f"{_TRAIN}", ml_collections.ConfigDict()),
  )
  def test_forms_that_are_accepted(self, key, value):
    spec_lib.from_config(_changed(key, value))

  def test_what_is_no_config(self):
    with self.assertRaisesRegex(errors.UserError, "got dict"):
      spec_lib.from_config({"seed": 3})


class ConfigTest(absltest.TestCase):
  def test_what_is_left_out_has_a_default(self):
    config = spec_lib.from_config(
      ml_collections.ConfigDict(
        {
          "batch_size": 8,
          "data": {"name": "digits_c", "split": "test"},
          "model": {"name": "digits_cnn", "label": "mine"},
        }
      )
    )
    self.assertEqual((config.task, config.seed), ("classification", 0))
    self.assertEqual((config.data.source, config.data.limit), ("fly", 0))
    self.assertEqual(list(config.entries), ["mine"])
    self.assertEqual(config.written.seed, 0)
    self.assertNotIn("frost_dir", config.written.data)

  def test_config_json_has_what_is_asked_for_and_what_every_run_has(self):
    written = spec_lib.from_config(tiny_config.get_config()).written.to_dict()
    asked = tiny_config.get_config().to_dict()
    asked["models"]["digits_cnn"]["train"].update(split="train", seed=0)
    del asked["adapt"]  # it names no method
    data, given = written.pop("data"), asked.pop("data")
    self.assertEqual(written, {"task": "classification", "seed": 0, **asked})
    self.assertContainsSubset(given.items(), data.items())
    self.assertSameElements(
      data.keys() - given.keys(),
      ("source", "data_dir", "manual_dir", "file_format"),
    )

  def test_a_recipe_has_what_its_weights_depend_on(self):
    config = tiny_config.get_config()
    recipe = spec_lib.from_config(config).models["digits_cnn"].train.recipe()
    named = config.models.digits_cnn.train.to_dict()
    self.assertEqual(recipe.to_dict(), {**named, "split": "train", "seed": 0})


class CheckKeysTest(parameterized.TestCase):
  def test_all_conditions_where_none_are_named(self):
    config = tiny_config.get_config().unlock()
    del config.data.severities, config.data.corruptions
    data = spec_lib.from_config(config).written.data
    self.assertEqual(data.corruptions, "all")
    self.assertEqual(tuple(data.severities), (1, 2, 3, 4, 5))
    self.assertNotIn("difficulties", data)
