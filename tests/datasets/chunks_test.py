"""Chunks give the same examples in the same order, however they are made."""

import os

from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.datasets import chunks


def _doubled(numbers):
  """The work of a chunk; at the module's top, as workers import it."""
  return [2 * n for n in numbers]


def _killed(numbers):
  """A worker that the system ends, as for want of memory."""
  os._exit(9)


def _example(row):
  return f"key{row}", {"row": row}


class ChunksTest(parameterized.TestCase):
  @parameterized.parameters((7, 3, [3, 3, 1]), (6, 3, [3, 3]), (0, 3, []))
  def test_split(self, count, size, lengths):
    parts = chunks.split(range(count), size)
    self.assertEqual([len(part) for part in parts], lengths)
    self.assertEqual([n for part in parts for n in part], list(range(count)))

  def test_here(self):
    parts = chunks.split(range(5), 2)
    rows = list(chunks.examples(_doubled, parts, _example))
    self.assertEqual(rows, [_example(2 * n) for n in range(5)])

  def test_a_worker_that_ends(self):
    rows = chunks.examples(_killed, [[1], [2]], _example, workers=2)
    with self.assertRaisesRegex(
      errors.UserError, "workers=2: a worker process"
    ):
      list(rows)

  def test_one_chunk_after_another(self):
    """What is not read is not made."""
    begun = []

    def work(numbers):
      begun.append(numbers[0])
      return numbers

    rows = chunks.examples(work, [[1], [2], [3]], _example)
    self.assertEqual(next(rows), _example(1))
    self.assertEqual(begun, [1])


if __name__ == "__main__":
  absltest.main()
