"""The command: what it refuses, its plan, a tiny training; every config."""

import json
import pathlib
import shutil
import tempfile
from unittest import mock

import jax
import numpy as np
from absl.testing import parameterized

from models.training import main, plan, run
from robust_tfds import config_flag, models
from robust_tfds.storage import paths
from tests import in_folder, in_process, quick
from tests.models.training import tiny_trainings

_NINE = "9 operations (without contrast, brightness, color, sharpness)"
_FRACTALS = f"64 fractals of seed 0 (training.fractals) and {_NINE}"
_TEXTURES = "64 procedural textures of seed 0 by texture, which is not AdaIN"
_TEMPORAL = ["freezing", "jumbling", "sampling"]
_SPATIAL = ["gaussian_noise", "random_rotation", "speckle_noise"]
# Config, more flags of its recipe -> conditions and pictures that it discloses.
_EMBEDDED = (
  ("train_standard", [], [], ""),
  ("train_augmix", [], [], _NINE),
  (
    "train_augmix",
    ["overlap=True", "allow"],
    ["brightness", "contrast", "gaussian_blur", "saturate"],
    "13 operations",
  ),
  ("train_pixmix", [], [], _FRACTALS),
  ("train_stylized", [], [], _TEXTURES),
  ("train_stylized", ["mode=combined"], [], _TEXTURES),
  ("train_corruption_mix", [], ["gaussian_noise"], ""),
  ("train_corruption_mix:jpeg_compression", [], ["jpeg_compression"], ""),
  ("train_corruption_mix:temporal", [], _TEMPORAL, ""),
  ("train_corruption_mix:spatial", [], _SPATIAL, ""),
  ("train_corruption_mix:mixed", [], sorted(_TEMPORAL + _SPATIAL), ""),
  ("train_corruption_mix:pixmix", [], [], _FRACTALS),
  ("train_alp", ["steps=2"], [], ""),
  ("train_stability", [], [], ""),
  ("train_finetune", [], [], ""),
  (
    "train_finetune",
    ["name=clahe"],
    [],
    "equalized by CLAHE, in training and at test",
  ),
  ("train_detector", [], [], ""),
  ("train_detector", ["mode=stylized"], [], _TEXTURES),
)


class MainTest(in_folder.TestCase, parameterized.TestCase):
  def _run(self, *flags):
    return in_process.run(main, *flags)

  def test_refusals(self):
    for flags, message in (
      ((), "Say what is trained: --config=train_standard"),
      (("--config=train_standard",), "Say where the training lives"),
      (("--config=train_standart",), "did you mean 'train_standard'"),
      (("--config=quickstart", "--plan"), "expected a config of this command"),
      (("--config=train_standard", "--process_id=1"), "needs --multihost"),
    ):
      done = self._run(*flags)
      self.assertNotEqual(done.returncode, 0)
      self.assertIn(message.lower(), (done.stdout + done.stderr).lower())

  @parameterized.parameters(
    ("optimizer.clip_norm=-1", "config.optimizer.clip_norm: got -1.0"),
    ("schedule.name=step", "config.schedule.at: got none with the schedule"),
    ("data.split=train[:", "split='train[:': no part of train, which has"),
  )
  def test_values(self, words, message):
    flags = ("--config.steps=1", "--config.epochs=0", f"--config.{words}")
    done = self._run(
      "--config=train_standard", f"--workdir={self.root / 'w'}", *flags
    )
    self.assertNotEqual(done.returncode, 0)
    self.assertIn(message, done.stderr.lower())
    self.assertNotIn("Traceback", done.stderr)

  @parameterized.parameters(
    ("optimizer.clip_nrm", "clip_norm"),
    ("model.num_clases", "num_classes"),
    ("recipe.crop", "crop_px"),
  )
  def test_the_nearest_key(self, key, nearest):
    done = self._run("--config=train_standard", f"--config.{key}=1", "--plan")
    self.assertRegex(done.stderr, f"--config.{key}: .*Did you mean '{nearest}'")

  def test_keys_that_the_file_does_not_name(self):
    said = {
      "optimizer.clip_norm": "0.5",
      "optimizer.beta1": "0.8",
      "schedule.patience": "3",
      "data.workers": "2",
      "data.judged_on": "digits_c,signs_c",
      "data.canvas": "(64, 64)",
      "model.num_classes": "12",
      "model.spec.scale": "2.0",
      "recipe.depth": "2",
      "recipe.overlap": "True",
      "allow_benchmark_conditions": "True",
    }
    flags = [f"--config.{key}={value}" for key, value in said.items()]
    with mock.patch.object(plan, "describe", str):
      done = self._run("--config=train_augmix", "--plan", *flags)
    self.assertEqual(done.returncode, 0, done.stderr)
    for words in (
      "clip_norm=0.5",
      "beta1=0.8",
      "patience=3",
      "workers=2",
      "judged_on=('digits_c', 'signs_c')",
      "canvas=(64, 64)",
      "num_classes=12",
      "spec={'scale': 2.0}",
      "'depth': 2",
      "'overlap': True",
    ):
      self.assertIn(words, done.stdout)

  def test_plan_in_a_workdir(self):
    flags = ("--config=train_standard", f"--workdir={self.root / 'w'}")
    done = self._run(*flags, "--plan")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("data: digits train", done.stdout)
    self.assertIn(f"workdir: {self.root / 'w'}, new", done.stdout)
    self.assertFalse((self.root / "w").exists())
    (self.root / "w").mkdir()
    (self.root / "w" / "config.json").write_text('{"config.seed": 1}')
    for more in (("--plan",), ()):  # before data are read into it
      done = self._run(*flags, *more)
      self.assertEqual(done.returncode, 1)
      self.assertIn("another training: config.", done.stdout + done.stderr)
      self.assertLen(list((self.root / "w").iterdir()), 1)

  def test_models_load_none_of_it(self):
    code = (
      "import sys; from robust_tfds import models; rest ="
      " ('orbax', 'grain', 'models.training');"
      " print([name for name in rest if name in sys.modules])"
    )
    self.assertEqual(in_process.python("-c", code).stdout, "[]\n")

  def test_a_training(self):
    prepared = tiny_trainings.prepared()
    flags = ("--config=train_standard", f"--workdir={self.root / 'w'}")
    with mock.patch.object(run, "prepare", return_value=prepared):
      done = self._run(*flags)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("step 12 of 12", done.stdout)
    self.assertIn("tiny: ", done.stdout)
    self.assertIn(f"weights: {self.root / 'w' / 'weights.npz'}", done.stdout)
    self.assertIn("evaluate it: robust-tfds run --config=", done.stdout)
    self.assertEqual(done.stderr, "")
    self.assertTrue((self.root / "w" / "weights.npz").exists())


class EveryConfigTest(in_folder.TestCase):
  """A few steps of each embedded config, from the command to what it hands over."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.sets = tempfile.mkdtemp()  # prepared once for all
    cls.addClassCleanup(shutil.rmtree, cls.sets)

  def test_every_file_is_here(self):
    here = {name.partition(":")[0] for name, *_ in _EMBEDDED}
    self.assertEqual(here, {*config_flag.shipped(True)})

  @quick.cases(_EMBEDDED[:1], _EMBEDDED[1:])
  def test_a_few_steps(self, name, more, conditions, pictures):
    workdir = self.root / "run"
    flags = [f"--config.recipe.{flag}" for flag in more if flag != "allow"]
    if "allow" in more:
      flags.append("--config.allow_benchmark_conditions=True")
    done = in_process.run(
      main,
      f"--config={name}",
      f"--workdir={workdir}",
      f"--config.data.data_dir={self.sets}",
      "--config.data.split=train[:32]",
      "--config.epochs=0",
      "--config.steps=3",
      "--config.schedule.warmup=0",
      "--config.batch_size=8",
      *flags,
    )
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    said = json.loads((workdir / "disclosure.json").read_text())
    severities = [1, 2, 3] if said["recipe"]["name"] == "corruption_mix" else []
    self.assertEqual(
      (said["conditions"], said["severities"], said["pictures"], said["steps"]),
      (conditions, severities, pictures, 3),
    )
    weights = workdir / "weights.npz"
    self.assertEqual(said["weights"], paths.sha256(weights))
    self._assert_taken(said["model"], workdir, len(said["classes"]))

  def _assert_taken(self, name: str, workdir: pathlib.Path, classes: int):
    """By the network's name; they are not its first ones."""
    got = models.convert.load(name, workdir)
    model = models.get(name, classes)
    first = jax.tree.map(np.asarray, model.init(jax.random.key(0)))
    moved = jax.tree.map(lambda a, b: not np.array_equal(a, b), got, first)
    self.assertTrue(any(jax.tree.leaves(moved)))
    finite = jax.tree.map(lambda x: bool(np.isfinite(x).all()), got)
    self.assertTrue(all(jax.tree.leaves(finite)))
