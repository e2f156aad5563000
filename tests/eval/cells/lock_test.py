"""The lock of a workdir: who is refused, and what killed runs leave."""

import multiprocessing
import os
import pathlib
import subprocess
import sys
import time

from absl.testing import absltest

from eval.cells.files import lock
from robust_tfds import errors
from robust_tfds.storage import disk
from tests import fake_bucket

_ROOT = pathlib.Path(__file__).resolve().parents[3]
_HOLD = """
import sys, time
from eval.cells import lock
with lock.held(sys.argv[1]):
  print("held", flush=True)
  time.sleep(600)
"""


def _race(root, barrier, results) -> None:
  barrier.wait()
  try:
    with lock.held(root):
      results.put("held")
      time.sleep(0.5)
  except errors.UserError:
    results.put("refused")


class DiskTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path) / "run"

  def _files(self) -> list[str]:
    return sorted(os.listdir(self.root))

  def test_a_second_run_is_refused_and_told_who_holds_it(self):
    with lock.held(self.root):
      self.assertEqual(self._files(), ["running.json", "running.lock"])
      with self.assertRaisesRegex(
        errors.UserError,
        f"{self.root}: another run .* process {os.getpid()} on",
      ):
        with lock.held(self.root, breaking=True):
          self.fail()
    self.assertEqual(self._files(), [])
    with lock.held(self.root):
      pass

  def test_a_killed_run_holds_nothing(self):
    process = subprocess.Popen(
      [sys.executable, "-c", _HOLD, str(self.root)],
      cwd=_ROOT,
      stdout=subprocess.PIPE,
      text=True,
    )
    self.assertEqual(process.stdout.readline(), "held\n")
    with self.assertRaisesRegex(errors.UserError, f"process {process.pid} on"):
      with lock.held(self.root):
        self.fail()
    process.kill()
    process.communicate()
    self.assertIn("running.json", self._files())
    with lock.held(self.root):
      pass
    self.assertEqual(self._files(), [])

  def test_of_many_at_once_one_holds(self):
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(3), context.SimpleQueue()
    processes = [
      context.Process(target=_race, args=(self.root, barrier, results))
      for _ in range(3)
    ]
    for process in processes:
      process.start()
    for process in processes:
      process.join()
    got = sorted(results.get() for _ in processes)
    self.assertEqual(got, ["held", "refused", "refused"])

  def test_a_damaged_record_names_nobody(self):
    with lock.held(self.root):
      (self.root / lock.FILE).write_text("{")
      with self.assertRaisesRegex(errors.UserError, "does not name"):
        lock.Lock(self.root).take()

  def test_a_folder_that_cannot_be_written(self):
    self.root.write_text("a file")
    with self.assertRaisesRegex(disk.DiskError, "could not be written"):
      with lock.held(self.root):
        self.fail()


class BucketTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = fake_bucket.create(self) / "run"

  def test_a_lock_that_was_left_is_broken_by_a_word(self):
    left = lock.Lock(self.root)
    left.take()
    with self.assertRaisesRegex(errors.UserError, "another run .*--break_lock"):
      with lock.held(self.root):
        self.fail()
    with lock.held(self.root, breaking=True) as mine:
      lock.check(self.root, mine.nonce)
      with self.assertRaisesRegex(errors.UserError, "this run's lock is gone"):
        lock.check(self.root, left.nonce)
      left.release()  # which is another's by now
      lock.check(self.root, mine.nonce)
    self.assertFalse((self.root / lock.FILE).exists())


if __name__ == "__main__":
  absltest.main()
