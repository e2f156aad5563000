"""config.json: its schema; what `Workdir` makes of it is in workdir_test.py."""

import json
import pathlib

import ml_collections
from absl.testing import parameterized

from eval.cells.files import config_file, damage
from robust_tfds import errors

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
    ({"seed": 1}, "checksum: it is not that of the other"),
    ({"checksum": None}, "checksum: got None"),
    ({"seed": True}, "seed"),
    ({"baseline": None}, "baseline"),
    ({"models": {"a": {"name": 3}}}, "models"),
    ({"model": {"label": "x"}}, "model.name: missing"),
    ({"data": {"name": "d", "views": 0}}, "data.views"),
    ({"data": {"name": "d", "severities": ["1"]}}, "data.severities"),
    ({"data": {"name": "d", "severities": None}}, "data.severities"),
    ({"data": {"name": "d", "corruptions": {"a": 1}}}, "data.corruptions"),
    ({"data": {"name": "d", "split": 3}}, "data.split"),
    ({"data": {"name": "d", "limit": "x"}}, "data.limit"),
    ({"data": {"name": "d", "limit": -1}}, "data.limit"),
    ({"data": {"name": ""}}, "data.name"),
  )
  def test_a_changed_field_is_named(self, changes, message):
    content = json.loads(self.path.read_text())
    self.path.write_text(json.dumps({**content, **changes}))
    for read in (config_file.read, config_file.check_readable):
      with self.assertRaisesRegex(
        damage.DamagedError, f"^{self.path}: {message}.*--repair"
      ):
        read(self.path)

  @parameterized.parameters(
    {"models": ["a"]},
    {"models": {"a": {"name": "x", "train": {}}}, "of_later": 1},
    {"model": {"name": None}},
    {"data": {"name": "d", "severities": 3, "limit": None, "of_later": 1}},
    {"data": {"name": "d", "corruptions": ["fog"], "severities": [1, 2]}},
  )
  def test_settings_that_are_read_have_their_types(self, **settings):
    config = ml_collections.ConfigDict({**_CONFIG, **settings})
    config_file.write(self.path, config)
    self.assertContainsSubset(settings, config_file.read(self.path))

  @parameterized.parameters(None, 0, 1, 2, 3, 5, 99, "x")
  def test_another_version_is_not_damage(self, version):
    content = json.loads(self.path.read_text())
    content["versions"]["workdir"] = version
    self.path.write_text(json.dumps(content))
    config_file.check_readable(self.path)
    for any_pixels in (False, True):
      with self.assertRaisesRegex(
        errors.UserError,
        f"a workdir of version {version}; this code reads and writes version 4",
      ):
        config_file.read(self.path, any_pixels=any_pixels)

  def test_pixels_of_another_version_are_read_where_that_is_asked_for(self):
    config = ml_collections.ConfigDict(_CONFIG)
    config_file.write(self.path, config, pixels=1)
    config_file.check_readable(self.path)
    with self.assertRaisesRegex(errors.UserError, "pixels of version 1"):
      config_file.read(self.path)
    read = config_file.read(self.path, any_pixels=True)
    self.assertEqual(read["versions"]["pixels"], 1)

  def test_differences(self):
    one = {"a": {"b": 1}, "batch_size": 1, "versions": {"workdir": 1}}
    other = {"a": {"b": 2, "c": 3}, "batch_size": 2}
    self.assertEqual(
      config_file.differences(one, other), {"a.b": (1, 2), "a.c": (None, 3)}
    )

  def test_a_label_that_nobody_said_is_the_name(self):
    # Until functions said their names, workdirs were labelled by their places.
    before = {"model": {"name": "my_module:build", "label": ""}}
    for label, differ in (
      ("my_module:build", {}),
      ("mine", {"model.label": ("my_module:build", "mine")}),
    ):
      now = {"model": {**before["model"], "label": label}}
      self.assertEqual(config_file.differences(before, now), differ)
