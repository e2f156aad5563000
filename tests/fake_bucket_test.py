import os
import pickle
import signal
import subprocess
import sys

import pytest
from absl.testing import absltest
from etils import epath

from tests import fake_bucket

_WRITE = (
  "from etils import epath; from tests import fake_bucket;"
  "epath.Path(%r).write_bytes(b'abc'); epath.Path(%r).write_bytes(b'de')"
)


class FakeBucketTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.bucket = fake_bucket.create(self)

  def test_names(self):
    path = epath.Path(f"{self.bucket}/a") / "b.txt"
    self.assertEqual(str(path), f"{self.bucket}/a/b.txt")
    self.assertEqual(os.fspath(path.parent), f"{self.bucket}/a")
    self.assertEqual(path.with_suffix(".npz").name, "b.npz")
    self.assertEqual(path.relative_to(self.bucket).as_posix(), "a/b.txt")
    self.assertEqual(pickle.loads(pickle.dumps(path)), path)
    self.assertEqual(epath.Path(path), path)
    self.assertLen({path, epath.Path(str(path))}, 1)

  def test_there_are_no_folders(self):
    folder = self.bucket / "a"
    folder.mkdir(parents=True)
    self.assertFalse(folder.exists())
    (folder / "b/c.txt").write_text("c")
    self.assertTrue((folder / "b").is_dir())
    self.assertEqual([p.name for p in folder.iterdir()], ["b"])
    self.assertEqual(list(self.bucket.glob("*/b/*.txt")), [folder / "b/c.txt"])
    (folder / "b/c.txt").unlink()
    self.assertFalse(folder.exists())
    with self.assertRaises(FileNotFoundError):
      list(folder.iterdir())

  def test_an_object_is_seen_when_it_is_closed(self):
    path = self.bucket / "a"
    with path.open("wb") as file:
      file.write(b"abc")
      self.assertFalse(path.exists())
    self.assertEqual(path.read_bytes(), b"abc")
    with self.assertRaises(fake_bucket.Killed):
      with path.open("wb") as file:
        file.write(b"longer")
        raise fake_bucket.Killed
    self.assertEqual(path.stat().length, 3)

  def test_a_rename_is_a_copy_and_a_delete(self):
    for name in ("1", "2"):
      (self.bucket / "a" / name).write_text(name)
    killed = fake_bucket.Killed()
    with fake_bucket.fault("copied", "*/a/2", killed):
      with self.assertRaises(fake_bucket.Killed):
        (self.bucket / "a").rename(self.bucket / "b")
    self.assertEqual(list(fake_bucket.keys(self.bucket)), ["a/2", "b/1", "b/2"])

  def test_faults_come_once_and_steps_are_counted(self):
    path = self.bucket / "a"
    with fake_bucket.fault("write", "*/a", OSError("no quota"), after=1):
      path.write_text("1")
      with self.assertRaisesRegex(OSError, "no quota"):
        path.write_text("22")
      path.write_text("333")
    with fake_bucket.counted() as counts:
      path.read_text()
    self.assertEqual((counts["open"], counts["bytes"]), (1, 3))

  def test_processes_share_it_and_are_killed_at_a_step(self):
    names = f"{self.bucket}/1", f"{self.bucket}/2"
    env = fake_bucket.kill_at("write", "*/2")
    program = [sys.executable, "-c", _WRITE % names]
    ended = subprocess.run(program, env=env, check=False)
    self.assertEqual(ended.returncode, -signal.SIGKILL)
    self.assertEqual(fake_bucket.keys(self.bucket), {"1": 3})

  @pytest.mark.slow
  def test_commands_know_the_scheme(self):
    (self.bucket / "a.json").write_text("[1]")
    program = (
      "import sys; from etils import epath;"
      "print(epath.Path(sys.argv[1]).read_text())"
    )
    module = self.create_tempfile("shows_a_file.py", program)
    env = {**os.environ, "PYTHONPATH": os.path.dirname(module.full_path)}
    command = ["-m", "tests.fake_bucket", "shows_a_file"]
    shown = subprocess.check_output(
      [sys.executable, *command, f"{self.bucket}/a.json"], env=env, text=True
    )
    self.assertEqual(shown, "[1]\n")
