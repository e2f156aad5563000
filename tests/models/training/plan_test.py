"""`--plan`: what it says of every config, what it refuses."""

import importlib
import os
import pathlib
import shutil
import types
from unittest import mock

from absl.testing import absltest
from etils import epath

from models.training import config as config_lib
from models.training import plan, run
from robust_tfds import errors, models
from tests import tiny_files
from tests.models.training import tiny_trainings


def _config(name: str):
  file, _, setting = name.partition(":")
  module = importlib.import_module(f"configs.{file}")
  return module.get_config(*[setting] if setting else [])


class WorkdirTest(absltest.TestCase):
  """What it says of a folder is what a training does there; nothing is touched."""

  def setUp(self):
    super().setUp()
    self.workdir = pathlib.Path(self.create_tempdir().full_path) / "run"

  def _train(self, **changes):
    silent = lambda text: None
    prepared = tiny_trainings.prepared(**changes)
    run.train(prepared, epath.Path(self.workdir), say=silent)

  def _plan(self, **changes) -> str:
    before = self._places()
    try:
      config = tiny_trainings.config(**changes)
      return plan.describe_workdir(config, epath.Path(self.workdir))
    finally:
      self.assertEqual(self._places(), before)

  def _places(self) -> dict[pathlib.Path, int]:
    places = self.workdir.parent.rglob("*")
    return {place: place.stat().st_mtime_ns for place in places}

  def test_new_begun_done(self):
    self.assertEqual(self._plan(), f"workdir: {self.workdir}, new")
    self._train()
    self.assertIn("done", self._plan())
    (self.workdir / "disclosure.json").unlink()
    self.assertIn("begun: it continues after its last", self._plan())
    shutil.rmtree(self.workdir / "checkpoints")
    self.assertIn("begun, without a checkpoint: it begins", self._plan())

  def test_what_a_training_would_refuse(self):
    self._train()
    with self.assertRaisesRegex(
      errors.UserError, "another training: config.seed: 3 there, 4 now"
    ):
      self._plan(seed=4)
    for text, message in (
      ("{", "not JSON"),
      ("{}", "no workdir of a training"),
    ):
      (self.workdir / "config.json").write_text(text)
      with self.assertRaisesRegex(errors.UserError, message):
        self._plan()
    (self.workdir / "config.json").unlink()
    for call in (self._plan, self._train):
      with self.assertRaisesRegex(
        errors.UserError, "weights.npz: weights that no training .* replace"
      ):
        call()

  def test_checkpoints_of_another_config(self):
    """The checkpoints say whose they are, whatever lies beside them."""
    self._train()
    for name in os.listdir(self.workdir):
      if name != "checkpoints":
        (self.workdir / name).unlink()
    with self.assertRaisesRegex(
      errors.UserError, "checkpoints/12: the state of another .*steps: 12 there"
    ):
      self._train(steps=13)

  def test_a_file_instead_of_checkpoints(self):
    self.workdir.mkdir()
    (self.workdir / "checkpoints").write_text("")
    with self.assertRaisesRegex(
      errors.UserError, "checkpoints: .*A file lies where a folder belongs"
    ):
      self._train()


class PlanTest(absltest.TestCase):
  def test_papers_settings(self):
    text = plan.describe(config_lib.parse(_config("train_standard:imagenet")))
    self.assertIn("1,281,167 examples", text)
    self.assertIn("90 epochs, 450,360 steps of 256 examples", text)

  def test_tfds_s_sets_in_any_config_and_version(self):
    text = plan.describe(config_lib.parse(_config("train_alp:imagenet64")))
    self.assertIn("1,281,167 examples", text)
    config = _config("train_standard:cifar").unlock()
    config.data.source = "tfds:cifar100:3.0.2"
    text = plan.describe(config_lib.parse(config))
    self.assertIn("50,000 examples", text)

  def test_the_head_is_the_datas(self):
    name = "train_corruption_mix:temporal,ucf101"
    config = config_lib.parse(_config(name))
    count = models.get("i3d_r50", 101).count_parameters()
    self.assertIn(f"i3d_r50, {count:,} parameters", plan.describe(config))

  def test_a_batch_that_does_not_divide_over_the_devices(self):
    three = types.SimpleNamespace(size=3)
    with (
      mock.patch.object(plan.devices, "mesh", return_value=three),
      self.assertRaisesRegex(
        errors.UserError, "does not divide over 3 devices"
      ),
    ):
      plan.describe(config_lib.parse(_config("train_standard")))

  def test_a_rate_that_falls_after_the_end(self):
    config = _config("train_standard:imagenet").unlock()
    config.schedule.at = (90, 120)
    with self.assertRaisesRegex(
      errors.UserError, "the first after 450,360 of 450,360 steps"
    ):
      plan.describe(config_lib.parse(config))

  def test_what_is_frozen(self):
    config, where = (
      _config("train_detector:voc").unlock(),
      "random weights: give",
    )
    text = plan.describe(config_lib.parse(config))
    self.assertIn(f"the first 2 of its stages are frozen at {where}", text)
    self.assertIn("; statistics of its norms are frozen", text)
    config.model.checkpoint = "/nowhere/x.npz"
    text = plan.describe(config_lib.parse(config))
    self.assertIn(
      "(not here); the first 2 of its stages are frozen; stat", text
    )
    text = plan.describe(config_lib.parse(_config("train_standard")))
    self.assertNotIn("frozen", text)

  def test_a_crop_larger_than_the_pictures(self):
    """Of all recipes, of sets whose size is known and of cropped folders."""
    for name in ("standard", "pixmix", "corruption_mix", "alp"):
      config = _config(f"train_{name}").unlock()
      config.recipe.crop_px = 32
      with self.assertRaisesRegex(
        errors.UserError, "crop_px: got 32, expected less than .* 32 px"
      ):
        plan.describe(config_lib.parse(config))
    config.data.source, config.recipe.crop_px = "folder:pets", 224
    config.data.geometry = "short256_crop224"
    with self.assertRaisesRegex(errors.UserError, "got 224"):
      plan.describe(config_lib.parse(config))

  def test_data_that_no_training_could_have(self):
    for key, value, message in (
      ("source", "digit", "set to train on 'digit'. Did you mean 'digits'"),
      ("source", "digits_c", "set to train on 'digits_c'"),
      ("split", "trian", "split of digits 'trian'. Did you mean 'train'"),
    ):
      config = _config("train_standard").unlock()
      config.data[key] = value
      config.allow_benchmark_conditions = True
      with self.assertRaisesRegex(errors.UserError, message):
        plan.describe(config_lib.parse(config))
    config = _config("train_pixmix").unlock()
    config.recipe.pictures = "/data/photos/test"
    with self.assertRaisesRegex(errors.UserError, "recipe.pictures.*: test is"):
      plan.describe(config_lib.parse(config))
    config = _config("train_standard").unlock()
    config.batch_size = 1300  # of 1,438, a tenth of which is held out
    with self.assertRaisesRegex(errors.UserError, "an epoch has not one batch"):
      plan.describe(config_lib.parse(config))

  def test_what_is_not_here_is_said(self):
    """No refusal: a training of another machine may be planned on this one."""
    config = _config("train_standard").unlock()
    config.data.source = f"folder:{self.create_tempdir().full_path}"
    config.model.checkpoint = "/nowhere/x.npz"
    text = plan.describe(config_lib.parse(config))
    self.assertIn("from /nowhere/x.npz (not here)", text)
    self.assertIn(f"data: {config.data.source} train, examples", text)
    config.data.source = "folder:/nowhere/pets"
    text = plan.describe(config_lib.parse(config))
    self.assertIn("data: folder:/nowhere/pets train (not here), examples", text)

  def test_parts_of_a_split_are_counted_when_they_are_read(self):
    config = _config("train_standard").unlock()
    config.data.split = "train[:200]"
    text = plan.describe(config_lib.parse(config))
    self.assertIn("train[:200], examples are counted when it is opened", text)
    self.assertIn("an unknown number of steps", text)

  def test_official_lists(self):
    config = _config("train_standard").unlock()
    config.data.source = "coco_train"
    self.assertIn("118,287 examples", plan.describe(config_lib.parse(config)))

  def test_detectors_schedules(self):
    """Michaelis et al.'s, and Shankar et al.'s Table 11 with Faster R-CNN."""
    for what, rate, batch, epochs, at, short in (
      ("voc", 0.00125, 2, 12, (9,), 600),
      ("coco", 0.01, 8, 12, (8, 11), 800),
      ("cityscapes", 0.0025, 2, 64, (48,), 1024),
    ):
      config = config_lib.parse(_config(f"train_detector:{what}"))
      self.assertEqual(config.optimizer.learning_rate, rate)
      self.assertEqual((config.batch_size, config.epochs), (batch, epochs))
      self.assertEqual(tuple(config.schedule.at), at)
      self.assertEqual(config.model.spec["short_px"], short)
    for what, backbone in (("vid", "resnet50"), ("vid,resnet101", "resnet101")):
      config = config_lib.parse(_config(f"train_detector:{what}"))
      self.assertStartsWith(config.model.name, f"fasterrcnn_{backbone}_fpn")
      self.assertEqual((config.steps, config.batch_size), (40_000, 8))
      self.assertEqual(config.optimizer.learning_rate, 0.01)
      self.assertEqual(list(config.schedule.at_steps), [20_000, 30_000])

  def test_mixes_of_videos(self):
    """training_mixes.tsv, by our names, at severities 1-3; code's defaults."""
    for what, names in (
      ("temporal", {"jumbling", "freezing", "sampling"}),
      ("spatial", {"speckle_noise", "gaussian_noise", "random_rotation"}),
    ):
      config = config_lib.parse(_config(f"train_corruption_mix:{what},ucf101"))
      self.assertEqual({*config.recipe["names"].split(",")}, names)
      self.assertEqual(tuple(config.recipe["severities"]), (1, 2, 3))
      step = config.optimizer
      got = step.learning_rate, step.momentum, step.dampening, step.weight_decay
      self.assertEqual(got, (0.1, 0.9, 0.9, 1e-3))
      self.assertEqual((config.batch_size, config.epochs), (16, 50))
      self.assertEqual(config.schedule.patience, 10)
    mixed = config_lib.parse(_config("train_corruption_mix:mixed"))
    self.assertLen(mixed.recipe["names"].split(","), 6)

  def test_severities_that_videos_are_tested_at(self):
    config = _config("train_corruption_mix:temporal").unlock()
    for names in (config.recipe["names"], "gaussian_noise"):
      config.recipe.update({"names": names, "severities": (3, 4)})
      config.recipe.tested_severities = False
      with self.assertRaisesRegex(
        errors.UserError, "got 3, 4; videos .* at 4, 5"
      ):
        plan.describe(config_lib.parse(config))
      config.recipe.tested_severities = True
      self.assertIn(
        " at 3, 4, and its rows", plan.describe(config_lib.parse(config))
      )

  def test_pictures_that_are_smaller_than_the_examples(self):
    config = _config("train_pixmix").unlock()
    pictures = self.create_tempdir().full_path
    picture = tiny_files.encoded(tiny_files.noise(9, 9, 0), "PNG")
    tiny_files.put(epath.Path(pictures), {"a.png": picture})
    config.recipe.update({"pictures": pictures, "short_px": 31})
    for crop, side in (("", 32), ("random_resized64", 64)):
      config.data.crop = crop
      with self.assertRaisesRegex(
        errors.UserError, f"expected at least {side},"
      ):
        plan.describe(config_lib.parse(config))

  def test_both_sets_are_twice_the_steps(self):
    config = _config("train_stylized").unlock()
    text = {}
    for mode in ("stylized", "combined"):
      config.recipe.mode = mode
      text[mode] = plan.describe(config_lib.parse(config))
      self.assertIn("texture, which is not AdaIN", text[mode])
    self.assertIn("300 steps", text["stylized"])
    self.assertIn("600 steps", text["combined"])
