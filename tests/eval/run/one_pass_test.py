"""What is in memory and in flight while a source is read."""

import pathlib
import threading
import time
from unittest import mock

import jax

from eval.cells.files import parts
from eval.cells.workdir import Workdir
from eval.pipeline import blocks
from eval.run.execution import one_pass
from tests.eval.run import cells_test


class MemoryTest(cells_test.MakerTest):
  def test_in_flight_are_three_batches_of_a_model(self):
    most, flying, lock = [0], [0], threading.Lock()

    class Counting(cells_test.Predictor):
      def __call__(self, images, labels, reduce, sizes, count=None):
        if not isinstance(images, jax.ShapeDtypeStruct):
          with lock:
            flying[0] += 1
            most[0] = max(most[0], flying[0])
        return super().__call__(images, labels, reduce, sizes)

    class Slow(cells_test.Outputs):
      def fetch(self):
        time.sleep(0.002)
        with lock:
          flying[0] -= 1
        return super().fetch()

    with mock.patch.object(cells_test, "Outputs", Slow):
      self.make(a=Counting(), b=Counting(1))
    self.assertEqual(flying, [0])
    self.assertBetween(most[0], 2, 2 * one_pass.IN_FLIGHT + 1)

  def test_pixels_are_given_back_when_all_conditions_saw_them(self):
    held, most = [0], [0]
    give, take = blocks._Room.give, blocks._Room.take

    def taking(room, count, own):
      take(room, count, own)
      held[0] += count
      most[0] = max(most[0], held[0])

    def giving(room, count):
      held[0] -= count
      give(room, count)

    with (
      mock.patch.object(blocks._Room, "take", taking),
      mock.patch.object(blocks._Room, "give", giving),
    ):
      self.make(
        block_rows=4, a=cells_test.Predictor(), b=cells_test.Predictor(1)
      )
    self.assertEqual(held, [0])
    self.assertLessEqual(most[0], 2 * 4 * cells_test.PICTURE)

  def test_outputs_wait_for_the_writer_up_to_a_size(self):
    written = self._written(_PART_BYTES=500)
    self.assertEqual(sum(written), 2 * 2 * -(-cells_test.COUNT // 2))
    self.assertLessEqual(max(written), 10)

  def test_outputs_are_written_after_some_seconds(self):
    self.assertEqual(self._written(_PART_S=60), [76])
    self.assertEqual(self._written(_PART_S=-1), [1] * 76)

  def _written(self, **limits: float) -> list[int]:
    """How many outputs each part has, of a run that comes out the same."""
    written, write = [], parts.Parts.write

    def counted(self, block, count, examples, outputs):
      written.append(sum(map(len, outputs.values())))
      write(self, block, count, examples, outputs)

    workdir = Workdir(pathlib.Path(self.create_tempdir().full_path))
    with (
      mock.patch.object(parts.Parts, "write", counted),
      mock.patch.multiple(one_pass, **limits),
    ):
      self.make(
        workdir=workdir, a=cells_test.Predictor(), b=cells_test.Predictor(1)
      )
    self.assertEqual(self.hashes(workdir), self.reference())
    return written
