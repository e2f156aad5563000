"""Sets on disk: one build at a time, whole or not at all, kills and full disks."""

import errno
import os
import pathlib
import subprocess
import sys
from unittest import mock

import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized

from robust_tfds import datasets, errors, missing
from robust_tfds.building import build_session, set_folder, writer
from robust_tfds.building.sources import cifar
from tests import in_folder
from tests.building.sources import small_sets

_ROOT = pathlib.Path(__file__).resolve().parents[2]


def _command(data_dir, *options: str) -> list[str]:
  return [
    *(sys.executable, "-m", "robust_tfds.build", "digits_c"),
    *(f"--data_dir={data_dir}", *options),
  ]


def _other_records(path: pathlib.Path) -> None:
  from array_record.python import array_record_module

  path.unlink()
  records = array_record_module.ArrayRecordWriter(str(path), "group_size:1")
  records.write(b"one")
  records.close()


def _files(folder: pathlib.Path) -> dict[str, bytes]:
  return {
    str(path.relative_to(folder)): path.read_bytes()
    for path in sorted(folder.rglob("*"))
    if path.is_file()
  }


class BuildingTest(in_folder.TestCase):
  def _prepare(self, **options):
    options = {"data_dir": self.root, "limit": 3, **options}
    return datasets.prepare("digits_c", "clean", **options)

  @parameterized.parameters(
    ({"limit": 0}, "limit=0: at least 1 expected; leave it out"),
    ({"limit": -1}, "limit=-1: at least 1 expected"),
    ({"workers": 0}, "workers=0: at least 1 expected"),
    ({"workers": -1}, "workers=-1: at least 1 expected"),
    ({"seed": -1}, "seed is a whole number .* got -1"),
    ({"file_format": "parquet"}, "Unknown file format 'parquet'"),
    ({"manual_dir": __file__}, "set_folder_test.py: the manual dir is a file"),
    ({"data_dir": __file__}, "set_folder_test.py/first_3: .* is not a folder"),
  )
  def test_options_that_are_refused(self, options, message):
    with self.assertRaisesRegex(errors.UserError, message):
      self._prepare(**options)
    self.assertEqual(_files(self.root), {})

  def test_a_limit_beyond_the_set(self):
    builder = self._prepare(limit=1000)
    self.assertEqual(builder.info.splits["test"].num_examples, 359)
    self.assertIn("first_1000", str(builder.data_dir))

  def test_a_set_that_is_there(self):
    first = self._prepare()
    self.assertFalse(first.found_on_disk)
    before = _files(self.root)
    self.assertTrue(self._prepare().found_on_disk)
    self.assertEqual(_files(self.root), before)
    with self.assertRaisesRegex(
      errors.UserError, f"{first.data_dir}: the set is there as array_record"
    ):
      self._prepare(file_format="tfrecord")

  def test_a_set_that_another_builds_after_the_builder_looked(self):
    folder = self.root / "first_3"
    late = [
      datasets.builder("digits_c", "clean", data_dir=folder) for _ in range(2)
    ]
    self._prepare()
    late[0].download_and_prepare()
    self.assertTrue(late[0].found_on_disk)
    self.assertEqual(late[0].info.splits["test"].num_examples, 3)
    _cut(next(late[1].data_path.glob("digits_c-test*")))
    with self.assertRaisesRegex(errors.UserError, "not a whole set"):
      late[1].download_and_prepare()

  @parameterized.parameters(
    ("tfrecord", lambda path: path.unlink(), "is missing"),
    ("tfrecord", lambda path: _cut(path), "have .* bytes, its 3 records"),
    ("tfrecord", lambda path: path.write_bytes(b""), "have 0 bytes"),
    ("array_record", lambda path: path.unlink(), "is missing"),
    ("array_record", lambda path: _cut(path), "Riegeli"),
    ("array_record", lambda path: path.write_bytes(b""), "at least 64KB"),
    ("array_record", _other_records, "have 1 records, expected 3"),
  )
  def test_damaged_sets(self, file_format, damage, message):
    folder = self._prepare(file_format=file_format).data_path
    damage(next(folder.glob("digits_c-test*")))
    with self.assertRaisesRegex(
      errors.UserError, f"{folder}: not a whole set: .*{message}"
    ):
      self._prepare()

  def test_a_set_without_its_description(self):
    folder = self._prepare().data_path
    (folder / "dataset_info.json").unlink()
    with self.assertRaisesRegex(errors.UserError, "no dataset_info.json"):
      self._prepare()

  @parameterized.parameters(errno.ENOSPC, errno.EDQUOT)
  def test_a_full_disk(self, number):
    error = OSError(number, os.strerror(number), "/data/x")
    with mock.patch.object(writer.OrderedWriter, "write", side_effect=error):
      with self.assertRaisesRegex(
        errors.UserError, "clean/1.0.0: the set cannot be written"
      ):
        self._prepare()
    self.assertFalse(any("clean" in name for name in _files(self.root)))
    self.assertFalse(self._prepare().found_on_disk)

  def test_what_killed_builds_left(self):
    parent = self.root / "first_3/digits_c/clean"
    left = parent / "incomplete.ABC123_1.0.0"
    left.mkdir(parents=True)
    (left / "half").write_bytes(b"x")
    (parent / "own_1.0.0").mkdir()
    self._prepare()
    self.assertCountEqual(os.listdir(parent), ["1.0.0", "own_1.0.0"])

  def test_counts_stand_beside_the_published_ones(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    builder = datasets.prepare(
      "tiny_imagenet_c",
      "clean",
      data_dir=self.root,
      manual_dir=small_sets.tiny_imagenet(root),
    )
    self.assertEqual(builder.counted(2, "validation"), "2 of 10,000 published")
    self.assertEqual(self._prepare().counted(1438, "train"), "1,438")
    reviewed = datasets.builder("imagenet_vid_robust", "reviewed")
    self.assertEqual(reviewed.published_examples("test"), 22_179)
    everything = datasets.builder("imagenet_vid_robust", "all")
    self.assertEqual(everything.published_examples("test"), 0)

  @parameterized.parameters(1, 2)
  def test_a_source_that_fails_in_the_middle(self, workers):
    root = pathlib.Path(self.create_tempdir().full_path)
    small_sets.tiny_imagenet(root)
    file = root / "tiny-imagenet-200/val/images/val_1.JPEG"
    for data in (b"", b"no picture")[: 3 - workers]:
      file.write_bytes(data)
      with self.assertRaisesRegex(errors.UserError, "val_1.JPEG"):
        self._tiny(root, workers)
    file.unlink()
    file.mkdir()
    with self.assertRaisesRegex(
      errors.UserError, "val_1.JPEG: cannot be read: Is a dir.* bring it back"
    ):
      self._tiny(root, workers)
    self.assertEqual(list(self.root.glob("tiny*/clean/*")), [])

  def _tiny(self, root, workers):
    datasets.prepare(
      "tiny_imagenet_c",
      "clean",
      data_dir=self.root,
      manual_dir=root,
      workers=workers,
    )

  @parameterized.parameters(
    (lambda path: path.unlink(), "No such file.*bring it back"),
    (lambda path: path.write_bytes(path.read_bytes()[:99]), "99 bytes"),
  )
  def test_a_source_that_changes_during_the_build(self, change, words):
    root = pathlib.Path(self.create_tempdir().full_path)
    small_sets.tiny_imagenet(root)
    file = root / "tiny-imagenet-200/val/images/val_1.JPEG"
    begin = build_session.BuildSession.rows

    def rows(*arguments):
      change(file)
      return begin(*arguments)

    with (
      mock.patch.object(build_session.BuildSession, "rows", rows),
      self.assertRaisesRegex(
        errors.UserError, f"^{file}.* cannot be read.*{words}"
      ),
    ):
      self._tiny(root, None)
    self.assertEqual(list(self.root.glob("tiny*/clean/*")), [])

  def test_a_folder_one_too_deep(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    small_sets.tiny_imagenet(root / "one")
    with self.assertRaisesRegex(
      FileNotFoundError, f"No Tiny ImageNet in {root}. Looked for tiny-image"
    ):
      self._tiny(root, 1)

  def test_buckets_have_no_lock(self):
    set_folder.check_folder("gs://bucket/data")
    with set_folder.locked("gs://bucket/data/digits_c/clean/1.0.0"):
      pass

  @pytest.mark.slow
  def test_a_disk_that_is_full_in_the_middle(self):
    for file_format in ("tfrecord", "array_record"):
      done = subprocess.run(
        ["bash", "-c", 'ulimit -f 100; exec "$@"', "bash"]
        + _command(self.root, f"--file_format={file_format}"),
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
      )
      self.assertEqual(done.returncode, 1)
      self.assertIn("1.0.0: the set cannot be written", done.stderr)
      self.assertNotIn("Traceback", done.stderr)
      self.assertEqual(list(self.root.glob("digits_c/clean/*")), [])

  @pytest.mark.slow
  def test_two_builds_at_once(self):
    runs = [
      subprocess.Popen(_command(self.root), cwd=_ROOT, stdout=subprocess.PIPE)
      for _ in range(2)
    ]
    texts = [run.communicate()[0].decode() for run in runs]
    self.assertEqual([run.returncode for run in runs], [0, 0])
    self.assertEqual(sum("not built again" in text for text in texts), 1)
    self.assertEqual(list(self.root.glob("digits_c/.*lock")), [])


def _cut(path: pathlib.Path) -> None:
  path.write_bytes(path.read_bytes()[:-10])


class MissingTest(in_folder.TestCase):
  """A build from sources that are not there leaves no folder."""

  def _refused(self, name: str, **options) -> str:
    with self.assertRaises(missing.MissingError) as caught:
      datasets.prepare(name, data_dir=self.root / "new" / "data", **options)
    self.assertFalse((self.root / "new" / "data").exists())
    return str(caught.exception)

  @parameterized.parameters("imagenet_c", "imagenet_p", "coco_c", "ucf101_p")
  def test_of_a_manual_dir(self, name):
    self.assertIn(
      "there is no such folder", self._refused(name, manual_dir="/no")
    )
    empty = self.root / "empty"
    empty.mkdir()
    text = self._refused(name, manual_dir=empty)
    self.assertIn(f"{name}: its files: not here.", text)
    self.assertIn("  1. ", text)
    self.assertIn(f"{empty}/", text)
    self.assertIn("again with manual_dir='FOLDER'", self._refused(name))

  def test_of_the_authors_files(self):
    text = self._refused(
      "imagenet_c", config="fog_1_published", manual_dir=self.root
    )
    self.assertIn("No published images of fog, severity 1.", text)

  def test_of_a_download_that_fails(self):
    failing = mock.patch.object(
      tfds.download.DownloadManager, "download", side_effect=OSError("offline")
    )
    with failing, mock.patch.object(cifar, "_prepared", return_value=None):
      text = self._refused("cifar10_c")
    self.assertIn("could not be downloaded (offline)", text)
    self.assertIn(
      "cifar-10-binary.tar.gz, 170,052,171 bytes, sha256 c4a3", text
    )

  def test_a_folder_in_which_others_build_stays(self):
    root = self.root / "data"
    with self.assertRaises(missing.MissingError):
      with set_folder.nothing_of_missing(root, "a_c"):
        (root / "b_c").mkdir(parents=True)
        raise missing.MissingError(missing.Lack("a", "No."))
    self.assertTrue((root / "b_c").exists())

  def test_looked_for_and_nothing_built(self):
    look = {"data_dir": self.root / "data", "manual_dir": self.root}
    (lack,) = datasets.lacks("coco_c", ["clean", "fog_1"], **look)
    self.assertEqual(lack.what, "coco_c: its files")
    weather, noise = datasets.lacks(
      "imagenet_c",
      ["fog_1", "snow_2", "snow_3", "shot_noise_1"],
      codec="published",
      **look,
    )
    self.assertIn("And 1 more like it.", weather.fault)
    self.assertEndsWith(weather.get, f" && mv weather.tar {self.root}/")
    self.assertEqual(noise.what, "imagenet_c: noise.tar")
    self.assertEqual(datasets.lacks("digits_c", ["clean"], **look), [])
    look["manual_dir"] = None
    self.assertEqual(datasets.lacks("cifar10_c", ["clean"], **look), [])
    self.assertEmpty(list(self.root.iterdir()))
