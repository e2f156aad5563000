"""Where a run's sets lie, which are read, and how they are built."""

import importlib.util
import pathlib
from unittest import mock

import ml_collections
from absl.testing import parameterized

from configs import quickstart_detection, quickstart_video
from eval.cells.workdir import Workdir
from eval.run import data as data_lib
from eval.run import dataset_config
from eval.run import plan as plan_lib
from eval.run.execution import timing
from models.convert import sources
from robust_tfds import datasets, errors, hosts, missing
from robust_tfds.conditions import Condition
from tests.eval import tiny_config
from tests.eval.pipeline import stored_examples

_WORKDIR = Workdir(pathlib.Path("/run"))
_FOG = Condition("gaussian_noise", 3)


def _plan(seed=0, models=(), **data) -> plan_lib.Plan:
  config = tiny_config.get_config()
  with config.unlocked():
    config.seed = seed
    config.data.update({"limit": 0, **data})
    for name in models:
      config.models[name] = {**config.models.digits_cnn.to_dict(), "name": name}
  return plan_lib.make(config)


class DataDirTest(parameterized.TestCase):
  @parameterized.product(source=("fly", "prepared"), data_dir=("", "/sets"))
  def test_plan_and_run_look_at_the_same_set(self, source, data_dir):
    plan = _plan(seed=7, source=source, data_dir=data_dir)
    builder = stored_examples.Builder([stored_examples.example(0)])
    with (
      mock.patch.object(datasets, "prepare", return_value=builder) as run,
      mock.patch.object(datasets, "prepared_examples", return_value=9) as look,
    ):
      self.assertEqual(data_lib.num_examples(plan, _WORKDIR), 9)
      data = data_lib.Data(plan, _WORKDIR, hosts.Host(), timing.Stages())
      self.assertIs(data.clean.builder, builder)
    name, config, split = look.call_args.args
    self.assertEqual(run.call_args.args, (name, config))
    self.assertEqual(split, "test")
    for option, value in look.call_args.kwargs.items():
      self.assertEqual(run.call_args.kwargs[option], value, option)

  def test_sets_that_others_made_are_named_once(self):
    builder = stored_examples.Builder([stored_examples.example(0)])
    builder.made_otherwise = lambda: "made with X 1; here is X 2"
    plan = _plan(source="prepared")
    data = data_lib.Data(plan, _WORKDIR, hosts.Host(), timing.Stages())
    with mock.patch.object(datasets, "prepare", return_value=builder):
      self.assertEmpty(data.made_otherwise)
      data.source(Condition())
      data.source(_FOG)
    self.assertEqual(
      data.made_otherwise, ["digits_c/clean/1.0.0: made with X 1; here is X 2."]
    )


class OptionsTest(parameterized.TestCase):
  def test_geometry(self):
    with self.assertRaisesRegex(errors.UserError, "models of one geometry"):
      _plan(geometry="model", models=["inceptionv3", "resnet18"])
    with self.assertRaisesRegex(errors.UserError, "takes no geometry"):
      _plan(geometry="center")

  def test_examples_of_an_embedded_set_are_known_before_it_is_prepared(self):
    folder = self.create_tempdir().full_path
    plan = _plan(data_dir=folder)
    self.assertEqual(data_lib.num_examples(plan, None), 359)
    with mock.patch.object(plan.config.builder, "known_ids", return_value=()):
      self.assertIsNone(data_lib.num_examples(plan, None))
    limited = _plan(data_dir=folder, limit=12)
    self.assertEqual(data_lib.num_examples(limited, None), 12)

  def test_data_are_looked_for_before_weights_are_fetched(self):
    config = ml_collections.ConfigDict(
      dataset_config.config_values("imagenet_c")
    )
    config.data.manual_dir = "/nope"
    config.model.name = "resnet50"
    config.model.checkpoint = "torchvision:ResNet50_Weights.IMAGENET1K_V2"
    fetched = mock.patch.object(sources, "locate", side_effect=self.fail)
    with fetched, self.assertRaises(missing.MissingError) as caught:
      data_lib.plan_of(config)
    whats = [lack.what for lack in caught.exception.lacks]
    self.assertIn("imagenet_c: its files", whats)

  def test_what_a_run_would_download_is_named(self):
    config = ml_collections.ConfigDict(
      dataset_config.config_values("cifar10_c")
    )
    config.data.data_dir = self.create_tempdir().full_path
    config.model.name = "allconv"
    plan = plan_lib.make(config, fetch=False)
    said, *files = data_lib.to_fetch(plan, None)
    self.assertIn("is downloaded by the build", said)
    self.assertStartsWith(files[0], "cifar-10-binary.tar.gz, 170,052,171 bytes")

  @parameterized.parameters(
    (quickstart_video, "video", "av"),
    (quickstart_detection, "detection", "hotcoco or pycocotools"),
  )
  def test_an_extra_without_which_it_ends_too_late_lacks(
    self, config, extra, packages
  ):
    plan = plan_lib.make(config.get_config())
    self.assertEmpty(data_lib.lacks(plan, None))
    with mock.patch.object(importlib.util, "find_spec", return_value=None):
      (lack,) = data_lib.lacks(plan, None)
    self.assertIn(f"The package {packages} is not", lack.fault)
    self.assertEqual(lack.get, f"pip install 'robust_tfds[{extra}]'")

  def test_a_manual_dir_that_is_not_there_of_a_set_that_needs_none(self):
    own = ml_collections.ConfigDict(dataset_config.config_values("tfds:digits"))
    own.data.manual_dir = "/nope"
    own.model.name = "digits_cnn"
    for plan, called in (
      (plan_lib.make(own, fetch=False), "tfds_digits"),
      (_plan(manual_dir="/nope"), "digits_c"),
    ):
      said = f"/nope: there is no such folder, and {called} is made without"
      with self.assertRaisesRegex(errors.UserError, said):
        data_lib.lacks(plan, None)

  def test_a_subset_says_how_many(self):
    ids = self.create_tempfile("ids.txt", "a\nb\nc\n").full_path
    plan = _plan(subset=ids)
    self.assertEqual(data_lib.num_examples(plan, None), 3)
    self.assertStartsWith(plan.config.data.subset, "ids-")
    self.assertNotIn("subset", _plan(subset="").config.written.data)
