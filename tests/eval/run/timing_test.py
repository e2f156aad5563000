"""Where the time went: sums, medians, rates; what is not measured is absent."""

import time
from unittest import mock

from absl.testing import absltest

from eval.run.execution import timing


class StagesTest(absltest.TestCase):
  def test_summary(self):
    stages = timing.Stages()
    for stage, seconds in (
      ("prepare", 1.0),
      ("prepare", 2.0),
      ("compile", 4.0),
      ("wall", 14.0),
      ("read", 2.0),
      ("read", 4.0),
      ("waited", 0.5),
      ("corrupt", 0.1),
      ("corrupt", 0.3),
      ("corrupt", 9.0),
      ("infer a", 0.2),
      ("infer b", 0.3),
    ):
      stages.add(stage, seconds)
    stages.images = 50
    got = stages.summary({"digits_c/clean": (20, 20), "digits_c/b": (10, 20)})
    self.assertEqual(got["prepare_s"], 3.0)
    self.assertEqual(got["corrupt_s"], 0.3)  # the median
    self.assertEqual(got["infer b_s"], 0.3)
    self.assertEqual(got["waited_s"], 0.5)
    self.assertEqual((got["images"], got["rate"]), (50.0, 5.0))
    self.assertEqual(got["input_rate"], 5.0)
    self.assertAlmostEqual(got["device_rate"], 2 / (0.2 + 0.3 + 0.3))
    self.assertEqual(got["reads"], {"digits_c/clean": 1.0, "digits_c/b": 0.5})
    self.assertNotIn("idle_share", got)  # no block was over

  def test_idle_is_the_time_without_work_after_the_first_block(self):
    stages = timing.Stages()
    with mock.patch.object(time, "perf_counter") as clock:

      def at(seconds: float, what) -> None:
        clock.return_value = seconds
        what()

      at(1, stages.count_given)
      at(9, stages.count_fetched)
      at(10, stages.watch)
      at(12, stages.count_given)  # idle from 10 to 12
      at(13, stages.count_given)
      at(15, stages.count_fetched)
      at(18, stages.count_fetched)
      at(19, stages.watch)  # later blocks change nothing
      at(21, stages.count_given)  # idle from 18 to 21
      at(30, stages.count_fetched)
    got = stages.summary({})["idle_share"]
    self.assertAlmostEqual(got, (2 + 3) / (30 - 10))

  def test_where_the_time_went_in_words(self):
    took = {"wall_s": 220.0, "prepare_s": 6.2, "compile_s": 12.0}
    few = {**took, "waited_s": 2.0, "idle_share": 0.09}
    said = (
      "took 4m00s: 6s looking for the data, 14s loading models and scoring, 12s"
      " compiling, 2s waiting for"
    )
    self.assertEqual(
      timing.lines(few, 240.4, "1 × H200", 16),
      [f"{said} pictures, 3m26s on 1 × H200, 91% busy"],
    )
    _, warned = timing.lines({**few, "idle_share": 0.43}, 240.4, "1 × H200", 1)
    self.assertStartsWith(warned, "1 × H200 waited 43% of the time for pic")
    self.assertIn("which 1 core read: more cores", warned)
    short = {"wall_s": 9.0, "waited_s": 6.0}
    self.assertLen(timing.lines(short, 11.0, "2 CPUs", 2), 1)
    block = {"wall_s": 100.0, "compile_s": 90.0, "waited_s": 6.0}
    (line,) = timing.lines(block, 100.0, "2 CPUs", 2)
    self.assertEndsWith(line, "4s on 2 CPUs, 40% busy")
    self.assertEmpty(timing.lines({"score_s": 1.0}, 2.0, "2 CPUs", 2))
