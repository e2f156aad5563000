"""`robust_tfds.build`: which configs it builds, shards, refusals."""

import os
from unittest import mock

from absl import flags
from absl.testing import flagsaver, parameterized

from robust_tfds import build, conditions, errors


class ConfigsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("digits_c", "", [""]),
    ("digits_c", "clean,fog_3,clean", ["clean", "fog_3"]),
    ("digits_c", "fog", [f"fog_{i}" for i in range(1, 6)]),
    ("digits_c", "fog_2,fog", ["fog_2", "fog_1", "fog_3", "fog_4", "fog_5"]),
    ("digits_p", "gaussian_noise,tilt", ["gaussian_noise", "tilt"]),
    ("digits", "clean", ["clean"]),
    ("digits_c", "no_such", ["no_such"]),  # the builder refuses it
  )
  def test_names(self, name, selection, expected):
    self.assertEqual(build.configs(name, selection), expected)

  def test_sets(self):
    family = conditions.PICTURES
    every = [c.config for c in family.conditions()]
    self.assertEqual(build.configs("digits_c", "all"), every)
    self.assertLen(build.configs("digits_c", "clean,common"), 76)
    weather = 5 * len(family.members("weather"))
    self.assertLen(build.configs("digits_c", "weather"), weather)

  def test_a_name_that_is_missing(self):
    with self.assertRaisesRegex(errors.UserError, "between two commas"):
      build.configs("digits_c", "fog_1,,fog_2")


class ShardTest(parameterized.TestCase):
  def test_shards_are_all_configs(self):
    names = build.configs("imagenet_c", "clean,common,extra")
    parts = [build.shard(names, f"{i}/4") for i in range(1, 5)]
    self.assertEqual([len(part) for part in parts], [24] * 4)
    self.assertCountEqual([n for part in parts for n in part], names)

  @parameterized.parameters("", "0/4", "5/4", "1", "a/b", "1/0", "-1/4")
  def test_refusals(self, text):
    with self.assertRaisesRegex(errors.UserError, "with i from 1 to n"):
      build.shard(["clean"], text)


class CommandTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    before = set(flags.FLAGS)
    build.define_flags()
    for name in set(flags.FLAGS) - before:
      cls.addClassCleanup(delattr, flags.FLAGS, name)

  def _said(self, **settings) -> str:
    settings.setdefault("data_dir", self.create_tempdir().full_path)
    with flagsaver.flagsaver(limit=2, **settings):
      with mock.patch("builtins.print") as printed:
        build.main(["build", "digits_c"])
    return "\n".join(str(call.args[0]) for call in printed.call_args_list)

  def test_a_shard(self):
    folder = self.create_tempdir().full_path
    shard = {"config": "clean,fog", "data_dir": folder, "shard": "2/3"}
    said = self._said(**shard)
    self.assertStartsWith(said, "shard 2/3: 2 of 6 configs\n")
    self.assertIn("2 sources are decoded once: ", said)
    self.assertIn("digits_c/fog_1/1.0.0: 2 test examples in", said)
    self.assertIn("1 of 2 configs, ", said)
    self.assertIn("digits_c/fog_4/1.0.0: 2 test examples in", said)
    again = self._said(**shard)
    self.assertEqual(again.count("there before, not built again"), 2)
    self.assertNotIn("decoded", again)

  @parameterized.parameters(
    ({"config": "fog,smog_1"}, "smog"),
    ({"shard": "3/2"}, "--shard=3/2: expected i/n"),
    ({"beam_pipeline_options": "runner=x"}, "without --beam: add --beam"),
    ({"beam": True, "beam_pipeline_options": "x"}, "'x' is no option"),
  )
  def test_refusals_before_the_first_is_built(self, settings, message):
    folder = self.create_tempdir().full_path
    with self.assertRaisesRegex(errors.UserError, message):
      self._said(data_dir=folder, **settings)
    self.assertEmpty(os.listdir(folder))
