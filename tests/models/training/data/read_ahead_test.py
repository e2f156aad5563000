"""Reading ahead by threads and by processes: the same batches; faults in words."""

import errno
import os
import pathlib
import signal
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import psutil
import pytest
from absl.testing import absltest, parameterized

from models.training import data
from models.training.data import examples, read_ahead
from robust_tfds import cores, errors
from tests import quick, tiny_files

_SLOW_FILE = "a/3.png"
_CODE = """
import sys, psutil
from models.training import data
config = data.Config(source=sys.argv[1], crop="random_resized8", workers=2)
batches = data.open(config).batches(batch_size=2, seed=0, epoch=0)
for turn, _ in enumerate(batches):
  if not turn:
    print(*(each.pid for each in psutil.Process().children()), flush=True)
    sys.stdin.read()
"""


class _Sleeps:
  """Takes long for one of the pictures."""

  copies, extras, folders = 1, ("slept",), {}

  def extra_arrays(self, item, key, own, copy):
    slow = item["image"].max() == 255
    time.sleep(slow * 0.5)
    return {"slept": np.bool_(slow)}


class ReadAheadTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path) / "pets"
    dark = lambda seed: tiny_files.encoded(tiny_files.noise(12, 16, seed) // 2)
    files = {
      f"{kind}/{i}.png": dark(i + ord(kind)) for kind in "ab" for i in range(12)
    }
    bright = tiny_files.encoded(np.full((12, 16, 3), 255, np.uint8))
    tiny_files.put(self.root, files | {_SLOW_FILE: bright})
    self.before = set(psutil.Process().children())  # of other tests

  def _open(self, workers, additions=None, **options) -> data.Source:
    rules = {"crop": "random_resized8", "geometry": "short8_crop8"}
    named = f"folder:{self.root}"
    config = data.Config(source=named, workers=workers, **rules, **options)
    return data.open(config, additions=additions)

  def _children(self) -> list[psutil.Process]:
    return [*set(psutil.Process().children()) - self.before]

  def _batches(self, source, **options):
    return source.batches(**{"batch_size": 5, "seed": 0, "epoch": 0, **options})

  @pytest.mark.slow
  def test_processes_stay_and_give_what_threads_give(self):
    """Also where an epoch begins in the middle of another."""
    threads, processes = (
      self._open(count, _Sleeps(), validation=0.3) for count in (0, 2)
    )
    pids = set()
    for epoch in (0, 1):
      passes = (
        self._batches(source, epoch=epoch, remainder="keep")
        for source in (threads, processes)
      )
      for turn, (one, other) in enumerate(zip(*passes, strict=True)):
        np.testing.assert_equal(other, one)
        pids |= {each.pid for each in self._children()}
        if turn == 1:
          held = (
            [*self._batches(source, split="validation", batch_size=3)]
            for source in (threads, processes)
          )
          np.testing.assert_equal(*held)
    self.assertLen(pids, 2)

  @quick.cases(
    [
      ("a broken picture", 0, "a/7.png cannot be read as an image"),
      (
        "a picture that is gone",
        0,
        "a/7.png: it was there when .* same command",
      ),
    ],
    [
      ("a broken picture", 2, "a/7.png cannot be read as an image"),
      ("a process that is killed", 2, r"unexpectedly \(signal 9\).* It read "),
      ("no memory", 2, "MiB of shared memory .* No space left .*workers=0"),
    ],
  )
  def test_faults(self, fault, workers, words):
    source = self._open(workers)
    if fault == "no memory":
      full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
      self.enter_context(
        mock.patch.object(os, "posix_fallocate", side_effect=full)
      )
    if fault == "a broken picture":
      (self.root / "a/7.png").write_bytes(b"no picture")
    if fault == "a picture that is gone":
      (self.root / "a/7.png").unlink()
    with self.assertRaisesRegex(errors.UserError, words):
      for _ in range(4):
        for _ in self._batches(source):
          for each in self._children() * fault.endswith("killed"):
            each.kill()
    self.assertEmpty(self._children())

  @parameterized.parameters(
    (2, 0, None, 2), (2, 1 << 30, None, 0), (1, 0, None, 0), (2, 0, 3, 3)
  )
  def test_processes_are_for_several_cores_and_many_pictures(
    self, usable, held, said, count
  ):
    with (
      mock.patch.object(cores, "usable", return_value=usable),
      mock.patch.object(examples, "HELD_BYTES", held),
      mock.patch.object(read_ahead, "Processes") as started,
    ):
      started.return_value.batches.return_value = []
      next(self._batches(self._open(said)), None)
    counts = [call.args[1] for call in started.call_args_list]
    self.assertEqual(counts, [count] * bool(count))

  @quick.cases([(0,)], [(2,)])
  def test_a_picture_that_takes_long_is_named(self, workers):
    source = self._open(workers, _Sleeps())
    self.enter_context(mock.patch.object(cores, "SLOW_S", 0.1))
    with self.assertLogs(level="WARNING") as logs:
      shown = [i for batch in self._batches(source) for i in batch["id"]]
    self.assertLen(shown, 20)
    self.assertIn("waiting for", "".join(logs.output))

  @parameterized.parameters(signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
  @pytest.mark.slow
  def test_no_process_outlives_the_training(self, number):
    parent = subprocess.Popen(
      [sys.executable, "-c", _CODE, f"folder:{self.root}"],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
    )
    with parent:
      children = [
        psutil.Process(int(i)) for i in parent.stdout.readline().split()
      ]
      self.assertLen(children, 2)
      parent.send_signal(number)
      parent.stdin.close()
      parent.wait()
      _, alive = psutil.wait_procs(children, timeout=5)
      self.assertEmpty(alive)
      self.assertNotIn("leaked", parent.stderr.read())


if __name__ == "__main__":
  absltest.main()
