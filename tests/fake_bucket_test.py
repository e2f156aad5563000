"""What tests are made with: a bucket, movies, processes, pieces."""

import contextlib
import io
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import types
from unittest import mock

import numpy as np
import pytest
from absl import flags
from absl.testing import absltest, parameterized
from etils import epath
from PIL import Image

from robust_tfds import errors, movies
from robust_tfds.reading import videos as video_files
from tests import fake_bucket, in_process, long

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


def _moving(frames=6, height=48, width=64, seed=0):
  rng = np.random.default_rng(seed)
  small = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8))
  image = np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))
  return np.stack([np.roll(image, i, 1) for i in range(frames)])


class MoviesTest(parameterized.TestCase):
  """Encoding videos: round trips, equal bytes, refusals."""

  @parameterized.parameters(
    ({}, 8),
    ({"options": movies.X264_NOISE}, 12),
    ({"codec": "ffv1", "container": "matroska", "options": {}}, 3),
    (
      {
        "codec": "mpeg2video",
        "container": "vob",
        "options": {},
        "pixel_format": "yuv420p",
        "fps": 25,
        "qscale": 5,
      },
      20,
    ),
  )
  def test_round_trip(self, settings, worst):
    frames = _moving()
    got = video_files.decode(movies.encode(frames, **settings))
    self.assertEqual(got.shape, frames.shape)
    error = np.sqrt(np.mean((got.astype(float) - frames) ** 2))
    self.assertLess(error, worst)

  def test_equal_bytes_in_every_run(self):
    frames = _moving(31, 96, 224)
    first = movies.encode(frames)
    for _ in range(9):
      self.assertEqual(movies.encode(frames), first)

  def test_odd_sizes(self):
    frames = _moving(3, 33, 47)
    self.assertEqual(
      video_files.decode(movies.encode(frames)).shape, frames.shape
    )
    with self.assertRaisesRegex(ValueError, "even sides"):
      movies.encode(frames, pixel_format="yuv420p")

  def test_frames_are_checked(self):
    with self.assertRaisesRegex(ValueError, "at least one frame"):
      movies.encode(np.zeros((0, 8, 8, 3), np.uint8))
    with self.assertRaisesRegex(ValueError, "uint8"):
      movies.encode(np.zeros((2, 8, 8, 3), np.float32))
    with self.assertRaisesRegex(ValueError, "one size"):
      movies.encode([_moving(1)[0], _moving(1, 32, 32)[0]])
    with self.assertRaisesRegex(ValueError, "no encoder 'h999'"):
      movies.encode(_moving(), codec="h999")


def _main(argv):
  if len(argv) > 1:
    raise errors.UserError(
      f"{argv[1]} is not for {flags.FLAGS.in_process_word}."
    )
  print(flags.FLAGS.in_process_word)
  print("aside", file=sys.stderr)


_COMMAND = types.SimpleNamespace(
  __name__="own",
  main=_main,
  define_flags=lambda: flags.DEFINE_string("in_process_word", "a", "A word."),
)


class InProcessTest(absltest.TestCase):
  """A command in this process gives what a program gives, and leaves nothing."""

  def test_what_it_says(self):
    for argument, *said in (
      ("--in_process_word=b", 0, "b\n", "aside\n"),
      ("x", 1, "", "Error: x is not for a.\n"),
    ):
      done = in_process.run(_COMMAND, argument)
      self.assertEqual([done.returncode, done.stdout, done.stderr], said)
      self.assertNotIn("in_process_word", flags.FLAGS)


_ROOT = pathlib.Path(__file__).resolve().parents[1]
# A mark, and below it what makes the cases of the same test.
_LOST = re.compile(
  r"@pytest\.mark\.(?:(?!\bdef |\bclass ).)*?\n *@(?:parameterized|quick)\.",
  re.DOTALL,
)


class PieceTest(parameterized.TestCase):
  """Pieces of the slow tests: every test in one, of about the same time."""

  def test_every_test_is_in_one_piece_in_order(self):
    tests = [f"t{i}" for i in range(20)]
    known = {f"t{i}": long.Row(float(i)) for i in range(0, 20, 2)}
    for n in (1, 3, 40):
      pieces = [long.piece(tests, known, i, n) for i in range(1, n + 1)]
      self.assertEqual(sum(pieces, []), tests)

  def test_pieces_take_about_the_same_time(self):
    short = {f"t{i}": long.Row(1.0) for i in range(60)}
    known = {"long": long.Row(60.0), **short}
    first = long.piece(list(known), known, 1, 2)
    self.assertEqual(first, ["long"])

  def test_without_times(self):
    self.assertEqual(long.piece(["a", "b", "c", "d"], {}, 2, 2), ["c", "d"])

  def test_refusals(self):
    for text in ("0/3", "4/3", "1", "a/b"):
      with (
        mock.patch.object(sys, "argv", ["long", f"--piece={text}"]),
        contextlib.redirect_stderr(io.StringIO()) as said,
        self.assertRaises(SystemExit),
      ):
        long.main()
      self.assertIn("expected i/n", said.getvalue())


class MarksTest(absltest.TestCase):
  def test_none_stands_above_cases(self):
    """They are made below it and do not have it: `parameterized` loses it."""
    lost = [
      str(path.relative_to(_ROOT))
      for path in sorted((_ROOT / "tests").rglob("*_test.py"))
      if _LOST.search(path.read_text("utf-8"))
    ]
    self.assertEmpty(lost, "put the mark below the cases")
