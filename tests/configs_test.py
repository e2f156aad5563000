"""Every config file, under every name its docstring gives, makes a plan.

`--plan` is printed of each, nothing downloaded, compiled or written; what lacks is
named. `--plan=measure` is printed of few conditions.
"""

import contextlib
import importlib
import io
import pathlib
import re
import tempfile
from collections.abc import Iterator
from unittest import mock

import ml_collections
import pytest
from absl import flags
from absl.testing import parameterized

import configs
from eval import main, tasks
from eval.run import costs as costs_lib
from eval.run import plan as plan_lib
from eval.run import runner
from models.convert import match
from models.training import config as training_config
from models.training import data as training_data
from models.training import plan as training_plan
from models.training import recipes
from robust_tfds import config_flag, errors
from robust_tfds.corruptions import frost_pictures
from robust_tfds.user_data import tfds_set
from tests import frost_folder, quick

CONDITIONS = {
  "imagenet_c:squeezenet1_1": 96,
  "imagenet_c_bar:squeezenet1_1": 51,
  "imagenet_p:squeezenet1_1": 15,
  "cifar10_c:digits_cnn": 96,
  "cifar10_c_bar:digits_cnn": 51,
  "tiny_imagenet_c:squeezenet1_1": 96,
  "vid_robust": 1,
  "vid_robust:resnet50": 1,
  "vid_robust_detection": 1,
  "vid_robust_detection:fasterrcnn_resnet50_fpn": 1,
  "subtypes": 1,
  "subtypes:imagenet": 1,
  "coco_c:retinanet_r50": 96,
  "coco_c:mask_rcnn_r50": 96,
  "pascal_c:faster_rcnn_r50": 96,
  "cityscapes_c:mask_rcnn_r50": 96,
  "segmentation_c:voc_seg_c,tiny_fcn": 96,
  "video_p:kinetics400_p,x3d_m": 91,
  "video_p:ssv2_p,mvit_base_16x4": 91,
  "video_p:ucf101_ds,r2plus1d_18": 1,
  "own_data": 76,
  "quickstart": 96,
  "quickstart:digits_c": 96,
  "quickstart:digits_p": 21,
  "quickstart:signs_p": 21,
  "quickstart_detection": 96,
  "quickstart_segmentation": 96,
  "quickstart_video": 91,
}
# Trainings: what stands in a file's SETTINGS, which `--list` reads too.
_TRAININGS = {n: config_flag.settings(n) for n in config_flag.shipped(True)}
_OWN = "tests.faults.own_models"
# Config -> model that its printed plan has; these take seconds.
QUICK = {
  "cifar10_c": f"{_OWN}:small",
  "cifar10_c_bar": f"{_OWN}:small",
  "imagenet_p": f"{_OWN}:large",
  "own_data": "",
  "subtypes": "",
  "vid_robust": "",
}
# Programs of many pixels, and networks.
LONG = {
  "coco_c": "tiny_retinanet",
  "pascal_c": "tiny_retinanet",
  "cityscapes_c": "tiny_retinanet",
  "imagenet_c": f"{_OWN}:large",
  "imagenet_c_bar": f"{_OWN}:large",
  "quickstart": "digits_p",
  "quickstart_detection": "",
  "quickstart_segmentation": "",
  "segmentation_c": "voc_seg_c,tiny_fcn",
  "quickstart_video": "",
  "tiny_imagenet_c": f"{_OWN}:tiny",
  "vid_robust_detection": "",
  "video_p": "ucf101_p,tiny_r3d",
}


@contextlib.contextmanager
def _no_writes() -> Iterator[None]:
  """Fails where Python opens a file to write it, or makes a folder."""
  real = io.open

  def opened(file, mode="r", *rest, **more):
    assert not set(mode) & set("wax+"), file
    return real(file, mode, *rest, **more)

  with (
    mock.patch("builtins.open", opened),
    mock.patch.object(io, "open", opened),
    mock.patch.object(tempfile, "mkdtemp", side_effect=AssertionError),
  ):
    yield


def _config(file: str, what: str) -> ml_collections.ConfigDict:
  module = importlib.import_module(f"configs.{file}")
  return module.get_config(*([what] if what else [])).unlock()


class ConfigsTest(parameterized.TestCase):
  @parameterized.parameters(*CONDITIONS.items())
  def test_plan(self, name, conditions):
    file, _, what = name.partition(":")
    config = _config(file, what)
    frost_folder.use_drawn()
    self.addCleanup(frost_pictures.use_folder, None)
    if "model" in config and "train" not in config.model:
      config.model.checkpoint = "weights.npz"
    if what == "squeezenet1_1" and file == "tiny_imagenet_c":
      config.model.num_classes = 200
    loaded = match.Loaded(None, {}, match.NATIVE, {}, ())  # no weights are here
    with mock.patch.object(match, "load", return_value=loaded):
      plan = plan_lib.make(config.lock())
    self.assertLen(plan.conditions, conditions)

  def test_all_files_are_here(self):
    files = {p.stem for p in pathlib.Path(configs.__path__[0]).glob("*.py")}
    files = {f for f in files if not f.startswith("train_")}
    listed = {name.partition(":")[0] for name in CONDITIONS}
    self.assertEqual(files - {"__init__"}, listed)
    self.assertEqual({*QUICK, *LONG}, listed)


class TrainingPlanTest(parameterized.TestCase):
  def _plan(self, name: str, setting: str) -> str:
    """Reads no data and writes nothing."""
    config = training_config.parse(_config(name, setting).lock())
    with (
      mock.patch.object(training_data, "open", side_effect=AssertionError),
      _no_writes(),
    ):
      text = training_plan.describe(config)
    for part in ("data", "steps", "network", "recipe", "optimizer", "memory"):
      self.assertRegex(text, f"(?m)^{part}.*: .*[a-z0-9]")
    self.assertRegex(
      text, r"(?m)^disclosure: trained on \w.*; conditions of .*: "
    )
    return text

  @parameterized.parameters(*_TRAININGS)
  def test_plan(self, name):
    """Of embedded data by itself."""
    text = self._plan(name, "")
    self.assertRegex(text, r"(?m)^data: digits\w* train, ")
    self.assertRegex(text, r"(?m)^steps: .*[0-9,]+ steps of \d+ examples")
    self.assertRegex(text, "(?m)^memory of a device: ")
    self.assertRegex(text, r"(?m)^disclosure: trained on digits\w* train")

  @parameterized.parameters(*_TRAININGS)
  @pytest.mark.slow
  def test_plan_of_every_setting(self, name):
    for setting in _TRAININGS[name]:
      with self.subTest(setting):
        self._plan(name, setting)

  @parameterized.parameters(*_TRAININGS)
  def test_settings(self, name):
    """Each is one; the first is that of no setting; others are refused."""
    default, *others = _TRAININGS[name]
    made = {s: _config(name, s).to_dict() for s in (default, *others)}
    self.assertEqual(made[default], _config(name, "").to_dict())
    for setting in others:
      training_config.parse(ml_collections.ConfigDict(made[setting]))
      self.assertIn(made[setting]["recipe"]["name"], recipes.names())
    with self.assertRaisesRegex(errors.UserError, f"{name} '{default}s'"):
      _config(name, f"{default}s")


class PrintedPlanTest(parameterized.TestCase):
  def _printed(self, config: ml_collections.ConfigDict, how: str = "true"):
    """What `eval.main --config=... --plan` prints, and its exit code."""
    settings = mock.MagicMock(
      config=config.lock(),
      coordinator=None,
      list=False,
      multihost=False,
      num_processes=None,
      plan=how,
      process_id=None,
      shard="1/1",
      workdir=None,
    )
    settings.__contains__.side_effect = "config".__eq__
    out, code = io.StringIO(), 0
    with (
      mock.patch.object(flags, "FLAGS", settings),
      contextlib.redirect_stdout(out),
    ):
      try:
        main.main(["main"])
      except SystemExit as e:
        code = e.code
    return out.getvalue(), code

  @quick.cases(QUICK.items(), LONG.items())
  def test_measured(self, file, what):
    config = _config(file, what)
    config.batch_size = 1
    of_c = "sparkles" if file.endswith("c_bar") else "contrast"
    small = {"corruptions": of_c, "perturbations": "brightness"}
    if config.get("task") == "video":
      small["perturbations"] = "jpeg"
    task = tasks.get(config.get("task", "classification"))
    with config.ignore_type():
      for key, value in {**small, "severities": (1,)}.items():
        if key in task.condition_keys() or key in config.data:
          config.data[key] = value
    if "model" in config and config.model.name.startswith("tiny"):
      if "train" not in config.model:
        config.model.checkpoint = "weights.npz"
    loaded = match.Loaded(None, {}, match.NATIVE, {}, ())  # no weights are here
    with mock.patch.object(match, "load", return_value=loaded):
      text, _ = self._printed(config, "measure")
    name = config.data.name.replace("tfds:", "tfds_")  # of one's own data
    self.assertRegex(text, f"(?m)^{name}: .* conditions")
    self.assertIn("measured here on one batch of 1 examples", text)
    self.assertIn("memory: about", text)

  @parameterized.parameters(*CONDITIONS)
  def test_at_once_with_all_that_lacks(self, name):
    file, _, what = name.partition(":")
    config = _config(file, what)
    if what == "squeezenet1_1" and file == "tiny_imagenet_c":
      config.model.num_classes = 200
    wanted = []
    if "model" in config and "train" not in config.model:
      wanted.append(f"the weights of {config.model.name}: not here")
      wanted.append(" --config.model.checkpoint=")
    if not {"digits", "signs"} & set(re.split("[_:]", config.data.name)):
      config.data.manual_dir = "/nowhere"
      wanted.append(f"{config.data.name}: its files: not here. /nowhere: there")
    with (
      mock.patch.object(costs_lib, "measure", side_effect=AssertionError),
      mock.patch.object(tfds_set.TfdsSet, "files", side_effect=AssertionError),
    ):
      text, code = self._printed(config)
    self.assertEqual(code, 1 if wanted else 0, text)
    for words in wanted:
      self.assertIn(words, text)
    self.assertRegex(text, "(?m)^work: .*--plan=measure")

  def test_nothing_is_written(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    config = _config("imagenet_c", "resnet50")
    config.data.data_dir = str(folder / "data")
    self._printed(config)
    self.assertEmpty(list(folder.iterdir()))


class QuickstartTest(parameterized.TestCase):
  @pytest.mark.slow
  def test_most_corruptions_show_and_the_network_beats_its_baseline(self):
    frost_folder.use_drawn()
    self.addCleanup(frost_pictures.use_folder, None)
    config = _config("quickstart", "signs_c")
    config.reports = config.photographs = False
    folder = pathlib.Path(self.create_tempdir().full_path)
    rows = [
      row
      for row in runner.Runner(plan_lib.make(config.lock()), folder).run()
      if row.model == "signs_cnn"
    ]
    (mce,) = [row.value for row in rows if row.metric == "mce"]
    self.assertLess(mce, 1)
    errors = [row for row in rows if row.metric == "error"]
    (clean,) = [row for row in errors if not row.corruption]
    hardest = [row for row in errors if row.severity == 5]
    self.assertLen(hardest, 19)
    self.assertGreaterEqual(sum(r.value > clean.hi for r in hardest), 12)
