"""A process that was forked from one that uses JAX: refused, at once."""

import multiprocessing
import unittest
import warnings

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds import corruptions, errors

_WAIT_S = 120  # before the fix it was for ever
_HAS_FORK = "fork" in multiprocessing.get_all_start_methods()


def _foggy(picture: np.ndarray) -> np.ndarray:
  return np.asarray(corruptions.corrupt(picture, "fog", 3, seed=0))


class ForksTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._picture = np.full((32, 32, 3), 128, np.uint8)
    self._foggy = _foggy(self._picture)  # this process uses JAX now

  def _in_worker(self, how):
    with warnings.catch_warnings():
      warnings.simplefilter("ignore")  # JAX warns of the fork
      with multiprocessing.get_context(how).Pool(1) as pool:
        return pool.apply_async(_foggy, (self._picture,)).get(_WAIT_S)

  @unittest.skipUnless(_HAS_FORK, "no fork on this system")
  def test_a_fork_is_refused(self):
    with self.assertRaisesRegex(errors.UserError, "context='spawn'"):
      self._in_worker("fork")

  @parameterized.parameters("spawn", "forkserver")
  def test_other_workers_give_the_same(self, how):
    np.testing.assert_array_equal(self._in_worker(how), self._foggy)


if __name__ == "__main__":
  absltest.main()
