"""A workdir: its config, its lock, what is damaged."""

import errno
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import ml_collections
import numpy as np
from absl.testing import absltest, parameterized

from eval.cells import provenance
from eval.cells import workdir as workdir_lib
from eval.cells.cell import Cell
from eval.cells.files import config_file, damage, lock
from eval.cells.files import note as note_lib
from robust_tfds import conditions, errors
from robust_tfds.storage import disk, paths
from tests import fake_bucket


def _config(**data) -> ml_collections.ConfigDict:
  return ml_collections.ConfigDict(
    {
      "task": "classification",
      "seed": 0,
      "batch_size": 8,
      "reports": True,
      "data": {"name": "digits_c", "limit": 64, "data_dir": "/a", **data},
      "models": {"second": {"name": "x"}, "first": {"name": "y"}},
    }
  )


def _columns(*ids: str) -> dict[str, np.ndarray]:
  return {
    "example_id": np.array(ids),
    "frame": np.zeros(len(ids), np.int32),
    "label": np.arange(len(ids)),
    "top5": np.arange(5 * len(ids)).reshape(-1, 5),
  }


def _cell(config: str, model: str = "first", fingerprint: str = "f") -> Cell:
  condition = conditions.PICTURES.parse(config)
  return Cell(model, "digits_c", condition, 0, fingerprint)


class _WorkdirTest(parameterized.TestCase):
  """A run's folder: whose it is, its cells, and which it refuses."""

  def setUp(self):
    super().setUp()
    root = pathlib.Path(self.create_tempdir().full_path)
    self.workdir = workdir_lib.Workdir(root / "run")

  def _edit(self, **changes) -> None:
    """Changes config.json as another program would have written it."""
    path = self.workdir.config_path
    config = {**json.loads(path.read_text()), **changes}
    kept = {k: v for k, v in config.items() if v is not None}
    path.write_text(json.dumps(kept))

  def _refuses(self, message: str, config=None) -> None:
    before = self.workdir.config_path.read_bytes()
    with self.assertRaisesRegex(errors.UserError, message):
      self.workdir.claim(config or _config())
    self.assertEqual(self.workdir.config_path.read_bytes(), before)


class ClaimTest(_WorkdirTest):
  def test_writes_both_versions_and_reads_the_config_back(self):
    self.workdir.claim(_config())
    written = json.loads(self.workdir.config_path.read_text())
    self.assertEqual(
      written["versions"],
      {"workdir": config_file.VERSION, "pixels": provenance.PIXELS_VERSION},
    )
    self.assertEqual(self.workdir.config(), _config())

  def test_a_workdir_without_versions_is_refused(self):
    self.workdir.claim(_config())
    self._edit(versions=None)
    self._refuses("versions.workdir: got None, this code .* 4. .*new --workdir")

  def test_other_pixels_are_neither_continued_nor_read(self):
    self.workdir.claim(_config())
    version = config_file.VERSION
    self._edit(versions={"workdir": version, "pixels": 1})
    self._refuses("versions.pixels: got 1, this code")
    with self.assertRaisesRegex(errors.UserError, "versions.pixels: got 1"):
      self.workdir.config()

  def test_what_is_read_alone_may_be_of_any_pixels(self):
    self.workdir.claim(_config())
    config_file.write(self.workdir.config_path, _config(), pixels=1)
    read = workdir_lib.ReadWorkdir(self.workdir.path)
    self.assertEqual(read.config(), _config())
    self.assertEqual(read.versions()["pixels"], 1)
    self.assertEmpty(read.cells())
    with self.assertRaisesRegex(errors.UserError, "nothing is written in it"):
      read.check_writer()

  def test_a_config_of_which_no_cell_was_made_is_replaced(self):
    self.workdir.claim(_config())
    weights = self.workdir.path / "models" / "first" / "weights.npz"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"x")
    self.workdir.write_truth({"images": []})
    other = _config(limit=32, codec="raw")
    self.workdir.claim(other)
    self.assertEqual(self.workdir.config(), other)
    self.assertIsNone(self.workdir.truth())
    self.assertTrue(weights.exists())  # of the same models
    other.models.first.name = "z"
    self.workdir.claim(other)
    self.assertFalse(weights.exists())

  def test_another_config_is_refused_and_the_difference_named(self):
    self.workdir.claim(_config())
    self.workdir.write_cell(_cell("clean"), _columns("a"))
    other = _config(limit=32, codec="raw")
    self._refuses(
      r"another config \(data\.codec: None there, 'raw' now;"
      r" data\.limit: 64 there, 32 now\)",
      other,
    )

  def test_what_cannot_change_a_number_may_change(self):
    self.workdir.claim(_config())
    other = _config(data_dir="/b", manual_dir="/m", block_mib=1)
    other.batch_size, other.reports = 4, False
    self.workdir.claim(other)
    self.assertEqual(self.workdir.config(), other)

  @parameterized.parameters(
    ("{", "not JSON"), ("[1]", "expected an object, got list")
  )
  def test_broken_files(self, text, message):
    self.workdir.path.mkdir()
    self.workdir.config_path.write_text(text)
    self._refuses(message)


class CellsTest(_WorkdirTest):
  def test_a_written_cell_says_its_own_fingerprint(self):
    self.workdir.write_cell(_cell("fog_3", fingerprint="old"), _columns("a"))
    asked = _cell("fog_3", fingerprint="new")
    self.assertTrue(self.workdir.done(asked))
    self.assertEqual(self.workdir.note(asked).fingerprint, "old")
    self.assertFalse(self.workdir.done(_cell("fog_2")))

  def test_a_run_whose_lock_was_broken_finishes_no_cell(self):
    root = fake_bucket.create(self) / "run"
    workdir = workdir_lib.Workdir(root, writer="gone")
    with self.assertRaisesRegex(errors.UserError, "this run's lock is gone"):
      workdir.write_cell(_cell("clean"), _columns("a"))
    self.assertFalse(workdir.has_cells())

  def test_order_of_the_config_then_of_the_papers(self):
    config = _config()
    self.workdir.claim(config)
    for model in ("other", "first", "second"):
      for name in ("fog_2", "clean", "fog_1", "gaussian_noise_5"):
        self.workdir.write_cell(_cell(name, model), _columns("a"))
    cells = self.workdir.cells()
    self.assertEqual(
      list(dict.fromkeys(c.model for c in cells)),
      [*self.workdir.labels(), "other"],
    )
    self.assertEqual(
      [c.condition.config for c in cells[:4]],
      ["clean", "gaussian_noise_5", "fog_1", "fog_2"],
    )

  def test_truth(self):
    self.assertIsNone(self.workdir.truth())
    self.workdir.path.mkdir()
    self.workdir.write_truth({"images": [1]})
    self.assertEqual(self.workdir.truth(), {"images": [1]})
    path = self.workdir.path / "truth.json"
    for text in ("", "{}", None):
      path.unlink()
      if text is not None:
        path.write_text(text)
      with self.assertRaisesRegex(damage.DamagedError, f"^{path}: .* Remove "):
        self.workdir.truth()


class DamageTest(_WorkdirTest):
  """What the campaign did to cells, at every way to read one."""

  def setUp(self):
    super().setUp()
    self.workdir.claim(_config())
    for config in ("clean", "fog_1", "fog_2", "fog_3"):
      ids = "abc"
      self.workdir.write_cell(_cell(config), _columns(*ids), "test")
    self.folder = pathlib.Path(self.workdir.cell_folder(_cell("fog_2")))
    self.npz = self.folder / "predictions.npz"
    self.note = self.folder / note_lib.FILE

  def _damaged(self, *paths: pathlib.Path, sizes: bool = True) -> None:
    """Holds that `paths` are named, first of all and with what to do.

    Args:
      *paths: what is damaged.
      sizes: whether notes and sizes tell, without reading.
    """
    if not sizes:
      self.workdir.check_cells()
      return
    for path in paths:
      with self.assertRaisesRegex(
        damage.DamagedError, f"^{re.escape(str(path))}: "
      ) as caught:
        self.workdir.check_cells()
      (place,) = re.findall("Remove (.*) and run", str(caught.exception))
      disk.remove(place)
    self.workdir.check_cells()

  def test_whole(self):
    self.workdir.check_cells()

  @parameterized.parameters("cut", "flipped", "empty", "gone", "other rows")
  def test_columns(self, how):
    data = self.npz.read_bytes()
    self.npz.unlink()
    if how == "other rows":
      np.savez(self.npz, **_columns("a", "b"))
    elif how != "gone":
      flipped = bytearray(data)
      flipped[len(data) // 2] ^= 1
      new = {"cut": data[:-9], "flipped": bytes(flipped), "empty": b""}[how]
      self.npz.write_bytes(new)
    with self.assertRaisesRegex(damage.DamagedError, f"^{self.npz}: "):
      self.workdir.columns(_cell("fog_2"))
    self._damaged(self.npz, sizes=how != "flipped")

  @parameterized.parameters("", '{"a": 1, "a": 2}')
  def test_other_notes(self, text):
    self.note.write_text(text)
    self._refused_by_all(self.note)
    self._damaged(self.note)

  def test_a_cell_without_its_note_is_not_finished(self):
    written = self._contents()
    for removed in (self.note, self.npz):
      removed.unlink()
      self.assertFalse(self.workdir.done(_cell("fog_2")))
      self.assertLen(self.workdir.cells(), 3)
      self.workdir.check_cells()
    self.workdir.write_cell(_cell("fog_2"), _columns(*"abc"), "test")
    self.assertEqual(self._contents(), written)

  def _contents(self) -> dict[pathlib.Path, bytes]:
    paths = pathlib.Path(self.workdir.path).rglob("*")
    return {p: p.read_bytes() for p in paths if p.is_file()}

  @parameterized.parameters("flipped", "cut", "gone")
  def test_examples(self, how):
    """What all cells share: named, and made anew with them."""
    written = self._contents()
    (path,) = pathlib.Path(self.workdir.examples).iterdir()
    self.workdir.columns(_cell("fog_2"))
    data = path.read_bytes()
    if how == "gone":
      path.unlink()
    else:
      flipped = bytes([*data[:50], data[50] ^ 1, *data[51:]])
      path.write_bytes(flipped if how == "flipped" else data[:-9])
    with self.assertRaisesRegex(damage.DamagedError, f"^{path}: .* Remove "):
      self.workdir.columns(_cell("fog_2"))
    if how != "flipped":
      with self.assertRaisesRegex(
        damage.DamagedError, f"^{path}: .* Remove {self.workdir.path}/cells"
      ):
        self.workdir.check_cells()
    shutil.rmtree(self.workdir.path / "cells")
    self.assertEmpty(self.workdir.cells())
    for config in ("clean", "fog_1", "fog_2", "fog_3"):
      self.workdir.write_cell(_cell(config), _columns(*"abc"), "test")
    self.assertEqual(self._contents(), written)

  def test_damaged_examples_are_written_again_with_any_cell(self):
    (path,) = pathlib.Path(self.workdir.examples).iterdir()
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"x")
    self.workdir.write_cell(_cell("fog_4"), _columns(*"abc"), "test")
    self.assertEqual(path.read_bytes(), data)

  def test_nobody_may_change_examples_that_cells_share(self):
    columns = self.workdir.columns(_cell("fog_2"))
    with self.assertRaisesRegex(ValueError, "read-only"):
      columns["label"] += 1

  def test_a_file_in_a_cells_place(self):
    shutil.rmtree(self.folder)
    self.folder.write_text("x")
    self._refused_by_all(self.note)
    self._damaged(self.note)

  def _refused_by_all(self, path: pathlib.Path) -> None:
    for read in (
      lambda: self.workdir.note(_cell("fog_2")),
      lambda: self.workdir.columns(_cell("fog_2")),
      self.workdir.cells,
      self.workdir.check_cells,
    ):
      with self.assertRaisesRegex(damage.DamagedError, f"^{path}: .* Remove "):
        read()

  def test_a_cell_in_anothers_place(self):
    shutil.rmtree(self.folder)
    other = self.workdir.cell_folder(_cell("fog_3"))
    shutil.copytree(other, self.folder)
    self._refused_by_all(self.folder)
    self._damaged(self.folder)

  def test_two_cells_swapped(self):
    other = self.workdir.cell_folder(_cell("fog_3"))
    os.rename(other, other.with_name("x"))
    os.rename(self.folder, other)
    os.rename(other.with_name("x"), self.folder)
    self._damaged(self.folder, other)

  def test_columns_of_two_cells_swapped(self):
    columns = _columns(*"abc")
    columns["top5"] = columns["top5"][:, ::-1]
    shutil.rmtree(self.folder)
    self.workdir.write_cell(_cell("fog_2"), columns, "test")
    other = self.workdir.cell_folder(_cell("fog_3")) / "predictions.npz"
    data = other.read_bytes()
    other.write_bytes(self.npz.read_bytes())
    self.npz.write_bytes(data)
    self._damaged(self.npz, other, sizes=False)

  def test_other_examples_than_the_cells_beside_it(self):
    for ids in ("ab", "abd"):
      shutil.rmtree(self.folder)
      self.workdir.write_cell(_cell("fog_2"), _columns(*ids), "test")
      with self.assertRaisesRegex(
        damage.DamagedError, f"^{self.folder}: its . examples are not the 3"
      ):
        self.workdir.cells()
    self._damaged(self.folder)

  def test_sets_that_are_apart_may_differ(self):
    shutil.rmtree(self.folder)
    self.workdir.write_cell(_cell("fog_2"), _columns("z"), "test of fog_2")
    self.workdir.check_cells()

  def test_a_replaced_cell_is_not_the_one_that_was_listed(self):
    with self.assertRaisesRegex(damage.DamagedError, "fingerprint: got 'f'"):
      self.workdir.columns(_cell("fog_2", fingerprint="other"))

  def test_links(self):
    away = self.workdir.path.parent / "away"
    os.rename(self.folder, away)
    self.folder.symlink_to(away)
    self._refused_by_all(self.folder)
    self.folder.unlink()
    os.rename(away, self.folder)
    os.rename(self.npz, away)
    self.npz.symlink_to(away)
    self._refused_by_all(self.npz)
    self._damaged(self.npz)
    link = self.workdir.path.with_name("link")
    os.symlink(self.workdir.path, link)
    workdir_lib.Workdir(link).check_cells()

  def test_what_others_put_there_is_left_alone(self):
    (self.folder / "notes.txt").write_text("a user's")
    (self.workdir.path / "cells" / ".DS_Store").touch()
    (self.folder.parent / "seeds").mkdir()
    self.workdir.check_cells()
    self.assertLen(self.workdir.cells(), 4)


class BucketTest(_WorkdirTest):
  """The same in a bucket."""

  def setUp(self):
    super().setUp()
    self.bucket = fake_bucket.create(self) / "run"
    for root in (self.workdir.path, self.bucket):
      workdir = workdir_lib.Workdir(root)
      workdir.claim(_config())
      for config in ("clean", "fog_1", "fog_2"):
        workdir.write_cell(_cell(config), _columns(*"abc"), "test")
      workdir.write_truth({"images": [1]})
    self.local, self.workdir = self.workdir, workdir

  def test_holds_what_a_disk_does(self):
    copy = pathlib.Path(self.create_tempdir().full_path)
    fake_bucket.download(self.bucket, copy)
    for name, whole in paths.files_below(self.local.path):
      self.assertEqual((copy / name).read_bytes(), paths.read_bytes(whole))
    self.assertLen(fake_bucket.keys(self.bucket), 10)
    self.workdir.check(_config())
    self.assertEqual(self.workdir.config(), _config())
    self.assertEqual(self.workdir.cells(), self.local.cells())
    self.assertEqual(self.workdir.truth(), {"images": [1]})
    columns = self.workdir.columns(_cell("fog_1"))
    self.assertEqual(columns["example_id"].tolist(), ["a", "b", "c"])
    self.assertFalse(self.workdir.done(_cell("fog_3")))

  def test_notes_and_sizes_are_checked_without_reading_columns(self):
    with fake_bucket.counted() as steps:
      self.workdir.check_cells()
    self.assertEqual(steps["open"], 3)  # the notes
    with fake_bucket.counted() as steps:
      for cell in self.workdir.cells():
        self.workdir.columns(cell)
    # Notes and config.json for the list, then each file once.
    self.assertEqual(steps["open"], 3 + 1 + 2 * 3 + 1)

  def test_what_a_bucket_refuses_is_said_in_words(self):
    full = OSError(errno.EDQUOT, "no quota")
    with fake_bucket.fault("write", "*.npz", full):
      with self.assertRaisesRegex(disk.DiskError, "could not be .* no quota"):
        self.workdir.write_cell(_cell("fog_3"), _columns(*"abc"), "test")
    self.assertFalse(self.workdir.done(_cell("fog_3")))


class LayoutTest(_WorkdirTest):
  @parameterized.parameters("cells", "reports", "models")
  def test_a_file_where_a_folder_belongs(self, name):
    self.workdir.path.mkdir()
    path = self.workdir.path / name
    path.touch()
    with self.assertRaisesRegex(errors.UserError, f"^{path}: a folder of the"):
      self.workdir.check(_config())

  @parameterized.parameters("config.json", "table.csv", "contents.json")
  def test_a_folder_where_a_file_belongs(self, name):
    path = self.workdir.path / name
    path.mkdir(parents=True)
    with self.assertRaisesRegex(errors.UserError, f"^{path}: a file of the"):
      self.workdir.check(_config())

  def test_the_workdir_is_a_file(self):
    self.workdir.path.touch()
    with self.assertRaisesRegex(
      errors.UserError, f"^{self.workdir.path}: a workdir is a folder"
    ):
      self.workdir.claim(_config())

  def test_labels_that_cannot_name_folders(self):
    for labels, message in (
      (["a", "A"], "'a' and 'A' share a folder|'A' and 'a' share a folder"),
      (["a\nb"], "invisible"),
      (["x" * 300], "300 characters"),
    ):
      config = _config()
      with config.unlocked():
        config.models = {label: {"name": "x"} for label in labels}
      with self.assertRaisesRegex(errors.UserError, message):
        self.workdir.claim(config)
    self.assertFalse(self.workdir.path.exists())

  def test_labels_stay_inside_and_apart(self):
    folders = {self.workdir.model_folder(x) for x in ("..", "a/b", "a-b")}
    self.assertLen(folders, 3)
    for folder in folders:
      self.assertEqual(folder.parent, self.workdir.path / "models")


class LabelsTest(absltest.TestCase):
  def test_a_single_model_or_many(self):
    # ConfigDict sorts its keys.
    self.assertEqual(workdir_lib.labels_of(_config()), ["first", "second"])
    config = ml_collections.ConfigDict({"model": {"name": "n", "label": ""}})
    self.assertEqual(workdir_lib.labels_of(config), ["n"])
    config.model.label = "l"
    self.assertEqual(workdir_lib.labels_of(config), ["l"])
    self.assertEqual(workdir_lib.models_of(config), {"l": config.model})
    elsewhere = ml_collections.ConfigDict({"models": ("a", "b")})
    self.assertEqual(workdir_lib.models_of(elsewhere), {"a": {}, "b": {}})


_CONFIG = {"task": "classification", "seed": 0, "data": {"name": "d"}}


class ConfigFileTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / "config.json"
    config_file.write(self.path, ml_collections.ConfigDict(_CONFIG))

  @parameterized.parameters(
    ({"seed": "0"}, "seed: got '0'"),
    ({"data": "d"}, "data: got 'd'"),
    ({"data": {}}, "data.name: missing"),
    ({"task": None}, "task: got None"),
    ({"models": 3}, "models"),
    ({"seed": 1}, "checksum: it does not fit the other"),
    ({"checksum": None}, "checksum: got None"),
    ({"model": {"label": "x"}}, "model.name: missing"),
    ({"data": {"name": "d", "severities": ["1"]}}, "data.severities"),
    ({"data": {"name": "d", "limit": -1}}, "data.limit"),
  )
  def test_a_changed_field_is_named(self, changes, message):
    content = json.loads(self.path.read_text())
    self.path.write_text(json.dumps({**content, **changes}))
    with self.assertRaisesRegex(
      damage.DamagedError, f"^{self.path}: {message}.* Remove "
    ):
      config_file.read(self.path)

  @parameterized.parameters(
    {"models": ["a"]},
    {"models": {"a": {"name": "x", "train": {}}}, "of_later": 1},
    {"model": {"name": None}},
    {"data": {"name": "d", "severities": 3, "limit": None, "of_later": 1}},
    {"data": {"name": "d", "corruptions": ["fog"], "severities": [1, 2]}},
  )
  def test_settings_that_are_read_have_their_types(self, **settings):
    config = ml_collections.ConfigDict({**_CONFIG, **settings})
    config_file.write(self.path, config)
    self.assertContainsSubset(settings, config_file.read(self.path))

  @parameterized.parameters(None, 3, "x")
  def test_another_version_is_not_damage(self, version):
    content = json.loads(self.path.read_text())
    content["versions"]["workdir"] = version
    self.path.write_text(json.dumps(content))
    for any_pixels in (False, True):
      with self.assertRaisesRegex(
        errors.UserError,
        f"versions.workdir: got {version!r}, this code reads and writes 4",
      ):
        config_file.read(self.path, any_pixels=any_pixels)

  def test_a_label_that_nobody_said_is_the_name(self):
    before = {"model": {"name": "my_module:build", "label": ""}}
    for label, differ in (
      ("my_module:build", {}),
      ("mine", {"model.label": ("my_module:build", "mine")}),
    ):
      now = {"model": {**before["model"], "label": label}}
      self.assertEqual(config_file.differences(before, now), differ)


_ROOT = pathlib.Path(__file__).resolve().parents[3]
_HOLD = """
import sys, time
from eval.cells.files import lock
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
  """The lock of a workdir: who is refused, and what killed runs leave."""

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


class LockBucketTest(absltest.TestCase):
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
