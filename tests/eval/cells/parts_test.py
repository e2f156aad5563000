"""Parts: what a stopped run need not make again, and what it cannot use."""

import pathlib
from collections.abc import Sequence
from unittest import mock

import numpy as np
from absl.testing import parameterized
from etils import epath

from eval.cells.cell import Cell
from eval.cells.files import lock, parts
from eval.cells.workdir import Workdir
from robust_tfds import conditions, errors
from tests import fake_bucket


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
    with mock.patch.object(parts, "_MOST_BYTES", most):
      self._assert_rows(self._parts(), _CELLS, range(30))

  def test_only_what_is_assembled_is_read(self):
    self._write((0, 30))
    of = self._parts()
    of.look()
    (cell, columns), *others = of.cells(_CELLS[1:2])
    self.assertEqual((cell, others), (_CELLS[1], []))
    self.assertEqual(columns["top5"][:, 0].tolist(), [1] * 30)


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
