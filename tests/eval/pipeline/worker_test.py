"""A worker: jobs in order, errors to who gives them, no one waits for ever."""

import threading
import time
import weakref

from absl.testing import absltest

from eval.pipeline import worker

_TIMEOUT_S = 60.0


def _fail() -> None:
  raise ValueError("the job failed")


class WorkerTest(absltest.TestCase):
  def test_jobs_are_done_in_order_beside_who_gives_them(self):
    done, gate = [], threading.Event()
    with worker.Worker("test") as work:
      work.do(lambda: done.append(gate.wait(_TIMEOUT_S)))
      for i in range(100):
        work.do(lambda i=i: done.append(i))
      self.assertEmpty(done)
      gate.set()
      work.wait()
      self.assertEqual(done, [True, *range(100)])

  def test_all_jobs_are_done_at_the_end(self):
    done = []
    with worker.Worker("test", most=1) as work:
      for i in range(20):
        work.do(lambda i=i: done.append(i))
    self.assertEqual(done, list(range(20)))
    self.assertFalse(work._thread.is_alive())

  def test_an_error_is_raised_where_one_waits_gives_or_asks(self):
    done = []
    with self.assertRaisesRegex(ValueError, "the job failed"):
      with worker.Worker("test") as work:
        work.check()
        work.do(_fail)
        work.do(lambda: done.append(1))
        for raises in (work.wait, work.check, lambda: work.do(_fail)):
          with self.assertRaisesRegex(ValueError, "the job failed"):
            raises()
    self.assertEmpty(done)  # what came after the error is dropped
    self.assertFalse(work._thread.is_alive())

  def test_an_error_nobody_asked_for_is_raised_at_the_end(self):
    with self.assertRaisesRegex(ValueError, "the job failed"):
      with worker.Worker("test") as work:
        work.do(_fail)

  def test_an_error_frees_who_waits_to_give_a_job(self):
    gate = threading.Event()

    def fail_later() -> None:
      gate.wait(_TIMEOUT_S)
      _fail()

    with self.assertRaisesRegex(ValueError, "the job failed"):
      with worker.Worker("test", most=1) as work:
        work.do(fail_later)
        threading.Timer(0.05, gate.set).start()
        for _ in range(10):  # more than there is room for
          work.do(lambda: None)

  def test_who_gives_one_job_too_many_waits(self):
    gate, given = threading.Event(), []
    with worker.Worker("test", most=2) as work:

      def give() -> None:
        for i in range(5):
          work.do(lambda: gate.wait(_TIMEOUT_S))
          given.append(i)

      giver = threading.Thread(target=give)
      giver.start()
      time.sleep(0.05)
      self.assertLessEqual(len(given), 3)  # one at work, two that wait
      gate.set()
      giver.join(_TIMEOUT_S)
      self.assertLen(given, 5)

  def test_after_an_error_of_the_giver_what_waits_is_dropped(self):
    done, gate = [], threading.Event()
    with self.assertRaises(KeyboardInterrupt):
      with worker.Worker("test", most=2) as work:
        work.do(lambda: gate.wait(_TIMEOUT_S))
        while work._jobs.qsize():  # until it is at work
          time.sleep(0.001)
        for i in range(2):  # no room is left
          work.do(lambda i=i: done.append(i))
        threading.Timer(0.05, gate.set).start()
        raise KeyboardInterrupt
    self.assertEmpty(done)
    self.assertFalse(work._thread.is_alive())

  def test_the_givers_error_is_raised_rather_than_the_jobs(self):
    with self.assertRaises(KeyboardInterrupt):
      with worker.Worker("test") as work:
        work.do(_fail)
        raise KeyboardInterrupt

  def test_a_job_that_is_done_holds_nothing(self):
    class Pixels:
      pass

    pixels = Pixels()
    held = weakref.ref(pixels)
    with worker.Worker("test") as work:
      work.do(lambda pixels=pixels: None)
      del pixels
      work.wait()
      end = time.monotonic() + _TIMEOUT_S
      while held() is not None and time.monotonic() < end:
        time.sleep(0.001)
      self.assertIsNone(held())
