"""Chunks give the same rows in the same order; workers stay, and end in time."""

import os
import pathlib
import subprocess
import sys
import time

import psutil
from absl.testing import absltest, parameterized

from robust_tfds import errors
from robust_tfds.building import chunks

_ROOT = pathlib.Path(__file__).resolve().parents[2]


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


class ChunksTest(parameterized.TestCase):
  @parameterized.parameters((7, 3, [3, 3, 1]), (6, 3, [3, 3]), (0, 3, []))
  def test_split(self, count, size, lengths):
    parts = chunks.split(range(count), size)
    self.assertEqual([len(part) for part in parts], lengths)
    self.assertEqual([n for part in parts for n in part], list(range(count)))

  @parameterized.parameters(1, 2)
  def test_rows_in_order(self, count):
    with chunks.Workers(count) as workers:
      for size in (2, 3):  # of one config and of the next
        rows = list(workers.rows(_doubled, chunks.split(range(40), size)))
        self.assertEqual(rows, [2 * n for n in range(40)])

  def test_a_worker_that_ends(self):
    with chunks.Workers(2) as workers:
      with self.assertRaisesRegex(
        errors.UserError, "workers=2: a worker process"
      ):
        list(workers.rows(_killed, [[1], [2]]))
      # The next build begins with new ones.
      self.assertEqual(list(workers.rows(_doubled, [[1]])), [2])

  def test_one_chunk_after_another(self):
    """What is not read is not made."""
    begun = []

    def work(numbers):
      begun.append(numbers[0])
      return numbers

    rows = chunks.Workers().rows(work, [[1], [2], [3]])
    self.assertEqual(next(rows), 1)
    self.assertEqual(begun, [1])

  def test_processes_stay_and_compile_once(self):
    with chunks.Workers(2) as workers:
      pids, sizes = set(), set()
      for _ in range(3):
        for pid, size in workers.rows(_compiled, [[1]] * 8):
          pids.add(pid)
          sizes.add(size)
    self.assertLessEqual(len(pids), 2)
    self.assertNotIn(os.getpid(), pids)
    self.assertEqual(sizes, {1})

  def test_workers_end_with_a_parent_that_is_killed(self):
    code = (
      "import os; from robust_tfds.building import chunks;"
      "from tests.datasets import chunks_test;"
      "workers = chunks.Workers(2);"
      "pids = set(workers.rows(chunks_test._process, [[1]] * 8));"
      "print(*pids, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
      [sys.executable, "-c", code], capture_output=True, text=True, cwd=_ROOT
    )
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


if __name__ == "__main__":
  absltest.main()
