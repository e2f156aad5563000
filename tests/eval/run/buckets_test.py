"""Whole runs in a bucket: the bytes of local ones, also after kills."""

import os
import pathlib
import signal
import subprocess
from unittest import mock

import orbax.checkpoint as ocp
import pytest
from absl import flags
from absl.testing import parameterized

from eval import main
from eval.cells.workdir import Workdir
from eval.readers import base as readers_base
from eval.run.results import rescore
from models import convert, weights_file
from models.convert import report
from robust_tfds import errors
from robust_tfds.corruptions import frost_pictures
from robust_tfds.storage import paths
from tests import fake_bucket, frost_folder, in_process
from tests.eval import main_test, tiny_config, tiny_runs

_ROOT = pathlib.Path(__file__).resolve().parents[3]
_CONFIG = _ROOT / "tests" / "eval" / "tiny_config.py"
# Of these the times and names are of a run itself; embedded pictures are prepared
# in the format of the place, see `file_formats.default_format`.
_OF_A_RUN = ("timing.json", "contents.json", "models/", "data/digits/")


def _files(folder) -> dict[str, bytes]:
  """What a workdir holds that depends on its run alone."""
  return {
    below: paths.read_bytes(whole)
    for below, whole in paths.files_below(folder)
    if not below.startswith(_OF_A_RUN)
    and pathlib.PurePath(below).name != "sources.json"
  }


class RunTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.local = tiny_runs.folder("classification")

  def setUp(self):
    super().setUp()
    self.bucket = fake_bucket.create(self)
    self.enterContext(fake_bucket.in_tensorflow())

  @pytest.mark.slow
  def test_a_run_in_a_bucket_leaves_the_files_of_a_local_one(self):
    workdir, local = (
      self.bucket / "run",
      paths.parse(self.create_tempdir().full_path),
    )
    tiny_runs.run("classification", local, file_format="tfrecord")
    tiny_runs.run("classification", workdir, file_format="tfrecord")
    here, there = _files(local), _files(workdir)
    self.assertCountEqual(there, here)
    self.assertEmpty([name for name in here if here[name] != there[name]])
    with fake_bucket.counted() as counts:
      # Reads only, but for what a start always writes.
      tiny_runs.run("classification", workdir, file_format="tfrecord")
    self.assertEqual(there, _files(workdir))
    self.assertLess(counts["write"], 20)

  @pytest.mark.slow
  def test_a_score_reads_and_writes_buckets(self):
    workdir = fake_bucket.upload(self.local, self.bucket / "run")
    tables = []
    for source, out in (
      (
        paths.parse(self.local),
        paths.parse(self.create_tempdir().full_path) / "s",
      ),
      (workdir, self.bucket / "scored"),
    ):
      rescore.score([source], out, readers_base.Options())
      tables.append(_files(out))
    self.assertCountEqual(tables[0], tables[1])
    self.assertEqual(tables[0]["table.csv"], tables[1]["table.csv"])

  def test_data_and_checkpoint_lie_in_a_bucket(self):
    folder = Workdir(paths.parse(self.local)).model_folder("digits_cnn")
    orbax = paths.parse(self.create_tempdir().full_path) / "orbax"
    variables = weights_file.variables_of(folder / weights_file.FILE)
    with ocp.StandardCheckpointer() as checkpointer:
      checkpointer.save(orbax, variables)
    trained = fake_bucket.upload(orbax, self.bucket / "orbax")
    npz = self.bucket / "digits_cnn.npz"
    report.write_npz(convert.load("digits_cnn", trained), npz)
    frost = fake_bucket.upload(frost_folder.drawn(), self.bucket / "frost")
    published = frost_pictures._check
    self.enterContext(
      mock.patch.object(
        frost_pictures, "_check", lambda place, _: published(place, True)
      )
    )
    self.addCleanup(frost_pictures.use_folder, None)
    rows = []
    for place, checkpoint, pictures in (
      (
        self.create_tempdir().full_path,
        orbax,
        frost_folder.drawn(),
      ),
      (self.bucket / "data", trained, frost),
      (self.bucket / "data", npz, frost),
    ):
      config = tiny_config.get_config()
      with config.unlocked():
        config.data.update(
          data_dir=os.fspath(place),
          frost_dir=os.fspath(pictures),
          corruptions="frost",
        )
        config.models = {
          "digits_cnn": {
            "name": "digits_cnn",
            "checkpoint": os.fspath(checkpoint),
          }
        }
      workdir = self.create_tempdir().full_path
      rows.append(tiny_runs.start(config, workdir))
      self.assertFalse(os.path.exists(f"{workdir}/data"))
    self.assertEqual([r.value for r in rows[1]], [r.value for r in rows[0]])
    self.assertEqual([r.value for r in rows[2]], [r.value for r in rows[0]])

  def test_addresses_are_refused_before_anything_is_made(self):
    for key in ("data_dir", "manual_dir", "frost_dir"):
      with self.assertRaisesRegex(
        errors.UserError, f"config.data.{key}=x://b/c: nothing here opens x://"
      ):
        tiny_runs.run("classification", self.bucket / "run", **{key: "x://b/c"})
    self.assertEmpty(fake_bucket.keys(self.bucket))


class CommandTest(parameterized.TestCase):
  def _main(self, workdir, *more, env=None) -> subprocess.CompletedProcess:
    return in_process.python(
      *("-m", "tests.fake_bucket", "eval.main"),
      f"--config={_CONFIG}",
      f"--workdir={workdir}",
      *more,
      env=env or dict(os.environ),
    )

  def test_unknown_and_missing(self):
    fake_bucket.create(self)
    for workdir, words in (
      ("gs:/b/run", "an address has two: gs://b/run"),
      ("s3://b/run", "--workdir=s3://b/run: TensorFlow has no s3://"),
      ("x://b/run", "--workdir=x://b/run: nothing here opens x://"),
    ):
      settings = main_test._settings(workdir=workdir)
      with mock.patch.object(flags, "FLAGS", settings):
        with self.assertRaisesRegex(errors.UserError, words):
          main.main(["main"])

  @parameterized.parameters(
    ("write", "*/recipe.json"),
    ("write", "*/cells/*"),
    ("wrote", "*/cells/*"),
    ("write", "*/table.csv"),
  )
  @pytest.mark.slow
  def test_killed_and_started_again(self, step, pattern):
    bucket = fake_bucket.create(self)
    killed = self._main(bucket / "run", env=fake_bucket.kill_at(step, pattern))
    self.assertEqual(killed.returncode, -signal.SIGKILL, killed.stderr)
    again = self._main(bucket / "run")  # the lock of the killed one is there
    self.assertIn("--break_lock", again.stderr)
    again = self._main(bucket / "run", "--break_lock")
    self.assertEqual(again.returncode, 0, again.stderr)
    whole = self._main(bucket / "whole")
    self.assertEqual(whole.returncode, 0, whole.stderr)
    table = (bucket / "whole/table.csv").read_bytes()
    self.assertEqual((bucket / "run/table.csv").read_bytes(), table)
