"""One process at a time; folders that go with their process."""

import pathlib
import signal
import subprocess
import sys
import threading

from robust_tfds.storage import locks
from tests import in_folder
from tools import import_graph

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_HOLDS = """
import pathlib, sys
from robust_tfds.storage import locks
with locks.{call} as folder:
  print(folder, flush=True)
  sys.stdin.read()
"""
_WITHOUT_FCNTL = """
import sys
sys.modules["fcntl"] = None
import robust_tfds.corrupt_folder
"""


def _other(call: str, *arguments: str) -> subprocess.Popen:
  """A process that holds a lock until its input ends."""
  return subprocess.Popen(
    [sys.executable, "-c", _HOLDS.format(call=call), *arguments],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
    cwd=_ROOT,
  )


class LocksTest(in_folder.TestCase):
  def test_one_at_a_time_and_a_killed_one_lets_go(self):
    place = self.root / "lock"
    call = "exclusive(pathlib.Path(sys.argv[1]), 'x is being made')"
    with _other(call, str(place)) as other:
      other.stdout.readline()
      killer = threading.Timer(0.3, other.send_signal, [signal.SIGKILL])
      with self.assertLogs(level="WARNING") as logs:
        killer.start()
        with locks.exclusive(place, "x is being made"):
          self.assertIsNotNone(other.wait())  # it was waited for
          self.assertTrue(place.exists())
    self.assertIn(f"x is being made by process {other.pid} on", logs.output[0])
    self.assertEqual(list(self.root.iterdir()), [])

  def test_a_folder_of_its_own_lives_as_long_as_its_process(self):
    call = "own_folder(pathlib.Path(sys.argv[1]), 'left_')"
    with _other(call, str(self.root)) as other:
      theirs = pathlib.Path(other.stdout.readline().strip())
      (self.root / "mine").mkdir()
      with locks.own_folder(self.root, "left_") as ours:
        locks.remove_leftovers(self.root, "left_")
        self.assertTrue(theirs.is_dir())  # it lives
        other.send_signal(signal.SIGKILL)
        other.communicate()
        locks.remove_leftovers(self.root, "left_")
        self.assertFalse(theirs.is_dir())
        self.assertTrue(ours.is_dir())
    locks.remove_leftovers(self.root / "none", "left_")
    self.assertEqual([p.name for p in self.root.iterdir()], ["mine"])

  def test_no_module_needs_what_windows_has_not(self):
    code = [sys.executable, "-c", _WITHOUT_FCNTL]
    done = subprocess.run(code, cwd=_ROOT, capture_output=True, text=True)
    self.assertEqual(done.returncode, 0, done.stderr)
    texts = {
      module: (import_graph.ROOT / path).read_text("utf-8")
      for module, path in import_graph.files().items()
    }
    self.assertEqual([m for m, text in texts.items() if "fcntl" in text], [])
