"""Cores that may be used, and work in order by threads."""

import threading
from unittest import mock

from absl.testing import parameterized

from robust_tfds import cores


class CoresTest(parameterized.TestCase):
  @parameterized.parameters(
    ("max 100000", 8, 8),
    ("250000 100000", 8, 2),
    ("50000 100000", 8, 1),
    ("1600000 100000", 8, 8),
    ("0 100000", 8, 1),
    ("100000 0", 8, 8),  # what says nothing is no limit
    ("many", 8, 8),
    ("", 0, 1),
  )
  def test_affinity_and_the_containers_share(self, quota, bound, want):
    file = self.create_tempfile(content=quota).full_path
    with (
      mock.patch.object(cores, "_QUOTAS", [("/not/there",), (file,)]),
      mock.patch("os.sched_getaffinity", return_value=set(range(bound))),
    ):
      self.assertEqual(cores.usable(), want)

  @parameterized.parameters(1, 2, 5)
  def test_results_are_in_order_and_bounded(self, threads):
    taken = []
    rows = cores.mapped(lambda n: n * n, iter(range(50)), threads)
    self.assertEqual(list(rows), [n * n for n in range(50)])
    items = (taken.append(n) or n for n in range(50))
    some = cores.mapped(str, items, threads)
    self.assertEqual(next(some), "0")
    self.assertLessEqual(len(taken), 2 * threads + 1)
    some.close()
    alive = [t.name for t in threading.enumerate()]
    self.assertEmpty([name for name in alive if name.startswith("mapped")])

  def test_an_item_that_takes_long_is_named(self):
    go_on = threading.Event()
    said = mock.Mock(side_effect=lambda *_: go_on.set())
    with (
      mock.patch.object(cores, "SLOW_S", 0.01),
      mock.patch.object(cores.logging, "warning", said),
    ):
      rows = cores.mapped(lambda n: n or go_on.wait(60), range(9), 3)
      self.assertEqual(list(rows), [True, *range(1, 9)])
    self.assertEqual(said.call_args_list[0].args[1], "0")

  def test_the_first_error_in_order_is_raised(self):
    def work(number: int) -> int:
      if number > 2:
        raise ValueError(f"of {number}")
      return number

    rows = cores.mapped(work, range(9), 4)
    self.assertEqual([next(rows) for _ in range(3)], [0, 1, 2])
    with self.assertRaisesRegex(ValueError, "of 3"):
      next(rows)
