"""Tables of runs that differ in what must not change a number."""

import pathlib
from collections.abc import Iterable

from absl.testing import absltest

from eval.cells import table
from eval.metrics import answers

# Made of probabilities: float32 sums, in an order that the device chooses.
_OF_SCORES = {
  f"{mean}{m.name}" for m in answers.metrics() for mean in ("", "mean_")
}
_DIGITS = 1e-5


def task_rows(rows: Iterable[table.Row]) -> list[table.Row]:
  """Return the rows of a task's own numbers: anybody may add metrics of answers."""
  return [row for row in rows if row.metric not in _OF_SCORES]


def check(
  test: absltest.TestCase, one: pathlib.Path, other: pathlib.Path
) -> None:
  """Holds two `table.csv` to be equal, numbers of scores but for last digits."""
  rows, others = table.read(one), table.read(other)
  test.assertEqual(len(rows), len(others))
  for row, again in zip(rows, others):
    if row.metric not in _OF_SCORES:
      test.assertEqual(repr(row), repr(again))  # nan is not nan
      continue
    for name in ("value", "lo", "hi"):
      first, second = getattr(row, name), getattr(again, name)
      where = f"{name} of {row}"
      if first is None or first != first:
        test.assertEqual(repr(first), repr(second), where)
      else:
        test.assertAlmostEqual(first, second, delta=_DIGITS, msg=where)
