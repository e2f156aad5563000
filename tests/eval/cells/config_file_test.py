"""config.json: its schema; what `Workdir` makes of it is in workdir_test.py."""

import json
import pathlib

import ml_collections
from absl.testing import absltest, parameterized

from robust_tfds import errors
from robust_tfds.eval.cells import config_file, damage

_CONFIG = {"task": "classification", "seed": 0, "data": {"name": "d"}}


class ConfigFileTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / "config.json"
    config_file.write(self.path, ml_collections.ConfigDict(_CONFIG))

  def test_round_trip(self):
    config = config_file.read(self.path)
    self.assertEqual({k: config[k] for k in _CONFIG}, _CONFIG)
    self.assertEqual(config["versions"]["workdir"], config_file.VERSION)

  @parameterized.parameters(
    ({"seed": "0"}, "seed: got '0'"),
    ({"data": "d"}, "data: got 'd'"),
    ({"data": {}}, "data.name: missing"),
    ({"task": None}, "task: got None"),
    ({"models": 3}, "models"),
    ({"seed": 1}, "checksum: the settings are not those"),
    ({"checksum": None}, "checksum: got None"),
  )
  def test_a_changed_field_is_named(self, changes, message):
    content = json.loads(self.path.read_text())
    self.path.write_text(json.dumps({**content, **changes}))
    for read in (config_file.read, config_file.check_readable):
      with self.assertRaisesRegex(
        damage.DamagedError, f"^{self.path}: {message}.*--repair"
      ):
        read(self.path)

  def test_another_version_is_not_damage(self):
    content = json.loads(self.path.read_text())
    content["versions"]["workdir"] = 2
    self.path.write_text(json.dumps(content))
    config_file.check_readable(self.path)
    with self.assertRaisesRegex(errors.UserError, "a workdir of version 2"):
      config_file.read(self.path)

  def test_differences(self):
    one = {"a": {"b": 1}, "batch_size": 1, "versions": {"workdir": 1}}
    other = {"a": {"b": 2, "c": 3}, "batch_size": 2}
    self.assertEqual(
      config_file.differences(one, other), {"a.b": (1, 2), "a.c": (None, 3)}
    )


if __name__ == "__main__":
  absltest.main()
