"""Every door of `reading` gives of a bucket what it gives of a disk."""

import gzip
import io

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors, movies, reading
from robust_tfds.reading import (
  archives,
  column_files,
  limits,
  picture_folders,
  pictures,
  videos,
)
from tests import fake_bucket, in_folder, tiny_files
from tests.reading import archives_test

_ARRAY = np.arange(300_000, dtype=np.int32).reshape(3, -1)
_ROWS = {"example_id": np.array(["a", "b"]), "label": np.array([1, 2])}


_NPY = tiny_files.npy(np.asfortranarray(_ARRAY))


def _npz() -> bytes:
  out = io.BytesIO()
  np.savez_compressed(out, **_ROWS)
  return out.getvalue()


def _parquet() -> bytes:
  import pyarrow as pa
  from pyarrow import parquet

  out = io.BytesIO()
  parquet.write_table(pa.table({k: list(v) for k, v in _ROWS.items()}), out)
  return out.getvalue()


_PNG = tiny_files.encoded(_ARRAY[:, :300].astype(np.uint8))


def _video() -> bytes:
  frames = np.arange(6 * 32 * 48 * 3).reshape(6, 32, 48, 3).astype(np.uint8)
  return movies.encode(frames, fps=25)


def _columns(path) -> list:
  table = column_files.column_file(path, required=list(_ROWS))
  columns = [table.texts(name).tolist() for name in ("example_id", "label")]
  return [list(table.header), *columns]


def _arrays(path) -> dict:
  return {name: a.tolist() for name, a in reading.npz_file(path).items()}


def _frames(path) -> list:
  sums = [frame.sum() for frame in videos.iterate(path)]
  return [videos.frame_rate(path), *sums]


def _contents(path) -> list:
  return [(member.name, data) for member, data in archives.contents(path)]


def _members(path) -> list:
  listed = [(m.name, archives.data(m)) for m in archives.members(path)]
  return listed + _contents(path)


# Name of a file, its bytes, what is read of it.
_DOORS = [
  ("a.txt", "é\nb\n".encode(), reading.line_list),
  ("a.json", b'{"a": [1, 2.5]}', reading.json_file),
  ("a.csv", b"x,y\n1,2\n", lambda p: list(reading.csv_file(p))),
  ("a.npy", _NPY, lambda p: reading.npy_file(p).tobytes("A")),
  ("a.npy", _NPY, lambda p: np.array(reading.npy_file(p, mmap=True)).tolist()),
  ("a.npz", _npz(), _arrays),
  ("b.csv", b"example_id,label\na,1\nb,2\n", _columns),
  ("b.npz", _npz(), _columns),
  ("b.parquet", _parquet(), _columns),
  ("a.png", _PNG, lambda p: pictures.picture(p).tobytes()),
  ("a.mp4", _video(), lambda p: videos.decode(p).tobytes()),
  ("b.mp4", _video(), _frames),
  ("a.tar", archives_test.tar_bytes(), _members),
  ("a.zip", archives_test.zip_bytes(), _members),
  ("a.tar.gz", gzip.compress(archives_test.tar_bytes()), _contents),
  ("a.gz", gzip.compress(b"text"), archives.gunzipped),
]
# Of each door a file that it refuses, in words that begin with the path.
_BROKEN = [
  ("a.npy", _NPY[:-4], reading.npy_file),
  ("a.npz", _npz()[:-40], reading.npz_file),
  ("b.parquet", _parquet()[:-9], _columns),
  ("a.png", _PNG[:60], pictures.picture),
  ("a.mp4", _video()[:99], videos.decode),
  ("a.tar", archives_test.tar_bytes()[:1536], _members),
  ("a.zip", archives_test.zip_bytes()[:-3], _members),
  ("a.gz", gzip.compress(b"text")[:-2], archives.gunzipped),
  ("a.txt", b"\xff\xfea", reading.text_file),
]


class BucketsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.bucket = fake_bucket.create(self)

  @parameterized.parameters(*_DOORS)
  def test_a_bucket_gives_what_a_disk_gives(self, name, data, read):
    (self.root / name).write_bytes(data)
    (self.bucket / name).write_bytes(data)
    expected = read(self.root / name)
    self.assertTrue(expected)
    self.assertEqual(read(self.bucket / name), expected)
    self.assertEqual(read(f"{self.bucket}/{name}"), expected)

  @parameterized.parameters(*_BROKEN)
  def test_damage_is_refused_in_words(self, name, data, read):
    (self.bucket / name).write_bytes(data)
    with self.assertRaisesRegex(errors.UserError, f"{self.bucket}/{name}"):
      read(self.bucket / name)

  @parameterized.parameters(reading.text_file, reading.npy_file)
  def test_what_is_no_file(self, read):
    with self.assertRaisesRegex(errors.UserError, "there is no such file"):
      read(self.bucket / "a")
    (self.bucket / "a/b").write_bytes(b"1")
    with self.assertRaisesRegex(errors.UserError, "not a file, expected one"):
      read(self.bucket / "a")

  def test_limits_hold_before_anything_is_read(self):
    path = self.bucket / "a"
    path.write_bytes(bytes(2 * limits.MIB))
    with fake_bucket.counted() as counts:
      with self.assertRaisesRegex(errors.UserError, "the limit is"):
        reading.file_bytes(path, limit=limits.MIB)
    self.assertEqual(counts["bytes"], 0)

  def test_what_a_bucket_refuses_is_said_in_words(self):
    path = self.bucket / "a.txt"
    path.write_text("a")
    for step in ("open", "read"):
      with fake_bucket.fault(step, "*", PermissionError(13, "no right")):
        with self.assertRaisesRegex(
          errors.UserError, "cannot be read: no right"
        ):
          reading.text_file(path)

  def test_the_pictures_of_a_bucket(self):
    for name in ("b/2.png", "a.jpg", "b/1.png", ".hidden/3.png", "notes.txt"):
      (self.bucket / "in" / name).write_bytes(b"1")
    walk = picture_folders.Walk(self.bucket / "in")
    listed = [path.relative_to(walk.root).as_posix() for path in walk.files()]
    self.assertEqual(listed, ["a.jpg", "b/1.png", "b/2.png"])
    self.assertEqual((walk.hidden, dict(walk.other_types)), (1, {".txt": 1}))

  def test_an_archive_is_unpacked_whole_or_again(self):
    (self.bucket / "a.tar").write_bytes(archives_test.tar_bytes())
    folder = self.bucket / "unpacked"
    with fake_bucket.fault("write", "*/b.txt", fake_bucket.Killed()):
      try:
        archives.extract(self.bucket / "a.tar", folder)
      except fake_bucket.Killed:
        pass
    for _ in range(2):
      archives.extract(self.bucket / "a.tar", folder)
    names = {m.name for m in archives.members(self.bucket / "a.tar")}
    self.assertEqual({*fake_bucket.keys(folder)}, {*names, ".complete"})

  def test_a_zip_is_opened_once(self):
    (self.bucket / "a.zip").write_bytes(archives_test.zip_bytes())
    members = list(archives.members(self.bucket / "a.zip"))
    with fake_bucket.counted() as counts:
      for member in members:
        archives.data(member)
    self.assertEqual(counts["open"], 0)
    data = tiny_files.zipped({"set/new.txt": b"2"})
    (self.bucket / "a.zip").write_bytes(data)
    listed = [m.name for m in archives.members(self.bucket / "a.zip")]
    self.assertEqual(listed, ["set/new.txt"])
