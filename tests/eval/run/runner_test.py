"""The whole way on a tiny run: devices, sources, kills and bad input."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from unittest import mock

import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from configs import imagenet_c
from eval import main
from eval.cells import table
from eval.cells.files import parts
from eval.cells.workdir import Workdir
from eval.pipeline import inputs
from eval.run import plan as plan_lib
from eval.run import runner
from eval.run.execution import one_pass
from eval.run.model import load as load_lib
from robust_tfds import datasets, errors, missing, models
from robust_tfds.corruptions import frost_pictures
from robust_tfds.storage import disk
from tests import frost_folder, in_folder, in_process, quick
from tests.eval import read_counts, same_tables, tiny_config, tiny_runs

_ROOT = pathlib.Path(__file__).resolve().parents[3]


def _command(workdir, *flags) -> list[str]:
  config = _ROOT / "tests" / "eval" / "tiny_config.py"
  return [
    sys.executable,
    "-m",
    "eval.main",
    f"--config={config}",
    f"--workdir={workdir}",
    *flags,
  ]


def _environment(devices: int = 1) -> dict[str, str]:
  flags = f"--xla_force_host_platform_device_count={devices}"
  return {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}


def _main(workdir, *flags) -> subprocess.CompletedProcess:
  """The command in this process."""
  return in_process.run(main, *_command(workdir, *flags)[3:])


def _run(workdir: pathlib.Path, shard: str = "1/1", **data) -> list[table.Row]:
  return tiny_runs.run("classification", workdir, shard, **data)


def _other_weights():
  """While it lasts, all models have other weights."""
  return mock.patch.object(
    load_lib.weights_file, "sha256", return_value="another"
  )


def _start(workdir, *flags, devices: int = 1, **streams) -> subprocess.Popen:
  """The command as a process of its own, which is not waited for."""
  return subprocess.Popen(
    _command(workdir, *flags),
    cwd=_ROOT,
    env=_environment(devices),
    stdout=subprocess.DEVNULL,
    text=True,
    **streams,
  )


class RunnerTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.base = pathlib.Path(tempfile.mkdtemp(prefix="runner_test"))
    cls.addClassCleanup(shutil.rmtree, cls.base)
    cls.first = tiny_runs.folder("classification")
    cls.table = (cls.first / "table.csv").read_bytes()
    cls.rows = table.read(cls.first / "table.csv")

  def _copy(self, name: str, **options) -> pathlib.Path:
    """A workdir with a finished run's data and model, without its cells."""
    options = {"cells": False, **options}
    return tiny_runs.copy("classification", self.base / name, **options)

  def test_a_run_that_lacks_something_leaves_no_folder(self):
    config = imagenet_c.get_config("squeezenet1_1").unlock()
    config.data.corruptions, config.data.manual_dir = "fog", str(self.base)
    run = self.base / "lacks"
    with self.assertRaises(missing.MissingError) as caught:
      runner.Runner(plan_lib.make(config), run).run()
    weights, data = caught.exception.lacks
    self.assertStartsWith(weights.what, "squeezenet1_1: the weights")
    self.assertEqual(data.what, "imagenet_c: its files")
    self.assertFalse(run.exists())
    lack = missing.MissingError(missing.Lack("a", "No download."))
    with mock.patch.object(datasets, "prepare", side_effect=lack):
      with self.assertRaises(missing.MissingError):
        runner.Runner(plan_lib.make(tiny_config.get_config()), run).run()
    self.assertFalse(run.exists())

  @pytest.mark.slow
  def test_frost_that_was_left_out_is_added_when_its_pictures_are_here(self):
    config = tiny_config.get_config()
    with config.unlocked():
      config.data.update(corruptions="common", left_out="absent", limit=8)
      config.data.severities = (5,)
    run, names = self.base / "frost", []
    lack = missing.MissingError(missing.Lack("frost", "Nowhere."))
    nowhere = mock.patch.object(frost_pictures, "folder", side_effect=lack)
    for here in (nowhere, contextlib.nullcontext()):
      with here:
        rows = runner.Runner(plan_lib.make(config), run, report=False).run()
      names.append({r.corruption for r in rows if r.metric == "error"})
      frost_folder.use_drawn()
      self.addCleanup(frost_pictures.use_folder, None)
    self.assertEqual(names[1] - names[0], {"frost"})

  def test_second_launch_only_reads(self):
    workdir = self._copy("second", cells=True)
    name = ".recipe.json.aaaaaaaa-1-00000000.tmp"  # of another machine
    unfinished = workdir / "models/digits_cnn" / name
    unfinished.touch()
    os.utime(unfinished, (1, 1))
    with mock.patch.object(one_pass, "Pass") as never:
      _run(workdir)
    never.assert_not_called()
    self.assertFalse(unfinished.exists())
    self.assertEqual((workdir / "table.csv").read_bytes(), self.table)

  def test_cells_of_other_weights_are_refused(self):
    workdir = self._copy("other_weights", cells=True)
    with _other_weights():
      with self.assertRaisesRegex(ValueError, "5 finished cells .* other weig"):
        _run(workdir)
    self.assertEqual((workdir / "table.csv").read_bytes(), self.table)

  @parameterized.parameters("batch", "tfrecord")
  def test_what_must_not_matter(self, what):
    workdir = self._copy(what)
    config = tiny_config.get_config()
    with config.unlocked():
      if what == "batch":
        config.batch_size = 7
      else:
        (workdir / "config.json").unlink()  # other bytes are another set
        config.data.file_format = "tfrecord"
        config.data.data_dir = str(self.base / "tfrecord_data")
    tiny_runs.start(config, workdir)
    got, want = (
      {(r.config, r.metric): r.value for r in table.read(w / "table.csv")}
      for w in (workdir, self.first)
    )
    self.assertEqual(got, want)

  def test_damaged_cells_are_named_and_made_again(self):
    workdir = self._copy("damaged", cells=True)
    fog, noise = (
      workdir / f"cells/digits_cnn/digits_c/{name}/seed0"
      for name in ("brightness_3", "gaussian_noise_1")
    )
    shutil.rmtree(fog)
    shutil.copytree(noise, fog)  # a cell of another severity in its place
    (noise / "predictions.npz").write_bytes(b"")
    done = _main(workdir)
    self.assertEqual(done.returncode, 1)
    self.assertNotIn("Traceback", done.stderr)
    self.assertRegex(
      done.stderr,
      f"Error: {fog}: holds the cell .*2 are damaged.* Remove {fog}",
    )
    shutil.rmtree(fog)
    shutil.rmtree(noise)
    self._run_again(workdir)

  def _run_again(self, workdir) -> None:
    """Reads everything once more; nothing is left but what belongs there."""
    _run(workdir)
    self.assertEqual((workdir / "table.csv").read_bytes(), self.table)
    for name in ("running.json", "running.lock", "parts"):
      self.assertFalse((workdir / name).exists())
    self.assertEmpty(list(workdir.glob("**/*.tmp")))

  @quick.cases(
    [("config.json", "{"), ("models/digits_cnn/recipe.json", "[]")],
    [
      ("config.json", '{"versions": {"workdir": 4, "pixels": 4}}'),
      ("models/digits_cnn/weights.npz", "x"),
    ],
  )
  @pytest.mark.slow
  def test_what_else_is_made_again(self, name, text):
    workdir = self._copy(f"again_{hash((name, text))}")
    (workdir / name).write_text(text)
    with self.assertRaisesRegex(
      errors.UserError, f"^{workdir / name}: .* Remove "
    ) as caught:
      _run(workdir)
    (place,) = re.findall("Remove (.*) and run", str(caught.exception))
    disk.remove(place)
    self._run_again(workdir)

  @pytest.mark.slow
  def test_the_same_command_twice_at_once_is_refused(self):
    workdir = self._copy("twice")
    first = _start(workdir, stderr=subprocess.DEVNULL)
    while not list(workdir.glob("running.json")):
      self.assertIsNone(first.poll(), "it ended before the other began")
      time.sleep(0.01)
    with self.assertRaisesRegex(
      errors.UserError, f"^{workdir}: another run .*: process {first.pid} on"
    ):
      _run(workdir)
    self.assertEqual(first.wait(), 0)
    self.assertEqual((workdir / "table.csv").read_bytes(), self.table)
    self._run_again(workdir)

  def test_shards_of_other_weights_make_no_table(self):
    workdir = self._copy("shard_of_other")
    self.assertEmpty(_run(workdir, "1/2"))
    with _other_weights():
      self.assertEmpty(_run(workdir, "2/2"))
    with self.assertRaisesRegex(ValueError, "2 finished cells .* other weig"):
      _run(workdir)
    self.assertFalse((workdir / "table.csv").exists())

  def test_parts_that_a_killed_shard_left_are_removed_by_the_whole_run(self):
    workdir = self._copy("left")
    with mock.patch.object(parts.Parts, "remove"):  # killed just before it
      _run(workdir, "2/2")
    _run(workdir, "1/2")
    self.assertTrue((workdir / "parts").exists())
    self._run_again(workdir)
    self.assertFalse((workdir / "parts").exists())

  def _two_hosts(self, workdir, port: int) -> list[subprocess.Popen]:
    flags = (
      "--multihost",
      f"--coordinator=127.0.0.1:{port}",
      "--num_processes=2",
    )
    return [
      _start(
        workdir, *flags, f"--process_id={i}", devices=4, stderr=subprocess.PIPE
      )
      for i in range(2)
    ]

  @pytest.mark.slow
  def test_two_processes_equal_one(self):
    workdir = self._copy("two_hosts")
    for p in self._two_hosts(workdir, 39871):
      _, stderr = p.communicate(timeout=300)
      self.assertEqual(p.returncode, 0, stderr)
    self.assertEqual((workdir / "table.csv").read_bytes(), self.table)

  @parameterized.parameters(0, 1)
  @pytest.mark.slow
  def test_a_killed_host_ends_the_run_and_the_rerun_continues(self, killed):
    workdir = self._copy(f"killed_host_{killed}")
    processes = self._two_hosts(workdir, 39873 + 2 * killed)
    while not list(workdir.glob("parts/*/rows-*.npz")):
      self.assertIsNone(processes[killed].poll(), "it ended before the kill")
      time.sleep(0.01)
    processes[killed].send_signal(signal.SIGKILL)
    for p in processes:
      p.communicate(timeout=300)
      self.assertNotEqual(p.returncode, 0)
    self.assertFalse((workdir / "table.csv").exists())
    for p in self._two_hosts(workdir, 39874 + 2 * killed):
      _, stderr = p.communicate(timeout=300)
      self.assertEqual(p.returncode, 0, stderr)
    self.assertEqual((workdir / "table.csv").read_bytes(), self.table)

  def test_bfloat16_is_close_and_has_its_own_fingerprint(self):
    workdir = self._copy("bfloat16", config=False)
    config = tiny_config.get_config()
    with config.unlocked():
      config.models.digits_cnn.dtype = "bfloat16"
    rows = tiny_runs.start(config, workdir)
    for own, other in zip(rows, self.rows, strict=True):
      self.assertEqual(own.has_value, other.has_value)
      if own.has_value:
        self.assertAlmostEqual(own.value, other.value, delta=0.05)
      self.assertNotEqual(own.fingerprint, other.fingerprint)

  @pytest.mark.slow
  def test_throughput_is_noted(self):
    workdir = self._copy("throughput", config=False)
    tiny_runs.start(tiny_config.get_config(), workdir)
    took = json.loads((workdir / "timing.json").read_text())
    self.assertEqual(took["images"], 5 * 64)
    for key in ("rate", "input_rate", "device_rate", "compile_s", "wall_s"):
      self.assertGreater(took[key], 0)

  def test_plan_prints_and_touches_nothing(self):
    workdir = self.base / "untouched"
    done = _main(workdir, "--plan")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("= 5 cells", done.stdout)
    self.assertIn("gaussian_noise, brightness at 1, 3: digits_cnn", done.stdout)
    self.assertIn("work:", done.stdout)
    self.assertFalse(workdir.exists())

  def test_workdir_of_another_config(self):
    with self.assertRaisesRegex(ValueError, r"data\.limit: 64 there, 32 now"):
      _run(self.first, limit=32)

  def test_more_examples_than_there_are(self):
    workdir = self._copy("too_many", config=False)
    with self.assertRaisesRegex(ValueError, "limit: got 1000000"):
      _run(workdir, limit=1000000)

  def test_nan_logits_name_the_example_and_keep_finished_cells(self):
    workdir = self._copy("nan")
    apply = models.get("digits_cnn").__class__.apply

    def broken(model, variables, batch):
      # Bright pictures alone: brightness comes after the noise.
      bright = batch.astype(jnp.float32).mean(axis=(1, 2, 3)) > 100
      logits = apply(model, variables, batch)
      return jnp.where(bright[:, None], jnp.nan, logits)

    plan = plan_lib.make(tiny_config.get_config())
    half = dataclasses.replace(plan, conditions=plan.conditions[:2])
    runner.Runner(half, workdir).run()
    with mock.patch.object(models.get("digits_cnn").__class__, "apply", broken):
      with self.assertRaisesRegex(
        ValueError, "NaN or infinite logits .* of brightness_.*'digit_"
      ):
        _run(workdir)
    left = {p.parent.name for p in (workdir / "cells").glob("*/*/*/seed0")}
    # Of the conditions beside it those are there that had come before.
    self.assertLessEqual({"clean", "gaussian_noise_1"}, left)
    self.assertNotIn("brightness", " ".join(left))
    self._run_again(workdir)


class EveryTaskTest(in_folder.TestCase):
  """What holds for the runs of all tasks."""

  def _check_prepared(self, name: str, fly: pathlib.Path, sets: int, **data):
    """Every set is read once: one on the fly, one a condition prepared."""
    workdir = self.root / "prepared"
    tiny_runs.copy(name, workdir, cells=False, config=False)
    tiny_runs.run(name, workdir, source="prepared", **data)
    for run, count in ((fly, 1), (workdir, sets)):
      self.assertEqual(list(read_counts.of(run).values()), [1.0] * count)
    rows = [table.read(run / "table.csv") for run in (fly, workdir)]
    self.assertEqual(*(repr([_number(r) for r in of_run]) for of_run in rows))
    for cell, twin in zip(Workdir(fly).cells(), Workdir(workdir).cells()):
      self.assertEqual(cell.condition, twin.condition)
      own = Workdir(fly).columns(cell)
      for column, values in Workdir(workdir).columns(twin).items():
        np.testing.assert_array_equal(own[column], values, column)

  @quick.cases(
    [("classification", 5)], [("sequences", 3), ("detection", 5), ("video", 4)]
  )
  def test_prepared_equals_on_the_fly(self, name, sets):
    self._check_prepared(name, tiny_runs.folder(name), sets)

  @pytest.mark.slow
  def test_prepared_equals_on_the_fly_through_h264(self):
    fly = self.root / "fly"
    tiny_runs.copy("sequences", fly, cells=False, config=False)
    tiny_runs.run("sequences", fly, codec="h264")
    self._check_prepared("sequences", fly, 3, codec="h264")

  def _check_devices(self, name: str) -> None:
    workdir = tiny_runs.copy(name, self.root / "eight", cells=False)
    code = f"tiny_runs.run({name!r}, pathlib.Path({str(workdir)!r}))"
    done = in_process.python(
      "-c",
      f"import pathlib; from tests.eval import tiny_runs; {code}",
      env=_environment(8),
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    first = tiny_runs.folder(name) / "table.csv"
    same_tables.check(self, workdir / "table.csv", first)

  def test_eight_devices_equal_one(self):
    self._check_devices("classification")

  @pytest.mark.slow
  def test_eight_devices_equal_one_of_sequences(self):
    self._check_devices("sequences")


def _number(row: table.Row) -> tuple:
  return row.config, row.corruption, row.severity, row.metric, row.value


class BlocksTest(absltest.TestCase):
  """All 359 digits: with `block_mib=1` two blocks."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.base = pathlib.Path(tempfile.mkdtemp(prefix="runner_blocks_test"))
    cls.addClassCleanup(shutil.rmtree, cls.base)
    cls.result = cls._result(tiny_runs.folder("whole"))

  @classmethod
  def _result(cls, workdir) -> dict[str, bytes]:
    """The table and all cells."""
    files = [workdir / "table.csv", *workdir.glob("cells/**/*.*")]
    return {
      p.relative_to(workdir).as_posix(): p.read_bytes() for p in sorted(files)
    }

  def _copy(self, name: str) -> pathlib.Path:
    return tiny_runs.copy("whole", self.base / name, cells=False)

  def test_a_record_that_is_damaged(self):
    workdir = self._copy("damaged_record")
    (file,) = (workdir / "data" / "digits_c" / "clean").rglob("*record-*")
    data = bytearray(file.read_bytes())
    data[len(data) * 3 // 4] ^= 255
    file.write_bytes(data)
    with self.assertRaisesRegex(
      errors.UserError,
      f"^{file.parent}: an example of digits_c/clean.* Corrupted .* remo",
    ):
      _run(workdir, limit=0)
    self.assertFalse((workdir / "parts").exists())
    shutil.rmtree(file.parent)
    _run(workdir, limit=0)
    self.assertEqual(self._result(workdir), self.result)

  def test_two_blocks_equal_one_and_each_digit_is_decoded_once(self):
    workdir, decoded = self._copy("two"), []
    read = inputs.Source._read

    def counted(source, begin, end, skipped=()):
      for example in read(source, begin, end, skipped):
        if source.pixels not in skipped:
          decoded.append(example["example_id"])
        yield example

    with (
      mock.patch.object(inputs.Source, "_read", counted),
      mock.patch.object(
        parts.Parts, "write", autospec=True, side_effect=parts.Parts.write
      ) as writing,
    ):
      _run(workdir, limit=0)
    self.assertEqual(writing.call_count, 2)
    self.assertEqual(self._result(workdir), self.result)
    self.assertLen(decoded, 359)
    self.assertLen(set(decoded), 359)
    reads = read_counts.of(workdir)
    self.assertEqual(list(reads.values()), [1.0])

  @quick.cases([signal.SIGKILL, signal.SIGTERM], [signal.SIGINT])
  def test_killed_run_continues_to_the_same_table(self, number):
    workdir = self._copy(f"killed_{number}")
    process = _start(
      workdir, "--config.data.limit=0", stderr=subprocess.PIPE, text=True
    )
    while not list(workdir.glob("parts/*/rows-*.npz")):
      self.assertIsNone(process.poll(), "it ended before it was killed")
      time.sleep(0.005)
    process.send_signal(number)
    _, said = process.communicate()
    if number == signal.SIGKILL:
      self.assertEqual(process.returncode, -number)
    else:
      self.assertEqual(process.returncode, 128 + number)
      self.assertRegex(
        said,
        "^stopped; [0-4] of 5 conditions of 359 pictures kept.*; the same"
        " command goes on\n$",
      )
      self.assertEmpty(list(workdir.glob("running*")))
    self.assertFalse((workdir / "table.csv").exists())
    _run(workdir, limit=0)
    self.assertEqual(self._result(workdir), self.result)
    (reads,) = read_counts.of(workdir).values()
    self.assertLessEqual(reads, 1)
    self.assertLess(
      self._images(workdir), self._images(tiny_runs.folder("whole"))
    )
    self.assertFalse((workdir / "parts").exists())

  def _images(self, workdir: pathlib.Path) -> float:
    """That models were shown in the last start; none where all were there."""
    took = json.loads((workdir / "timing.json").read_text("utf-8"))
    return took.get("images", 0.0)
