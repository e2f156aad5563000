"""Several configs at once: the same files, each source decoded once, a clock.

Chunks give the same rows in the same order; workers stay, and end in time.
"""

import contextlib
import glob
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from unittest import mock

import psutil
import pytest
from absl.testing import absltest, parameterized

from robust_tfds import cores, datasets, errors
from robust_tfds.building import build_session
from robust_tfds.building.build_session import BuildSession
from robust_tfds.datasets.digits import digits_dataset_builder
from robust_tfds.datasets.digits_detection import scenes
from robust_tfds.datasets.digits_video import digits_video_dataset_builder
from tests import in_process
from tests.building.sources import small_sets

_ROOT = pathlib.Path(__file__).resolve().parents[2]
# Dataset, configs, examples, and what reads a source.
_KINDS = (
  (
    "digits_c",
    ("clean", "brightness_1", "contrast_2"),
    9,
    (digits_dataset_builder, "read"),
  ),
  ("digits_p", ("clean", "translate"), 3, (digits_dataset_builder, "read")),
  ("digits_detection_c", ("clean", "brightness_1"), 3, (scenes.Scene, "read")),
  (
    "digits_video_p",
    ("clean", "freezing_1", "gaussian_noise_3", "mpeg1_1"),
    2,
    (digits_video_dataset_builder.Encoded, "data"),
  ),
)


def _files(folder: str | os.PathLike) -> dict[str, bytes]:
  folder = pathlib.Path(folder)
  return {
    str(path.relative_to(folder)): path.read_bytes()
    for path in sorted(folder.rglob("*record-*"))
  }


class TogetherTest(parameterized.TestCase):
  def _folder(self) -> str:
    return self.create_tempdir().full_path

  @parameterized.parameters(*_KINDS)
  def test_decoded_once_and_the_same_files(self, name, configs, limit, read):
    alone, together, scratch = (self._folder() for _ in range(3))
    said: list[str] = []
    for config in configs:
      datasets.prepare(name, config, data_dir=alone, limit=limit, workers=1)
    whole, cls = getattr(*read), datasets.builder_class(name)
    with (
      mock.patch.object(*read, autospec=True, side_effect=whole) as reads,
      mock.patch.object(cls, "CHUNK", 2),  # more chunks than threads
      mock.patch.object(cores, "usable", return_value=3),
    ):
      options = {"data_dir": together, "limit": limit, "say": said.append}
      built = datasets.prepare_all(
        name, configs, scratch_dir=scratch, **options
      )
      self.assertLen(list(built), len(configs))
    self.assertLen(reads.call_args_list, limit)
    self.assertNotEmpty(_files(alone))
    self.assertEqual(_files(together), _files(alone))
    words = rf"{limit} sources are decoded once: .*B in {scratch}/"
    self.assertRegex("\n".join(said), words)
    self.assertEmpty(os.listdir(scratch))

  @pytest.mark.slow  # quick: writer_test
  def test_workers_give_the_same(self):
    one, two = self._folder(), self._folder()
    configs = ("clean", "brightness_1")
    for folder, workers in ((one, 1), (two, 2)):
      built = datasets.prepare_all(
        "digits_c", configs, data_dir=folder, workers=workers, limit=70
      )
      self.assertLen(list(built), 2)
    self.assertEqual(_files(one), _files(two))

  def test_a_config_alone_needs_no_scratch(self):
    scratch = os.path.join(self._folder(), "none")
    folder = self._folder()
    options = {"data_dir": folder, "limit": 2, "scratch_dir": scratch}
    list(datasets.prepare_all("digits_c", ["clean"], **options))
    # Of two, one is there.
    list(datasets.prepare_all("digits_c", ["clean", "brightness_1"], **options))
    self.assertFalse(os.path.exists(scratch))

  def test_sources_are_listed_once(self):
    manual = small_sets.tiny_imagenet(pathlib.Path(self._folder()))
    folder = self._folder()
    cls = datasets.builder_class("tiny_imagenet_c")
    for _ in ("built", "compared with what is there"):
      with mock.patch.object(
        cls, "_sources", autospec=True, side_effect=cls._sources
      ) as lists:
        list(
          datasets.prepare_all(
            "tiny_imagenet_c",
            ["clean", "brightness_1", "brightness_2"],
            data_dir=folder,
            manual_dir=manual,
          )
        )
      self.assertEqual(lists.call_count, 1)

  @pytest.mark.slow
  def test_other_crops_are_other_sources(self):
    manual = small_sets.MAKERS["imagenet_c"](pathlib.Path(self._folder()))
    configs = ("clean", "inception", "brightness_1", "brightness_1_inception")
    alone, together = self._folder(), self._folder()
    for config in configs:
      datasets.prepare("imagenet_c", config, data_dir=alone, manual_dir=manual)
    list(
      datasets.prepare_all(
        "imagenet_c", configs, data_dir=together, manual_dir=manual
      )
    )
    self.assertEqual(_files(together), _files(alone))

  def test_a_broken_source(self):
    manual = pathlib.Path(self._folder())
    small_sets.tiny_imagenet(manual)
    broken = manual / "tiny-imagenet-200/val/images/val_1.JPEG"
    broken.write_bytes(b"no picture")
    scratch = self._folder()
    with self.assertRaisesRegex(errors.UserError, "val_1.JPEG"):
      list(
        datasets.prepare_all(
          "tiny_imagenet_c",
          ["clean", "fog_1"],
          data_dir=self._folder(),
          manual_dir=manual,
          scratch_dir=scratch,
        )
      )
    self.assertEmpty(os.listdir(scratch))

  @pytest.mark.slow
  def test_kills(self):
    data, scratch = self._folder(), self._folder()
    command = [
      *(sys.executable, "-m", "robust_tfds.build", "digits_c"),
      *("--config=clean,brightness", f"--data_dir={data}", "--limit=60"),
      *(f"--scratch_dir={scratch}", "--workers=2"),
    ]
    there = [0]
    for sets in (1, 3, 5):  # the last leaves one to build
      process = subprocess.Popen(
        command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
      )
      done = os.path.join(data, "first_60/digits_c/*/1.0.0")
      while len(glob.glob(done)) < sets:
        self.assertIsNone(process.poll(), "ended before the kill")
        time.sleep(0.02)
      process.send_signal(signal.SIGKILL)
      process.communicate()
      there.append(len(glob.glob(done)))  # not those that were being written
      self.assertLen(os.listdir(scratch), 1)  # of this kill alone
    last = subprocess.run(
      command, cwd=_ROOT, capture_output=True, text=True, check=True
    )
    self.assertEqual(last.stdout.count("not built again"), there[-1])
    self.assertEmpty(os.listdir(scratch))
    whole = self._folder()
    list(
      datasets.prepare_all(
        "digits_c",
        ["clean", *(f"brightness_{i}" for i in range(1, 6))],
        data_dir=whole,
        limit=60,
      )
    )
    self.assertEqual(_files(data), _files(whole))


def _doubled(numbers):
  """The work of a chunk; at the module's top, as workers import it."""
  return [2 * n for n in numbers]


def _killed(numbers):
  """A worker that the system ends, as for want of memory."""
  os._exit(9)


def _process(numbers):
  """Which process works."""
  return [os.getpid()]


def _compiled(numbers):
  """How often this process has compiled what chunks of one shape need."""
  import jax

  _double = _PROGRAMS.setdefault("double", jax.jit(lambda x: 2 * x))
  _double(len(numbers))
  return [(os.getpid(), _double._cache_size())]


_PROGRAMS: dict = {}


class WorkersTest(parameterized.TestCase):
  @parameterized.parameters((7, 3, [3, 3, 1]), (6, 3, [3, 3]), (0, 3, []))
  def test_split(self, count, size, lengths):
    parts = build_session.split(range(count), size)
    self.assertEqual([len(part) for part in parts], lengths)
    self.assertEqual([n for part in parts for n in part], list(range(count)))

  @parameterized.parameters(None, 1, 2)
  def test_rows_in_order(self, count):
    with BuildSession(workers=count) as session:
      for size in (2, 3):  # of one config and of the next
        rows = list(
          session.worked(_doubled, build_session.split(range(40), size))
        )
        self.assertEqual(rows, [2 * n for n in range(40)])

  @pytest.mark.slow
  def test_a_worker_that_ends(self):
    with BuildSession(workers=2) as session:
      with self.assertRaisesRegex(
        errors.UserError, "workers=2: a worker process"
      ):
        list(session.worked(_killed, [[1], [2]]))
      # The next build begins with new ones.
      self.assertEqual(list(session.worked(_doubled, [[1]])), [2])

  def test_one_chunk_after_another(self):
    """What is not read is not made."""
    begun = []

    def work(numbers):
      begun.append(numbers[0])
      return numbers

    rows = BuildSession().worked(work, [[1], [2], [3]])
    self.assertEqual(next(rows), 1)
    self.assertEqual(begun, [1])

  @pytest.mark.slow
  def test_processes_stay_and_compile_once(self):
    with BuildSession(workers=2) as session:
      pids, sizes = set(), set()
      for _ in range(3):
        for pid, size in session.worked(_compiled, [[1]] * 8):
          pids.add(pid)
          sizes.add(size)
    self.assertLessEqual(len(pids), 2)
    self.assertNotIn(os.getpid(), pids)
    self.assertEqual(sizes, {1})

  @pytest.mark.slow
  def test_workers_end_with_a_parent_that_is_killed(self):
    code = (
      "import os; from robust_tfds.building.build_session import BuildSession;"
      "from tests.building import build_session_test;"
      "session = BuildSession(workers=2);"
      "pids = set(session.worked(build_session_test._process, [[1]] * 8));"
      "print(*pids, flush=True); os.kill(os.getpid(), 9)"
    )
    done = in_process.python("-c", code)
    self.assertEqual(done.returncode, -9, done.stderr)
    left = {int(pid) for pid in done.stdout.split()}
    self.assertNotEmpty(left)
    for _ in range(200):
      left = {pid for pid in left if _runs(pid)}
      if not left:
        break
      time.sleep(0.1)
    self.assertEmpty(left)


def _runs(pid: int) -> bool:
  """Whether a process is there and no zombie that nobody has waited for."""
  try:
    return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
  except psutil.NoSuchProcess:
    return False


class ClockTest(absltest.TestCase):
  def test_time_left(self):
    now = [0.0]
    said: list[str] = []
    with contextlib.ExitStack() as stack:
      stack.enter_context(
        mock.patch.object(time, "monotonic", side_effect=lambda: now[0])
      )
      clock = build_session.Clock(4, said.append)
      clock.built(10)
      self.assertEmpty(said)  # nothing is known yet

      def rows(count, seconds):
        for i in range(count):
          now[0] += seconds
          yield i

      list(clock.counted(rows(10, 1.0), "", 10))
      clock.built(10)
      self.assertEqual(said.pop(), "1 of 4 configs, 30s left")
      list(clock.counted(rows(10, 3.0), "fog", 10))
      clock.built(10)
      self.assertEqual(said.pop(), "2 of 4 configs, 40s left")
      # Lines within a config, far apart.
      self.assertLen(said, 1)
      self.assertTrue(
        re.fullmatch(r"config 2 of 4, fog: \d of 10 examples, .* left", said[0])
      )
      list(clock.counted(rows(10, 3.0), "fog", 10))
      list(clock.counted(rows(10, 2.0), "snow", 10))
      said.clear()
      clock.built(10)
      self.assertEmpty(said)  # nothing is left
