"""Keys of models that no config's file has to name."""

import ml_collections
from absl.testing import absltest, parameterized

from robust_tfds import errors
from robust_tfds.eval.run import model_keys
from robust_tfds.models import spec
from robust_tfds.models.detection.spec import DetectorSpec
from robust_tfds.models.video.spec import VideoSpec


def _config() -> ml_collections.ConfigDict:
  return ml_collections.ConfigDict(
    {"seed": 0, "model": {"name": "x"}, "models": {"a": {"name": "x"}}}
  ).lock()


class ModelKeysTest(parameterized.TestCase):
  def test_every_field_of_every_spec(self):
    for kind in (spec.Spec, VideoSpec, DetectorSpec):
      for name, field in kind.field_types().items():
        self.assertEqual(model_keys.of_specs()[name], field)

  @parameterized.parameters("model", "models.a")
  def test_makes_room(self, entry):
    config = _config()
    keys = entry.split(".")
    for field in ("mean", "mean", "frames", "short_px", "interpolation"):
      self.assertTrue(model_keys.allows(config, [*keys, "spec", field]))
      model_keys.declare(config, [*keys, "spec", field])
    model_keys.declare(config, [*keys, "classes"])
    self.assertTrue(config.is_locked)
    place = config.model if entry == "model" else config.models.a
    self.assertEqual(place.classes, "")
    self.assertEqual(place.spec.get_type("mean"), tuple)
    self.assertEqual(place.spec.get_type("frames"), int)
    self.assertEqual(
      model_keys.names(config, [*keys, "x"]),
      ["spec", "classes", "trained_on", "corruptions_seen"],
    )

  @parameterized.parameters(
    "seed", "data", "spec.mean", "model", "models.b.spec"
  )
  def test_leaves_other_places_alone(self, key):
    config = _config()
    self.assertFalse(model_keys.allows(config, key.split(".")))
    model_keys.declare(config, key.split("."))
    self.assertEqual(config, _config())

  def test_refuses_unknown_fields(self):
    with self.assertRaisesRegex(
      errors.UserError, "--config.model.spec.men: .*Did you mean 'mean'"
    ):
      model_keys.allows(_config(), ["model", "spec", "men"])

  @parameterized.parameters(
    ({"meen": 1}, "config.model.spec.meen: Unknown key 'meen'.*'mean'"),
    ({"mean": 0.5}, "config.model.spec.mean: got 0.5, expected three numbers"),
    (
      {"flexible": 1},
      "config.model.spec.flexible: got 1, expected True or Fal",
    ),
    ({"input_px": 2.5}, "spec.input_px: got 2.5, expected a whole number"),
  )
  def test_values(self, fields, words):
    with self.assertRaisesRegex(errors.UserError, words):
      model_keys.check({"name": "x", "spec": fields}, "config.model")


if __name__ == "__main__":
  absltest.main()
