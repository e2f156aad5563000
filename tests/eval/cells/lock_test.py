"""Locks of runs: who is refused, who waits, and what the dead leave."""

import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time
from unittest import mock

from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.eval.cells import lock
from robust_tfds.storage import disk
from robust_tfds.storage.process import Process
from tests import fake_bucket

_ROOT = pathlib.Path(__file__).resolve().parents[3]
_HOLD = """
import pathlib, sys, time
from robust_tfds.eval.cells import lock
with lock.held(pathlib.Path(sys.argv[1]), ["a", "b"]) as held:
  (held.folder / "cells").mkdir()
  print(held.name, flush=True)
  time.sleep(600)
"""
_HOLD_IN_BUCKET = """
import sys
from etils import epath
from tests import fake_bucket
from robust_tfds.eval.cells import lock
with lock.held(epath.Path(sys.argv[1]), ["a", "b"]):
  print("it goes on")
"""
# The same, and what runs over other cells need too.
_HOLD_MORE = _HOLD.replace(
  "  print",
  '  lock.Lock(pathlib.Path(sys.argv[1]), ["models"]).take(False)\n  print',
)


def _race(root, barrier, results) -> None:
  barrier.wait()
  try:
    with lock.held(root, ["a"]):
      results.put("held")
      time.sleep(0.5)
  except errors.UserError:
    results.put("refused")


class BucketTest(absltest.TestCase):
  """Locks where no file has a time that one can set."""

  def setUp(self):
    super().setUp()
    self.root = fake_bucket.create(self) / "run"

  def _locks(self) -> list[str]:
    return sorted(fake_bucket.keys(self.root))

  def test_nothing_is_left(self):
    with lock.held(self.root, ["a"]) as held:
      self.assertEqual(self._locks(), [f"running/{held.name}/run.json"])
    self.assertEmpty(self._locks())

  def test_the_same_cells_are_refused_and_others_are_not(self):
    with lock.held(self.root, ["a", "b"]):
      with lock.held(self.root, ["c"]):
        with self.assertRaisesRegex(errors.UserError, "making 1 .*e.g. b: pro"):
          with lock.held(self.root, ["b"]):
            self.fail("two at once")
      self.assertLen(self._locks(), 1)

  def test_the_killed_are_gone_at_once(self):
    env = fake_bucket.kill_at("wrote", "*/run.json", after=1)
    run = [sys.executable, "-c", _HOLD_IN_BUCKET, str(self.root)]
    ended = subprocess.run(run, env=env, cwd=_ROOT)
    self.assertEqual(ended.returncode, -signal.SIGKILL)
    self.assertLen(self._locks(), 1)
    with lock.held(self.root, ["a"]) as held:
      self.assertEqual(self._locks(), [f"running/{held.name}/run.json"])

  def test_signs_of_life(self):
    with mock.patch.object(lock, "BEAT_S", 0.01):
      with lock.held(self.root, ["a"]) as held:
        with fake_bucket.counted() as steps:
          time.sleep(0.2)
        self.assertGreater(steps["wrote"], 1)
        text = (held.folder / "run.json").read_text()
        self.assertEqual(json.loads(text)["cells"], ["a"])
    time.sleep(0.05)
    self.assertEmpty(self._locks())

  def test_another_machine_is_stale_by_its_last_sign_of_life(self):
    with lock.held(self.root, ["x"]) as held:
      folder = held.folder.with_name("elsewhere-1-2-3")
      text = (held.folder / "run.json").read_text()
    (folder / "run.json").write_text(text)
    with self.assertRaisesRegex(errors.UserError, "another run is making"):
      with lock.held(self.root, ["x"]):
        self.fail("two at once")
    for left in ("run.json", "removed"), ():
      self._age(folder)
      with lock.held(self.root, ["x"]):
        self.assertCountEqual(
          fake_bucket.keys(folder) if folder.is_dir() else (), left
        )

  def _age(self, folder) -> None:
    old = time.time() - lock.STALE_S - 5
    for key in fake_bucket.keys(folder):
      os.utime(fake_bucket.local_place(folder / key), (old, old))

  def test_a_lock_that_was_broken_does_not_come_back(self):
    """It may be writing its sign of life at that moment."""
    with mock.patch.object(lock, "BEAT_S", 0.01):
      first = lock.Lock(self.root, ["a"])
      first.take(breaking=False)
      with lock.held(self.root, ["a"], breaking=True) as held:
        time.sleep(0.1)
        with self.assertRaisesRegex(errors.UserError, "lock was removed"):
          lock.check(self.root, first.name)
        lock.check(self.root, held.name)
      first.release()
    self.assertEmpty(self._locks())


class LockTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path) / "run"

  def _other(self, program: str = _HOLD) -> tuple[subprocess.Popen, str]:
    """Another process that holds the cells a and b."""
    process = subprocess.Popen(
      [sys.executable, "-c", program, self.root],
      stdout=subprocess.PIPE,
      text=True,
      cwd=pathlib.Path(__file__).resolve().parents[3],
    )
    self.addCleanup(process.stdout.close)
    self.addCleanup(process.wait)
    self.addCleanup(process.kill)
    return process, process.stdout.readline().strip()

  def _refused(self) -> None:
    with self.assertRaisesRegex(errors.UserError, "another run is making"):
      with lock.held(self.root, ["a"]):
        self.fail("two at once")

  def test_nothing_is_left(self):
    with lock.held(self.root, ["a"]) as held:
      (held.folder / "cells").mkdir()
    self.assertEmpty(list(self.root.iterdir()))

  def test_the_same_cells_are_refused_and_their_owner_named(self):
    process, name = self._other()
    with self.assertRaisesRegex(
      errors.UserError,
      f"^{self.root}: another run is making 1 of these cells, e.g. b: process"
      f" {process.pid} on .*, since .*--break_lock",
    ):
      with lock.held(self.root, ["b", "c"]):
        self.fail("two at once")
    self.assertEqual(os.listdir(self.root / lock.FOLDER), [name])

  def test_other_cells_go_on_side_by_side(self):
    process, name = self._other()
    temporary = self.root / f".config.json.{name}.tmp"
    temporary.touch()
    with lock.held(self.root, ["c"]):
      self.assertLen(os.listdir(self.root / lock.FOLDER), 2)
    self.assertEqual(os.listdir(self.root / lock.FOLDER), [name])
    self.assertTrue(temporary.exists())

  def test_the_killed_are_gone_at_once(self):
    process, name = self._other()
    process.send_signal(signal.SIGKILL)
    # Not waited for: a zombie is dead as well.
    while Process.parse(name).alive():
      time.sleep(0.01)
    temporary = self.root / f".config.json.{name}.tmp"
    temporary.touch()
    with lock.held(self.root, ["a"]) as held:
      self.assertEqual(os.listdir(self.root / lock.FOLDER), [held.name])
      self.assertFalse(temporary.exists())
    self.assertEmpty(list(self.root.iterdir()))

  def test_a_process_of_the_same_number_is_another(self):
    with lock.held(self.root, ["a"]) as held:
      this = Process.parse(held.name)
      older = f"{this.system}-{this.pid}-{this.started - 60}-0"
      os.rename(held.folder, held.folder.with_name(older))
      with lock.held(self.root, ["a"]) as next_one:
        self.assertEqual(os.listdir(self.root / lock.FOLDER), [next_one.name])
      with self.assertRaisesRegex(errors.UserError, "lock was removed"):
        lock.check(self.root, held.name)
      held.take(breaking=False)

  def test_another_machine_is_stale_by_its_last_sign_of_life(self):
    with lock.held(self.root, ["a"]) as held:
      folder = held.folder.with_name("elsewhere-1-2-3")
      folder.mkdir()
      record = json.loads((held.folder / "run.json").read_text())
      record |= {"host": "far", "cells": ["x"]}
      (folder / "run.json").write_text(json.dumps(record))
    with self.assertRaisesRegex(errors.UserError, "on far"):
      with lock.held(self.root, ["x"]):
        self.fail("two at once")
    old = time.time() - lock.STALE_S - 5
    os.utime(folder / "run.json", (old, old))
    with lock.held(self.root, ["x"]):
      self.assertFalse(folder.exists())

  def test_signs_of_life(self):
    with mock.patch.object(lock, "BEAT_S", 0.01):
      with lock.held(self.root, ["a"]) as held:
        path = held.folder / "run.json"
        os.utime(path, (1, 1))
        time.sleep(0.2)
        self.assertGreater(os.stat(path).st_mtime, 1)

  def test_breaking(self):
    process, name = self._other(_HOLD_MORE)
    process.send_signal(signal.SIGSTOP)  # it lives, and gives nothing back
    with lock.held(self.root, ["a"], breaking=True):
      with self.assertRaisesRegex(errors.UserError, "lock was removed"):
        lock.check(self.root, name)
      said = []
      with lock.waiting(self.root, "models", said.append):
        self.assertEmpty(said)

  def test_a_damaged_lock_of_a_live_process_holds_everything(self):
    _, name = self._other()
    (self.root / lock.FOLDER / name / "run.json").write_text("{")
    self._refused()

  def test_of_many_at_once_one_holds(self):
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(6), context.Queue()
    racers = [
      context.Process(target=_race, args=(self.root, barrier, results))
      for _ in range(6)
    ]
    for racer in racers:
      racer.start()
    got = sorted(results.get() for _ in racers)
    for racer in racers:
      racer.join()
    self.assertEqual(got, ["held"] + 5 * ["refused"])
    self.assertEmpty(list(self.root.iterdir()))

  def test_waiting(self):
    said = []
    with mock.patch.object(lock, "_WAIT_S", 0.01):
      with lock.waiting(self.root, "data", said.append):
        process = multiprocessing.get_context("fork").Process(
          target=self._wait_for_data
        )
        process.start()
        time.sleep(0.3)
        self.assertFalse((self.root / "then").exists())
      process.join()
    self.assertTrue((self.root / "then").exists())
    self.assertEmpty(said)

  def _wait_for_data(self) -> None:
    said: list[str] = []
    with lock.waiting(self.root, "data", said.append):
      (self.root / "then").write_text("\n".join(said))

  def test_a_folder_that_cannot_be_written(self):
    self.root.write_text("a file")
    with self.assertRaisesRegex(disk.DiskError, f"^{self.root}.*written"):
      with lock.held(self.root, ["a"]):
        self.fail("in a file")
