"""A training from its config to its weights, on the embedded digits."""

import dataclasses
import json
import os
import pathlib
import random
import subprocess
import sys
import time
from unittest import mock

import jax
import numpy as np
import pytest
from absl.testing import parameterized
from etils import epath

from configs import train_standard
from models.training import config as config_lib
from models.training import disclosure, run
from robust_tfds import errors, models
from robust_tfds.storage import paths
from tests import in_folder, tiny_files
from tests.models.training import tiny_trainings

_ROOT = pathlib.Path(__file__).parents[3]
_FLAGS = (
  "--config=train_standard",
  "--config.epochs=0",
  "--config.steps=60",
  "--config.batch_size=32",
  "--config.keep.every=5",
)


def _command(workdir, data_dir, *flags, devices: int = 1) -> subprocess.Popen:
  """The command as a process of its own, which is not waited for."""
  words = (
    *_FLAGS,
    f"--workdir={workdir}",
    f"--config.data.data_dir={data_dir}",
  )
  return subprocess.Popen(
    [sys.executable, "-m", "models.training.main", *words, *flags],
    cwd=_ROOT,
    env={
      **os.environ,
      "JAX_PLATFORMS": "cpu",
      "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
    },
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    text=True,
  )


def _sha256(workdir: pathlib.Path) -> str:
  return paths.sha256(workdir / "weights.npz")


class RunTest(in_folder.TestCase):
  def _train(self, folder: str = "run", **changes):
    workdir = epath.Path(self.root) / folder
    prepared = tiny_trainings.prepared(**changes)
    return workdir, run.train(prepared, workdir, say=lambda text: None)

  def test_what_a_workdir_holds(self):
    workdir, variables = self._train()
    names = {p.name for p in workdir.iterdir()}
    self.assertEqual(
      names,
      {
        "checkpoints",
        "config.json",
        "disclosure.json",
        "metrics.csv",
        "report.html",
        "weights.npz",
        "weights.npz.report.json",
      },
    )
    made = disclosure.read(workdir)
    self.assertEqual(made.weights, _sha256(workdir))
    self.assertEqual((made.classes, made.examples), (["dark", "bright"], 24))
    self.assertEqual(made.content, "5e")
    with np.load(workdir / "weights.npz") as arrays:
      np.testing.assert_array_equal(
        arrays["head/kernel"], variables["head"]["kernel"]
      )
    again, same = self._train()  # it is done: nothing changes
    jax.tree.map(np.testing.assert_array_equal, same, variables)

  def test_what_it_says_of_a_benchmarks_conditions(self):
    for recipe, count in (
      ({"name": "corruption_mix", "names": "fog"}, 1),
      ({"name": "standard"}, 0),
    ):
      lines: list[str] = []
      prepared = tiny_trainings.prepared(
        recipe=recipe, allow_benchmark_conditions=True
      )
      workdir = epath.Path(self.root) / recipe["name"]
      run.train(prepared, workdir, say=lines.append)
      marked = [x for x in lines if x.startswith("trained on fog, which bench")]
      self.assertLen(marked, count)

  def test_another_config(self):
    self._train()
    with self.assertRaisesRegex(
      errors.UserError,
      r"another training: config.optimizer.learning_rate: 0.5 there, 0.25 now;"
      r" config.seed: 3 there, 4 now",
    ):
      self._train(optimizer__learning_rate=0.25, seed=4)
    # Neither changes a weight.
    self._train(keep__every=4, data__manual_dir="/elsewhere")

  def test_a_refused_config_takes_no_workdir(self):
    with self.assertRaisesRegex(errors.UserError, "config.schedule.warmup"):
      self._train(schedule__warmup=10_000)
    self.assertEmpty(os.listdir(self.root / "run"))
    self._train()

  def test_another_checkpoint_under_the_same_name(self):
    first = tiny_trainings.prepared(model__checkpoint="first.npz")
    workdir = epath.Path(self.root) / "from"
    run.train(first, workdir, say=lambda line: None)
    variables = first.model.init(jax.random.key(first.config.seed + 1))
    other = dataclasses.replace(first, variables=variables)
    with self.assertRaisesRegex(
      errors.UserError, "another training: sha256 of the first weights"
    ):
      run.train(other, workdir, say=lambda line: None)

  def test_other_data_under_the_same_name(self):
    self._train()
    other = mock.patch.object(tiny_trainings.Source, "digest", "6f")
    words = "another training: sha256 of the examples: '5e' there, '6f' now"
    with other, self.assertRaisesRegex(errors.UserError, words):
      self._train()

  def test_without_a_workdir(self):
    _, variables = self._train()
    again = run.train(tiny_trainings.prepared(), say=lambda text: None)
    jax.tree.map(np.testing.assert_array_equal, again, variables)

  @parameterized.parameters(
    ({"model.num_classes": 5}, "num_classes: got 5, the data has 10 classes"),
    (
      {"model.spec": {"num_classes": 3}},
      "config.model.spec.num_classes: got 3, the data has 10 classes",
    ),
    ({"model.name": "digits_linear+clahe"}, "no train mode"),
    (
      {"model.name": "tiny_retinanet"},
      "config.recipe.name: got 'standard', which trains .* classification or video or"
      " segmentation;"
      " tiny_retinanet is of the kind detection",
    ),
  )
  def test_networks_that_are_refused(self, changes, message):
    config = train_standard.get_config().unlock()
    config.model.num_classes = 0
    for key, value in changes.items():
      config.model[key.partition(".")[2]] = value
    with self.assertRaisesRegex(errors.UserError, message):
      run.network(config_lib.parse(config), 10)

  def test_a_set_of_another_kind(self):
    config = train_standard.get_config().unlock()
    config.model.name = "tiny_r3d"
    with self.assertRaisesRegex(
      errors.UserError,
      "config.data.source: got 'digits', a set of pictures; tiny_r3d learns from"
      " videos",
    ):
      run.prepare(config_lib.parse(config), data_dir=str(self.root))

  @parameterized.parameters(
    (
      {},
      "train are 24 x 20 px, digits_cnn takes 32 x 32 alone.*short32_crop32",
    ),
    ({"name": "resnet18"}, "config.recipe.crop_px: got 20, expected less than"),
  )
  def test_pictures_of_another_size(self, network, message):
    """Said before anything is written."""
    root, rng = pathlib.Path(self.root) / "pets", np.random.default_rng(0)
    pixels = rng.integers(0, 255, (20, 24, 3)).astype(np.uint8)
    picture = tiny_files.encoded(pixels, "PNG")
    tiny_files.put(root, {"cats/1.png": picture, "dogs/1.png": picture})
    config = train_standard.get_config().unlock()
    config.model.update(network)
    config.data.update({"source": f"folder:{root}", "validation": 0.0})
    config.recipe.crop_px = 20
    with self.assertRaisesRegex(errors.UserError, message):
      run.prepare(config_lib.parse(config), say=lambda text: None)

  def test_clips_are_the_networks(self):
    config = train_standard.get_config().unlock()
    config.model.name = "tiny_r3d"
    spec = models.get("tiny_r3d").spec
    made = run.data_config(config_lib.parse(config), "/sets")
    self.assertEqual((made.frames, made.rate), (spec.frames, spec.rate))
    self.assertEqual(made.data_dir, "/sets")

  @pytest.mark.slow
  def test_digits_are_learnt(self):
    config = train_standard.get_config().unlock()
    config.keep.last, config.epochs = 0, 12
    prepared = run.prepare(
      config_lib.parse(config), data_dir=str(self.root / "sets")
    )
    with mock.patch("builtins.print"):
      run.train(prepared, epath.Path(self.root) / "run")
    last = (self.root / "run" / "metrics.csv").read_text().splitlines()
    row = dict(zip(last[0].split(","), last[-1].split(",")))
    self.assertLess(float(row["validation_error"]), 0.05)


class _Killed(Exception):
  """In place of a process's end."""


@pytest.mark.slow
class KindsTest(in_folder.TestCase):
  """Detectors and video networks: the same loop, the same bytes after a stop."""

  def _train(self, config, folder: str) -> pathlib.Path:
    workdir = epath.Path(self.root) / folder
    silent = lambda text: None
    prepared = run.prepare(config, data_dir=str(self.root / "sets"), say=silent)
    run.train(prepared, workdir, say=silent)
    return pathlib.Path(workdir)

  @parameterized.parameters(
    ("tiny_retinanet", "detector", "digits_detection", "validation_loss"),
    ("tiny_fasterrcnn", "detector", "digits_detection", "validation_loss"),
    ("tiny_r3d", "standard", "digits_video", "validation_error"),
  )
  def test_stopped_and_gone_on(self, name, recipe, source, chosen_by):
    config = tiny_trainings.config(
      model__name=name,
      data={"source": source, "split": "train[:32]", "validation": 0.2},
      recipe={"name": recipe},
      optimizer={"name": "adam", "learning_rate": 1e-3},
      keep={"every": 2},
      steps=5,
    )
    whole = self._train(config, "whole")
    steps = mock.patch.object(
      run.step_lines.Progress, "step", side_effect=[None, None, _Killed]
    )
    with steps, self.assertRaises(_Killed):
      self._train(config, "stopped")
    self.assertEqual(_sha256(self._train(config, "stopped")), _sha256(whole))
    head = (whole / "metrics.csv").read_text().partition("\n")[0]
    self.assertIn(chosen_by, head.split(","))


@pytest.mark.slow
class ProcessesTest(in_folder.TestCase):
  def _whole(self, folder: str, *flags, devices: int = 1) -> pathlib.Path:
    workdir = self.root / folder
    process = _command(workdir, self.root / "sets", *flags, devices=devices)
    out, _ = process.communicate(timeout=600)
    self.assertEqual(process.returncode, 0, out)
    return workdir

  def test_killed_twenty_times(self):
    """The same weights, to the last bit, whenever it is killed, in a save too."""
    whole = self._whole("whole")
    killed, draw = self.root / "killed", random.Random(0)
    for _ in range(20):
      process = _command(killed, self.root / "sets")
      begun = time.monotonic()
      at_s = draw.uniform(4, 20)
      while process.poll() is None and time.monotonic() - begun < at_s:
        time.sleep(0.05)
      process.kill()
      process.communicate()
    self.assertEqual(_sha256(self._whole("killed")), _sha256(whole))

  def test_devices(self):
    """1, 2 and 8 devices see the same pictures; weights to 1e-5."""
    folders = [
      self._whole(f"of_{n}", "--config.steps=20", devices=n) for n in (1, 2, 8)
    ]
    arrays = [np.load(folder / "weights.npz") for folder in folders]
    for name in arrays[0].files:
      for other in arrays[1:]:
        np.testing.assert_allclose(other[name], arrays[0][name], atol=1e-5)

  def test_two_hosts_equal_two_devices(self):
    whole = self._whole("devices", "--config.steps=20", devices=2)
    workdir, port = self.root / "hosts", random.randint(20_000, 50_000)
    processes = [
      _command(
        workdir,
        self.root / "sets",
        "--config.steps=20",
        "--multihost",
        f"--coordinator=localhost:{port}",
        "--num_processes=2",
        f"--process_id={i}",
      )
      for i in range(2)
    ]
    for process in processes:
      out, _ = process.communicate(timeout=600)
      self.assertEqual(process.returncode, 0, out)
    self.assertEqual(_sha256(workdir), _sha256(whole))
    facts = [
      json.loads((f / "disclosure.json").read_text()) for f in (workdir, whole)
    ]
    self.assertEqual(*facts)
