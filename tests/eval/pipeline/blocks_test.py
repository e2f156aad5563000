"""Blocks: every row once, by group, in bounded memory, without a deadlock."""

import dataclasses
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from unittest import mock

import numpy as np
from absl.testing import parameterized

from eval.pipeline import blocks, inputs
from robust_tfds import errors
from robust_tfds.hosts import Host
from tests.eval.pipeline import stored_examples

_BATCH = 4
_TIMEOUT_S = 60.0


@dataclasses.dataclass(frozen=True)
class _Row:
  number: int
  group: Hashable
  nbytes: int


class _Reader:
  """Rows that count themselves; batches are lists of their numbers."""

  usual_nbytes = 10

  def __init__(
    self,
    count: int,
    group: Callable[[int], Hashable] = lambda i: 0,
    nbytes: Callable[[int], int] = lambda i: 10,
    broken: int = -1,
  ):
    self._count, self._broken = count, broken
    self._group, self._nbytes = group, nbytes
    self.read: list[int] = []

  def rows(self, start: int, stop: int) -> Iterator[_Row]:
    for i in range(start, min(stop, self._count)):
      if i == self._broken:
        raise errors.UserError(f"row {i} is broken")
      self.read.append(i)
      yield _Row(i, self._group(i), self._nbytes(i))

  def group(self, row: _Row) -> Hashable:
    return row.group

  def most(self, group: Hashable) -> int:
    return _BATCH

  def batch(self, rows: Sequence[_Row]) -> list[int]:
    assert len({row.group for row in rows}) <= 1
    assert len(rows) <= _BATCH
    return [row.number for row in rows]


def _blocks(reader, ranges, *, nbytes=10**6, rows=8, **options):
  return blocks.Blocks(
    reader,
    ranges,
    batch_size=_BATCH,
    block_rows=rows,
    block_nbytes=nbytes,
    **options,
  )


def _listed(
  reader: _Reader, ranges: Sequence[blocks.Range], **options
) -> list[tuple[blocks.Range, list[int] | None]]:
  """(block, numbers of the rows or None at its end), each released at once."""
  out = []
  with _blocks(reader, ranges, **options) as steps:
    for step in steps:
      out.append((step.block, step.batch))
      steps.release(step)
  return out


def _wait_for(reached: Callable[[], bool]) -> None:
  end = time.monotonic() + _TIMEOUT_S
  while not reached():
    assert time.monotonic() < end, "it never came"
    time.sleep(0.001)


def _is_over(thread: threading.Thread) -> bool:
  thread.join(_TIMEOUT_S)
  return not thread.is_alive()


class BlocksTest(parameterized.TestCase):
  def test_ranges_become_blocks_of_batches(self):
    reader = _Reader(100)
    self.assertEqual(
      _listed(reader, [(0, 10), (20, 22)]),
      [
        ((0, 8), [0, 1, 2, 3]),
        ((0, 8), [4, 5, 6, 7]),
        ((0, 8), None),
        ((8, 10), [8, 9]),
        ((8, 10), None),
        ((20, 22), [20, 21]),
        ((20, 22), None),
      ],
    )
    self.assertEqual(reader.read, [*range(10), 20, 21])

  def test_nothing_to_read(self):
    self.assertEmpty(_listed(_Reader(3), []))

  def test_rows_of_one_group_share_batches_within_a_block(self):
    listed = _listed(_Reader(16, group=lambda i: i % 3 == 0), [(0, 16)], rows=8)
    batches = [(block, rows) for block, rows in listed if rows is not None]
    self.assertEqual(
      batches,
      [
        ((0, 8), [1, 2, 4, 5]),
        ((0, 8), [0, 3, 6]),
        ((0, 8), [7]),
        ((8, 16), [8, 10, 11, 13]),
        ((8, 16), [14]),
        ((8, 16), [9, 12, 15]),
      ],
    )

  def test_a_host_whose_share_is_shorter_takes_as_many_steps(self):
    # Shares of 9 and 8 rows: the block of the ninth is all padding there.
    long, short = (_listed(_Reader(n), [(0, 9)]) for n in (9, 8))
    self.assertEqual([b for b, _ in long], [b for b, _ in short])
    self.assertEqual(short[-2:], [((8, 9), []), ((8, 9), None)])

  @parameterized.parameters(15, 25, 10**6)
  def test_hosts_take_as_many_steps_whatever_their_rows_bytes(self, nbytes):
    small = _Reader(16)
    large = _Reader(16, nbytes=lambda i: 10 * (i % 4 + 1))
    options = {"nbytes": nbytes, "equal_steps": True}
    listed = [_listed(r, [(0, 16)], **options) for r in (small, large)]
    self.assertEqual(listed[0], listed[1])
    self.assertLen(listed[0], 4 + 2)

  def test_two_blocks_of_pixels_are_in_memory_and_no_more(self):
    reader = _Reader(100)
    with _blocks(reader, [(0, 100)], nbytes=80) as steps:
      taken, held = [], 0
      for step in steps:
        taken.append(step)
        held += step.nbytes
        self.assertLessEqual(held, 160)
        if held == 160:
          # One more row was decoded, and finds no room however long it waits.
          time.sleep(0.02)
          self.assertLessEqual(len(reader.read), step.batch[-1] + 2)
          for each in taken:
            steps.release(each)
          taken, held = [], 0
    self.assertLen(reader.read, 100)

  def test_a_row_that_is_larger_than_all_room_comes_alone(self):
    reader = _Reader(12, nbytes=lambda i: 10**9 if i == 5 else 10)
    batches = [b for _, b in _listed(reader, [(0, 12)], nbytes=80) if b]
    self.assertEqual(sorted(i for b in batches for i in b), list(range(12)))
    self.assertIn([5], batches)

  def test_groups_that_hold_all_room_become_batches(self):
    # Every row has a group of its own: none is ever full.
    reader = _Reader(64, group=lambda i: i)
    listed = _listed(reader, [(0, 64)], nbytes=30, rows=32)
    batches = [b for _, b in listed if b is not None]
    self.assertEqual(batches, [[i] for i in range(64)])

  def test_an_error_of_the_reader_comes_after_the_steps_before(self):
    reader, taken = _Reader(100, broken=13), []
    with self.assertRaisesRegex(errors.UserError, "row 13 is broken"):
      with _blocks(reader, [(0, 100)]) as steps:
        for step in steps:
          taken.append(step.batch)
          steps.release(step)
    self.assertEqual(taken[:3], [[0, 1, 2, 3], [4, 5, 6, 7], None])
    self.assertEqual(taken[3:], [[8, 9, 10, 11]])

  def test_an_error_of_a_batch_is_raised_too(self):
    reader = _Reader(8)
    broken = mock.patch.object(reader, "batch", side_effect=ValueError("shape"))
    with broken, self.assertRaisesRegex(ValueError, "shape"):
      _listed(reader, [(0, 8)])

  def test_leaving_ends_the_thread_that_waits_for_room(self):
    reader = _Reader(1000)
    with self.assertRaises(KeyboardInterrupt):
      with _blocks(reader, [(0, 1000)], nbytes=80) as steps:
        next(iter(steps))
        _wait_for(lambda: len(reader.read) >= 16)
        raise KeyboardInterrupt
    self.assertTrue(_is_over(steps._thread))
    self.assertLen(reader.read, 17)  # one was read and found no room

  def test_who_waits_for_a_step_hears_why_none_comes(self):
    # The room is full of what nobody will release: the one who would failed.
    failed = []

    def check() -> None:
      if failed:
        raise failed[0]

    with self.assertRaisesRegex(ValueError, "fetching failed"):
      with _blocks(_Reader(100), [(0, 100)], nbytes=40, check=check) as steps:
        for step in steps:
          if step.block[1] >= 8:
            failed.append(ValueError("fetching failed"))

  def test_waiting_and_reading_are_timed(self):
    reader = _Reader(8)

    def slow(start: int, stop: int) -> Iterator[_Row]:
      time.sleep(0.05)
      yield _Row(start, 0, 10)

    with mock.patch.object(reader, "rows", slow):
      with _blocks(reader, [(0, 8)]) as steps:
        self.assertLen(list(steps), 3)
    self.assertGreater(steps.reading_s, 0.04)
    self.assertGreater(steps.waited_s, 0.02)


class PictureReaderTest(parameterized.TestCase):
  def _reader(self, sides: Sequence[int], hosts: int = 1):
    examples = [stored_examples.example(i, s) for i, s in enumerate(sides)]
    builder = stored_examples.Builder(examples, any_size=len(set(sides)) > 1)
    source = inputs.Source(
      builder, "test", batch_size=_BATCH, host=Host(0, hosts)
    )
    return blocks.PictureReader(source), source

  def test_rows_are_decoded_once(self):
    reader, source = self._reader([2] * 9)
    rows = list(reader.rows(2, 7))
    self.assertEqual([row.nbytes for row in rows], [2 * 3 * 3] * 5)
    self.assertEqual(reader.usual_nbytes, 2 * 3 * 3)
    batch = reader.batch(rows[:3])
    self.assertEqual(
      batch.example_id, ["example_2", "example_3", "example_4", ""]
    )
    self.assertEqual(source.decoded, 5)

  def test_pictures_of_one_canvas_are_a_group(self):
    reader, _ = self._reader([2, 300, 2, 300])
    groups = [reader.group(row) for row in reader.rows(0, 4)]
    self.assertEqual(groups[0], groups[2])
    self.assertEqual(groups[1], groups[3])
    self.assertNotEqual(groups[0], groups[1])
    self.assertEqual(reader.usual_nbytes, 480 * 640 * 3)

  def test_hosts_have_one_group(self):
    reader, _ = self._reader([2, 300, 2, 300], hosts=2)
    self.assertLen({reader.group(row) for row in reader.rows(0, 2)}, 1)

  def test_a_batch_of_no_rows_is_padding(self):
    for sides in ([2, 2], [2, 300]):
      reader, _ = self._reader(sides)
      batch = reader.batch([])
      self.assertEqual(batch.mask.tolist(), [False] * _BATCH)
      self.assertEqual(batch.label.tolist(), [-1] * _BATCH)
      self.assertEqual(batch.example_id, [""] * _BATCH)
      np.testing.assert_array_equal(batch.image, 0)
