"""Files of cells: examples, parts, packed arrays, predictions, scored folders."""

import errno
import io
import json
import multiprocessing
import os
import pathlib
import signal
import zipfile
from collections.abc import Sequence
from unittest import mock

import numpy as np
import psutil
from absl.testing import parameterized
from etils import epath

from eval.cells.cell import Cell
from eval.cells.files import (
  examples,
  lock,
  packed,
  parts,
  predictions,
  scored_folder,
)
from eval.cells.files import note as note_lib
from eval.cells.workdir import Workdir
from robust_tfds import conditions, errors
from robust_tfds.storage import disk, paths
from tests import fake_bucket, in_folder, quick
from tests.faults import filesystem


def _columns(*ids: str) -> dict[str, np.ndarray]:
  return {
    "example_id": np.array(ids),
    "frame": np.zeros(len(ids), np.int32),
    "label": np.arange(len(ids), dtype=np.int32),
  }


class ExamplesTest(parameterized.TestCase):
  """Facts of examples: one file for all cells that are of them."""

  def _folder(self, kind: str) -> epath.Path:
    if kind == "bucket":
      return fake_bucket.create(self) / "run" / "examples"
    return paths.parse(self.create_tempdir().full_path) / "run" / "examples"

  @parameterized.parameters("disk", "bucket")
  def test_equal_examples_share_a_file(self, kind):
    folder, reader = self._folder(kind), examples.Reader()
    first = examples.write(folder, _columns("a", "b"))
    other = examples.write(folder, _columns("a", "c"))
    self.assertEqual(examples.write(folder, _columns("a", "b")), first)
    self.assertCountEqual(
      [p.name for p in folder.iterdir()],
      [f"{file.sha256[:16]}.npz" for file in (first, other)],
    )
    for file, ids in ((first, ["a", "b"]), (other, ["a", "c"])):
      got = reader.columns(folder, file)
      self.assertEqual(got["example_id"].tolist(), ids)
      self.assertEqual(got["label"].dtype, np.int32)

  @parameterized.parameters("disk", "bucket")
  def test_what_is_damaged_is_named_and_written_again(self, kind):
    folder = self._folder(kind)
    file = examples.write(folder, _columns("a", "b"))
    place = examples.path(folder, file)
    whole = place.read_bytes()
    for data in (whole[:-1], whole[:-1] + b"x", b""):
      place.write_bytes(data)
      with self.assertRaisesRegex(errors.UserError, f"^{place}: "):
        examples.Reader().columns(folder, file)
      self.assertEqual(examples.write(folder, _columns("a", "b")), file)
      self.assertEqual(place.read_bytes(), whole)
    place.unlink()
    with self.assertRaisesRegex(errors.UserError, f"^{place}: there is no"):
      examples.Reader().columns(folder, file)

  def test_read_once_for_all_cells(self):
    folder, reader = self._folder("bucket"), examples.Reader()
    file = examples.write(folder, _columns("a", "b"))
    with fake_bucket.counted() as steps:
      for _ in range(5):
        reader.columns(folder, file)
    self.assertEqual(steps["open"], 1)

  def test_damage_after_it_was_read_is_seen(self):
    folder, reader = self._folder("disk"), examples.Reader()
    file = examples.write(folder, _columns("a", "b"))
    reader.columns(folder, file)
    place = examples.path(folder, file)
    data = pathlib.Path(place).read_bytes()
    pathlib.Path(place).write_bytes(data[:-1] + b"x")
    os.utime(place, ns=(0, 0))
    with self.assertRaisesRegex(errors.UserError, f"^{place}: its checksum"):
      reader.columns(folder, file)


def _cell(config: str, model: str = "m", fingerprint: str = "f") -> Cell:
  condition = conditions.PICTURES.parse(config)
  return Cell(model, "digits_c", condition, 0, fingerprint)


_CELLS = [
  _cell(config, model) for config in ("clean", "fog_3") for model in ("a", "b")
]


def _examples(rows: Sequence[int]) -> dict[str, np.ndarray]:
  return {
    "example_id": np.array([f"example_{i:04d}" for i in rows]),
    "label": np.array([i % 3 for i in rows], np.int32),
  }


def _outputs(cell: Cell, rows: Sequence[int]) -> dict[str, np.ndarray]:
  number = _CELLS.index(cell) if cell in _CELLS else 9
  return {
    "top5": np.array([[number, i, 0, 0, -1] for i in rows], np.int32),
    "score": np.array([[i / 7] * 5 for i in rows], np.float32),
  }


class PartsTest(parameterized.TestCase):
  """Parts: what a stopped run need not make again, and what it cannot use."""

  def setUp(self):
    super().setUp()
    self.workdir = Workdir(pathlib.Path(self.create_tempdir().full_path))

  def _parts(
    self, cells=_CELLS, host: int = 0, hosts: int = 1, cut=(4, 100)
  ) -> parts.Parts:
    return parts.Parts(self.workdir, cells, host, hosts, cut)

  def _write(
    self,
    block: parts.Range,
    of: parts.Parts | None = None,
    cells: Sequence[Cell] = _CELLS,
    batches: int = 1,
    offset: int = 0,
    only: Sequence[int] | None = None,
    counted: bool = True,
  ) -> None:
    """A part of rows that are numbered from `offset` on, of some batches."""
    rows = range(offset + block[0], offset + block[1])
    listed = [some.tolist() for some in np.array_split(list(rows), batches)]
    chosen = range(batches) if only is None else only
    (of or self._parts()).write(
      block,
      batches * counted,
      {i: _examples(listed[i]) for i in chosen},
      {c: {i: _outputs(c, listed[i]) for i in chosen} for c in cells},
    )

  def _remaining(self, rows: int = 30, cells=_CELLS, lacking=None, **hosts):
    """Ranges that all cells lack; none lacks others."""
    lacking = cells if lacking is None else lacking
    of = self._parts(cells, **hosts)
    of.prepare(lacking)
    of.look()
    out = of.remaining(rows, lacking)
    for _, those in out:
      self.assertEqual(those, list(lacking))
    return [block for block, _ in out]

  def _files(self) -> list[pathlib.Path]:
    folder = pathlib.Path(self.workdir.path) / parts.FOLDER
    return sorted(p for p in folder.glob("**/*") if p.is_file())

  def _assert_rows(self, of: parts.Parts, cells, rows: Sequence[int]) -> None:
    of.look()
    listed = list(of.cells(cells))
    self.assertEqual([cell for cell, _ in listed], list(cells))
    for cell, columns in listed:
      want = {**_examples(rows), **_outputs(cell, rows)}
      self.assertEqual(columns.keys(), want.keys())
      for name, array in want.items():
        np.testing.assert_array_equal(columns[name], array, strict=True)


class ResumeTest(PartsTest):
  def test_nothing_is_there(self):
    self.assertEqual(self._remaining(), [(0, 30)])
    self.assertEmpty(self._files())

  def test_what_no_part_holds_remains(self):
    of = self._parts()
    of.prepare(_CELLS)
    for block in ((8, 16), (20, 24)):
      self._write(block)
    self.assertEqual(self._remaining(), [(0, 8), (16, 20), (24, 30)])
    self._write((0, 8))
    self.assertEqual(self._remaining(), [(16, 20), (24, 30)])

  def test_blocks_of_other_sizes_fill_the_rest(self):
    of = self._parts()
    of.prepare(_CELLS)
    for block in ((0, 8), (16, 24)):
      self._write(block)
    for first, last in self._remaining():
      for start in range(first, last, 3):
        self._write((start, min(start + 3, last)), batches=2)
    self.assertEqual(self._remaining(), [])
    self._assert_rows(of, _CELLS, range(30))

  def test_a_part_that_came_late_from_a_run_without_its_lock(self):
    of = self._parts()
    of.prepare(_CELLS)
    for block in ((0, 8), (8, 30), (4, 12)):
      self._write(block)
    self._assert_rows(of, _CELLS, range(30))
    self.assertEqual(self._remaining(), [])

  def test_cells_lack_what_no_part_holds_of_them(self):
    self._parts().prepare(_CELLS)
    self._write((0, 8))
    self._write((8, 16), cells=_CELLS[:2], batches=2)
    self._write((8, 16), self._looked(), _CELLS[2:3], 2, only=[0])
    of = self._looked()
    self.assertEqual(
      of.remaining(30, _CELLS), [((8, 16), _CELLS[2:]), ((16, 30), _CELLS)]
    )
    self.assertEqual(
      [of.made((8, 16), cell) for cell in _CELLS], [{0, 1}, {0, 1}, {0}, set()]
    )
    self.assertEqual([of.rows_of(cell) for cell in _CELLS], [16, 16, 12, 8])
    self.assertEqual(
      [of.is_whole(c, 16) for c in _CELLS], [True] * 2 + [False] * 2
    )
    self._write((8, 16), of, _CELLS[2:], 2)  # of the third the first one again
    self._assert_rows(self._looked(), _CELLS, range(16))

  def _looked(self, **options) -> parts.Parts:
    of = self._parts(**options)
    of.look()
    return of

  def test_a_block_is_whole_when_its_batches_are_counted(self):
    self._parts().prepare(_CELLS)
    self._write((0, 30), batches=3, counted=False)
    self.assertEqual(self._remaining(), [(0, 30)])
    self.assertEqual(self._looked().made((0, 30), _CELLS[0]), {0, 1, 2})
    self._write((0, 30), self._looked(), [], batches=3, only=[])
    self.assertEqual(self._remaining(), [])
    self._assert_rows(self._parts(), _CELLS, range(30))

  def test_batches_that_were_cut_otherwise_are_others(self):
    self._parts().prepare(_CELLS)
    self._write((0, 8), batches=2)
    self._write((8, 16), batches=2, only=[0])
    of = self._looked(cut=(8, 100))
    self.assertEqual(of.remaining(30, _CELLS), [((8, 30), _CELLS)])
    self.assertEqual(of.made((8, 16), _CELLS[0]), set())
    self._write((8, 30), of)
    self._assert_rows(of, _CELLS, range(30))

  def test_cells_that_were_finished_are_not_needed(self):
    # Killed in the assembly: some cells are finished, the parts hold all.
    of = self._parts()
    of.prepare(_CELLS)
    self._write((0, 30))
    self.assertEqual(self._remaining(lacking=_CELLS[2:]), [])
    self._assert_rows(of, _CELLS[2:], range(30))

  def test_a_cell_that_lacks_again_is_in_no_part_of_the_others(self):
    # Continued without the first cell, which then was moved aside as damaged.
    self._parts().prepare(_CELLS[1:])
    self._write((0, 8), cells=_CELLS[1:])
    self.assertEqual(self._remaining(lacking=_CELLS[1:]), [(8, 30)])
    lacking = self._looked().remaining(30, _CELLS)
    self.assertEqual(lacking, [((0, 8), _CELLS[:1]), ((8, 30), _CELLS)])

  def test_cells_in_any_order(self):
    self._parts().prepare(_CELLS)
    self._write((0, 30))
    self.assertEqual(self._remaining(cells=_CELLS[::-1]), [])

  def test_other_cells_have_parts_of_their_own(self):
    # Two shards in one workdir.
    for cells in (_CELLS[:2], _CELLS[2:]):
      of = self._parts(cells)
      self.assertEqual(self._remaining(cells=cells), [(0, 30)])
      self._write((0, 8), of, cells)
    for cells in (_CELLS[:2], _CELLS[2:]):
      self.assertEqual(self._remaining(cells=cells), [(8, 30)])

  @parameterized.parameters(
    (_CELLS[1:3],),
    (([_cell("clean", "a", "another fingerprint"), *_CELLS[1:]]),),
  )
  def test_parts_of_the_same_cells_in_another_run_go(self, others):
    # Two that both make a cell do not live at once.
    self._parts().prepare(_CELLS)
    self._write((0, 30))
    (file,) = self._files()
    file.with_name("rows-000000000-000000001-00000-host-0-of-1.npz").touch()
    self.assertEqual(self._remaining(cells=others), [(0, 30)])
    self.assertFalse(file.parent.exists())

  def test_they_are_removed_and_the_folder_with_the_last(self):
    one, other = self._parts(_CELLS[2:]), self._parts(_CELLS[:2])
    for of, cells in ((one, _CELLS[2:]), (other, _CELLS[:2])):
      of.prepare(cells)
      self._write((0, 8), of, cells)
    one.remove()
    self.assertLen(self._files(), 1)
    other.remove()
    self.assertFalse((self.workdir.path / parts.FOLDER).exists())
    other.remove()  # nothing is there: killed before it could say so


class HostsTest(PartsTest):
  def _both(self, *of_hosts: Sequence[parts.Range]) -> None:
    for host, ranges in enumerate(of_hosts):
      of = self._parts(host=host, hosts=len(of_hosts))
      of.prepare(_CELLS) if not host else None
      for block in ranges:
        self._write(block, of, offset=100 * host)

  def test_rows_that_one_host_lacks_are_made_by_all(self):
    self._both([(0, 8), (8, 16)], [(0, 8), (16, 24)])
    for host in (0, 1):
      of = self._parts(host=host, hosts=2)
      of.look()
      self.assertEqual(of.remaining(30, _CELLS), [((8, 30), _CELLS)])
    self.assertEqual(self._remaining(hosts=2), [(8, 30)])

  def test_no_row_is_in_two_parts_when_blocks_have_other_sizes(self):
    self._both([(0, 8), (8, 16)], [(0, 8)])
    self.assertEqual(self._remaining(16, hosts=2), [(8, 16)])
    for host in (0, 1):
      of = self._parts(host=host, hosts=2)
      for block in ((8, 12), (12, 16)):  # half as large as the first run's
        self._write(block, of, offset=100 * host)
    rows = [*range(16), *range(100, 116)]
    both = self._parts(hosts=2)
    both.look()
    got = {
      cell: sorted(columns["example_id"].tolist())
      for cell, columns in both.cells(_CELLS)
    }
    want = _examples(rows)["example_id"].tolist()
    self.assertEqual(got, {cell: want for cell in _CELLS})

  def test_parts_of_another_number_of_hosts_are_of_no_use(self):
    self._both([(0, 30)], [(0, 30)])
    self.assertEqual(self._remaining(hosts=3), [(0, 30)])
    self.assertEmpty(self._files())
    self._parts().prepare(_CELLS)
    self._write((0, 30))
    self.assertEqual(self._remaining(hosts=2), [(0, 30)])
    self.assertEmpty(self._files())


class DamageTest(PartsTest):
  def setUp(self):
    super().setUp()
    self._parts().prepare(_CELLS)
    for block in ((0, 8), (8, 16), (16, 24), (24, 30)):
      self._write(block)
    self.second = self._files()[1]

  @parameterized.parameters(0, 1, 2)
  def test_what_is_no_part_is_made_again(self, how):
    data = self.second.read_bytes()
    cut = (b"", data[: len(data) // 2], b"PK" + bytes(100))[how]
    self.second.write_bytes(cut)
    self.assertEqual(self._remaining(), [(8, 16)])
    self.assertFalse(self.second.exists())

  def test_a_part_of_another_version_is_made_again(self):
    newer = parts._VERSION + 1
    with mock.patch.object(parts, "_VERSION", newer):
      self.assertEqual(self._remaining(), [(0, 30)])

  def test_what_does_not_belong_there_is_removed(self):
    folder = self.second.parent
    (folder / "rows-8-16.npz").write_bytes(b"x")
    (folder / ".rows.tmp").write_bytes(b"x")
    (folder / "folder").mkdir()
    (folder / "folder" / "file").write_bytes(b"x")
    self.assertEqual(self._remaining(), [])
    self.assertLen(list(folder.iterdir()), 4)

  def test_damage_that_is_seen_in_the_assembly(self):
    data = bytearray(self.second.read_bytes())
    at = data.rindex(b"example_0012") if b"example_0012" in data else 2000
    data[at] ^= 255
    self.second.write_bytes(bytes(data))
    of = self._parts()
    of.look()
    self.assertEqual(self._remaining(), [])  # its cells can be read
    with self.assertRaisesRegex(
      errors.UserError, f"^{self.second}: damaged .*Run the same command again"
    ):
      list(of.cells(_CELLS))
    self.assertEqual(self._remaining(), [(8, 16)])
    self._write((8, 16))
    self._assert_rows(of, _CELLS, range(30))


class WritingTest(PartsTest):
  def setUp(self):
    super().setUp()
    self._parts().prepare(_CELLS)

  @parameterized.parameters(errors.UserError("x"), KeyboardInterrupt())
  def test_an_error_leaves_no_part(self, error):
    with mock.patch.object(parts, "_write_columns", side_effect=error):
      with self.assertRaises(type(error)):
        self._write((0, 8))
    self.assertEmpty(self._files())

  def test_who_lost_the_lock_finishes_no_part(self):
    root = fake_bucket.create(self) / "run"
    with lock.held(root) as mine:
      of = parts.Parts(Workdir(root, writer=mine.nonce), _CELLS, cut=(4, 100))
      self._write((0, 8), of)
      file = root / lock.FILE
      text = file.read_text()

      def lose(*_) -> None:
        file.unlink(missing_ok=True)

      with mock.patch.object(parts, "_write_columns", lose):
        with self.assertRaisesRegex(
          errors.UserError, "this run's lock is gone"
        ):
          self._write((8, 16), of)
      with self.assertRaisesRegex(errors.UserError, "this run's lock is gone"):
        self._write((8, 16), of)
      file.write_text(text)
    self.assertEqual(of.remaining(30, _CELLS), [((8, 30), _CELLS)])

  def test_the_same_rows_are_the_same_bytes(self):
    self._write((0, 8))
    first = self._files()[0].read_bytes()
    self._write((0, 8))  # written again in its place
    self.assertLen(self._files(), 1)
    self.assertEqual(self._files()[0].read_bytes(), first)

  @parameterized.parameters(1, 10**3, 10**9)
  def test_some_cells_at_a_time(self, most):
    for block in ((0, 8), (8, 30)):
      self._write(block, batches=3)
    with mock.patch.object(parts, "_MAX_BYTES", most):
      self._assert_rows(self._parts(), _CELLS, range(30))


class BucketTest(PartsTest):
  def setUp(self):
    super().setUp()
    self.workdir = Workdir(epath.Path(fake_bucket.create(self) / "run"))

  def test_written_resumed_assembled_and_removed(self):
    self._parts().prepare(_CELLS)
    self.assertEqual(self._remaining(), [(0, 30)])
    self._write((0, 8))
    error = KeyboardInterrupt()
    with mock.patch.object(parts, "_write_columns", side_effect=error):
      with self.assertRaises(KeyboardInterrupt):
        self._write((8, 16))
    self.assertLen(fake_bucket.keys(self.workdir.path), 1)
    self.assertEqual(self._remaining(), [(8, 30)])
    self._write((8, 30))
    self._assert_rows(self._parts(), _CELLS, range(30))
    self._parts().remove()
    self.assertEmpty(fake_bucket.keys(self.workdir.path))


_STRINGS = np.dtypes.StringDType()


def _detections(lengths, most=4) -> dict[str, np.ndarray]:
  """Detections as the task's reduction leaves them."""
  rng = np.random.default_rng(0)
  rows = len(lengths)
  there = np.arange(most) < np.array(lengths)[:, None]
  boxes = rng.uniform(0, 9, (rows, most, 4)).astype(np.float32)
  scores = rng.uniform(0, 1, (rows, most)).astype(np.float32)
  classes = rng.integers(0, 80, (rows, most)).astype(np.int16)
  return {
    "boxes": np.where(there[..., None], boxes, np.float32(0)),
    "scores": np.where(there, scores, np.float32(0)),
    "classes": np.where(there, classes, np.int16(-1)),
  }


class PackedTest(parameterized.TestCase):
  """Columns are stored in few bytes and read back as they were written."""

  def _read_back(self, columns: dict[str, np.ndarray]) -> bytes:
    """Holds that columns come back equal; gives what was written."""
    data = packed.dumps(columns)
    again = packed.loads(data, "x.npz")
    self.assertCountEqual(again, columns)
    for name, values in columns.items():
      self.assertEqual(again[name].dtype.kind, values.dtype.kind)
      if values.dtype.kind not in "US":
        self.assertEqual(again[name].dtype, values.dtype)
      self.assertEqual(again[name].shape, values.shape)
      if values.dtype.kind == "f":
        self.assertEqual(again[name].tobytes(), values.tobytes())
      else:
        np.testing.assert_array_equal(again[name], values)
    return data

  @parameterized.parameters(
    (np.array(["a", "", "ü/€", "x" * 300], np.str_),),
    (np.array(["1 2", "", "é", "x" * 300], _STRINGS),),
    (np.array([b"\xff\x00a", b"", b"x"], np.bytes_),),
    (np.array(["\udcff.png", "b"], np.str_),),  # a file's name that is no text
    (np.array([], np.str_),),
    (np.array([], _STRINGS),),
    (np.array([], np.int32),),
    (np.zeros((0, 5), np.int64),),
    (np.array([True, False]),),
    (np.array([0.1, np.nan, -0.0], np.float32),),
    (np.array([[1.5], [2.5]], np.float64),),
    (np.array([0, 255], np.uint8),),
  )
  def test_reads_back(self, values):
    self._read_back({"column": values})

  @parameterized.parameters(
    (127, np.int8),
    (-128, np.int8),
    (999, np.int16),
    (-129, np.int16),
    (1 << 15, np.int32),
    (1 << 31, np.int64),
    ((1 << 63) - 1, np.int64),
  )
  def test_whole_numbers_in_the_fewest_bytes(self, value, dtype):
    columns = {"n": np.array([0, value], np.int64)}
    self.assertEqual(packed.pack(columns)["n.int64"].dtype, dtype)
    self._read_back(columns)

  def test_thirty_bytes_of_a_thousand_classes(self):
    rng = np.random.default_rng(0)
    data = self._read_back(
      {
        "top5": rng.integers(0, 1000, (5000, 5)).astype(np.int32),
        "score": rng.uniform(size=(5000, 5)).astype(np.float32),
      }
    )
    self.assertLess(len(data) / 5000, 30.2)

  @parameterized.parameters(([3, 0, 4, 1],), ([0, 0],), ([],), ([4, 4],))
  def test_detections_that_are_not_there_take_no_bytes(self, lengths):
    data = self._read_back(_detections(lengths))
    alone = len(packed.dumps(_detections([])))
    self.assertLessEqual(len(data) - alone, sum(lengths) * 21 + len(lengths))

  def test_whatever_is_there_stays(self):
    """A hole, a score without a class: nothing is lost."""
    columns = _detections([2, 0, 1])
    columns["classes"][0, 0] = -1
    columns["scores"][1, 3] = 0.5
    columns["boxes"][2, 2, 1] = np.nan
    self._read_back(columns)

  def test_texts_take_their_own_bytes(self):
    """One long text among many does not make the others long."""
    texts = np.array(["1"] * 1000 + ["2" * 100_000], _STRINGS)
    self.assertLess(len(self._read_back({"masks": texts})), 106_000)

  def test_the_memory_of_long_texts_counts(self):
    texts = np.array(["", "2" * 100_000], _STRINGS)
    columns = {"masks": texts, "n": np.zeros(5, np.int32)}
    self.assertBetween(packed.nbytes(columns), 100_020, 100_100)

  def test_equal_columns_are_equal_bytes(self):
    columns = {
      "b": np.arange(3),
      "a": np.array(["x", "yy", "z"]),
      "c": np.arange(6.0).reshape(3, 2),
    }
    other = {
      "a": columns["a"].astype("<U90"),
      "c": np.asfortranarray(columns["c"]),
      "b": columns["b"],
    }
    self.assertEqual(packed.dumps(columns), packed.dumps(other))
    with zipfile.ZipFile(io.BytesIO(packed.dumps(columns))) as archive:
      self.assertEqual({m.date_time[0] for m in archive.infolist()}, {1980})

  @parameterized.parameters(
    ({"a.str": np.zeros(3, np.uint8)},),
    ({"a.str": np.zeros(3, np.uint8), "a.lengths": np.array([1, 1])},),
    ({"a.str": np.zeros(3, np.uint8), "a.lengths": np.array([4, -1])},),
    ({"a.str": np.full(1, 255, np.uint8), "a.lengths": np.array([1])},),
    ({"boxes.ragged": np.zeros((3, 4))},),
    (
      {
        "boxes.ragged": np.zeros((3, 4)),
        "detections.lengths": np.array([4, 1, 1]),
      },
    ),
    ({"boxes.ragged": np.zeros(1), "detections.lengths": np.array([1.5])},),
  )
  def test_arrays_that_do_not_belong_together(self, arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    with self.assertRaisesRegex(errors.UserError, "^x.npz: these arrays are"):
      packed.loads(file.getvalue(), "x.npz")


_FACTS = Cell("model", "d", conditions.Condition("fog", 3)).note()


def _predictions_columns(ids) -> dict:
  n = len(ids)
  return {
    "example_id": np.array(ids, np.str_),
    "group_id": np.array(ids, np.str_),
    "frame": np.zeros(n, np.int32),
    "label": np.arange(n, dtype=np.int32),
    "top5": np.tile(np.arange(5, dtype=np.int32), (n, 1)),
    "score": np.linspace(0, 1, 5 * n, dtype=np.float32).reshape(n, 5),
  }


def _part(columns, rows) -> dict:
  return {k: v[rows] for k, v in columns.items()}


class PredictionsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.cell = predictions.folder(self.root, "model", "fog_3")
    self.examples = self.root / "examples"

  def _finish(self, cell, columns) -> dict:
    return predictions.finish(cell, self.examples, columns, _FACTS, "test")

  def test_order_and_parts_do_not_change_a_byte(self):
    columns = _predictions_columns(["c.png", "a.png", "b.png"])
    written = []
    for name, halves in (
      ("one", [[0, 1, 2]]),
      ("other order", [[2, 0, 1]]),
      ("two", [[1], [2, 0]]),
    ):
      cell = predictions.folder(self.root, name)
      rows = predictions.concatenate(_part(columns, part) for part in halves)
      self._finish(cell, dict(reversed(rows.items())))
      written.append([p.read_bytes() for p in sorted(cell.iterdir())])
    self.assertLen(written[0], 2)
    self.assertLen(list(self.examples.iterdir()), 1)
    self.assertEqual(written[0], written[1])
    self.assertEqual(written[0], written[2])

  def test_reads_back_sorted(self):
    self._finish(self.cell, _predictions_columns(["b", "a"]))
    columns, note = predictions.read(self.cell, self.examples)
    self.assertEqual(columns["example_id"].tolist(), ["a", "b"])
    self.assertEqual(columns["label"].tolist(), [1, 0])
    self.assertEqual((note.model, note.config), ("model", "fog_3"))
    self.assertEqual((note.split.name, note.split.rows), ("test", 2))

  def test_example_twice_is_refused(self):
    with self.assertRaisesRegex(ValueError, "'a' has more than one"):
      self._finish(self.cell, _predictions_columns(["a", "a"]))
    self.assertFalse(self.cell.exists())

  def test_full_disk_keeps_finished_cells_and_says_so(self):
    other = predictions.folder(self.root, "model", "fog_1")
    self._finish(other, _predictions_columns(["a"]))
    full = OSError(errno.ENOSPC, "No space left on device")
    with mock.patch.object(os, "fsync", side_effect=full):
      with self.assertRaisesRegex(
        disk.DiskError,
        f"^{self.cell}.*: could not be written: No space .* free",
      ):
        self._finish(self.cell, _predictions_columns(["a"]))
    self.assertEmpty(list(self.cell.iterdir()))
    predictions.read(other, self.examples)

  @quick.cases(["bucket"], ["disk"])
  def test_killed_between_any_two_steps(self, kind):
    """It is not there, or whole; and again writes what nothing happened to."""
    columns = _predictions_columns(["b", "a"])
    root = fake_bucket.create(self) / "run" if kind == "bucket" else self.root
    examples, cell = root / "examples", predictions.folder(root, "m", "fog_3")
    whole = self._written(root.parent / "other", columns)
    for step in range(100):
      done = self._killed(kind, root, step, columns)
      written = cell / note_lib.FILE
      self.assertTrue(written.exists() or not done)
      if written.exists():
        predictions.read(cell, examples)
      again = self._written(root, columns)
      self.assertSameElements(again, whole)
      self.assertEqual(again, whole)
      for path in (cell, examples):
        epath.Path(path).rmtree()
      if done:
        break
    self.assertGreater(step, 2)

  def _written(self, root, columns) -> dict[str, bytes]:
    """Writes a cell and gives all files of the run."""
    cell = predictions.folder(root, "m", "fog_3")
    with mock.patch.object(psutil, "pid_exists", return_value=False):
      predictions.finish(cell, root / "examples", columns, _FACTS, "test")
    files = paths.files_below(root)
    return {name: paths.parse(whole).read_bytes() for name, whole in files}

  def _killed(self, kind, root, step, columns) -> bool:
    """Writes a cell and is killed at a step; whether there was no such step."""
    cell = predictions.folder(root, "m", "fog_3")
    args = cell, root / "examples", columns, _FACTS, "test"
    if kind == "bucket":
      name = ("write", "wrote")[step % 2]
      killed = fake_bucket.Killed()
      try:
        with fake_bucket.fault(name, "*", killed, after=step // 2):
          predictions.finish(*args)
      except fake_bucket.Killed:
        return False
      return True
    fault = filesystem.Fault(("kill", "kill_half")[step % 2], step // 2 + 1)

    def write() -> None:
      with filesystem.faulty(root, fault):
        predictions.finish(*args)

    child = multiprocessing.get_context("fork").Process(target=write)
    child.start()
    child.join()
    self.assertIn(child.exitcode, (0, -signal.SIGKILL))
    return child.exitcode == 0

  def test_folder_names_stay_inside(self):
    cell = predictions.folder(self.root, "../evil", "a/b", "..")
    self.assertTrue(cell.resolve().is_relative_to(self.root.resolve()))
    self.assertLen(cell.relative_to(self.root).parts, 3)


class ScoredFolderTest(in_folder.TestCase):
  """The folder of a score: whole or not at all, replaced, never a run's."""

  def setUp(self):
    super().setUp()
    self.folder = self.root / "out"

  def _write(self, **files) -> None:
    with scored_folder.replacing(self.folder, [self.root / "in"]) as folder:
      for name, text in files.items():
        (folder / name).write_text(text)

  def _names(self) -> set[str]:
    return {p.name for p in self.folder.iterdir()}

  def test_replaces_its_own_files_alone(self):
    self._write(table="1", tables="1")
    self.assertEqual(self._names(), {"table", "tables", "scored.json"})
    note = json.loads((self.folder / "scored.json").read_text())
    self.assertEqual(note["predictions"], [str(self.root / "in")])
    (self.folder / "notes.txt").write_text("a user's")
    self._write(table="2")
    self.assertEqual(self._names(), {"table", "notes.txt", "scored.json"})
    self.assertEqual((self.folder / "table").read_text(), "2")

  def test_in_a_bucket(self):
    """The same; half of a score is no workdir, and is replaced."""
    self.folder = fake_bucket.create(self) / "out"
    files = {"cells": "1", "config.json": "{}", "table.csv": "1"}
    self._write(**files)
    self.assertEqual(self._names(), {*files, "scored.json"})
    for step, name in (
      ("copy", "*unfinished/table.csv"),
      ("copied", "*/cells"),
    ):
      with self.assertRaises(fake_bucket.Killed):
        with fake_bucket.fault(step, name, fake_bucket.Killed()):
          self._write(**files)
      self.assertNotIn("config.json", self._names())
      self._write(**files)
      self.assertEqual(self._names(), {*files, "scored.json"})

  def test_what_no_score_wrote_stays(self):
    self.folder.mkdir()
    (self.folder / "table").write_text("a user's")
    with self.assertRaisesRegex(ValueError, "holds table, which no eval.score"):
      self._write(table="1")
    self.assertEqual((self.folder / "table").read_text(), "a user's")
    self.assertEqual(self._names(), {"table"})

  def test_not_inside_of_what_is_scored(self):
    self.folder = self.root / "in" / "reports"
    with self.assertRaisesRegex(ValueError, "lies in .*in, which is scored"):
      self._write(table="1")
    self.assertFalse(self.folder.exists())

  def test_a_failure_leaves_what_found_on_disk(self):
    self._write(table="1")
    with self.assertRaises(KeyError):
      with scored_folder.replacing(self.folder, []) as folder:
        (folder / "table").write_text("2")
        raise KeyError("broken")
    self.assertEqual((self.folder / "table").read_text(), "1")
    self.assertEqual([p.name for p in self.root.iterdir()], ["out"])
    self.assertEqual(self._names(), {"table", "scored.json"})

  def test_a_failure_leaves_no_folder_that_was_not_there(self):
    with self.assertRaises(KeyError):
      with scored_folder.replacing(self.folder, []):
        raise KeyError("broken")
    self.assertEmpty(list(self.root.iterdir()))

  def test_two_at_once_are_refused(self):
    with scored_folder.replacing(self.folder, []) as folder:
      (folder / "table").write_text("1")
      with self.assertRaisesRegex(
        ValueError, "another run is writing .*process"
      ):
        self._write(table="2")
    self.assertEqual((self.folder / "table").read_text(), "1")

  def test_a_damaged_note_is_refused(self):
    self._write(table="1")
    for text in ("", '{"written": ["table"]}', '{"predictions": []}'):
      (self.folder / "scored.json").write_text(text)
      with self.assertRaisesRegex(ValueError, "scored.json: .*another --out"):
        self._write(table="2")
      self.assertEqual((self.folder / "table").read_text(), "1")

  def test_refusals(self):
    self.folder.mkdir()
    (self.folder / "cells").mkdir()
    with self.assertRaisesRegex(ValueError, "out is the workdir of a run"):
      self._write()
    (self.folder / "cells").rmdir()
    (self.folder / "config.json").write_text("{}")
    with self.assertRaisesRegex(ValueError, "out is the workdir of a run"):
      self._write()
    self.folder = self.folder / "config.json"
    with self.assertRaisesRegex(ValueError, "config.json is a file"):
      self._write()
    self.folder = self.root / "in"
    with self.assertRaisesRegex(ValueError, "in is what is scored"):
      self._write()
