"""Where the time went: sums, medians, rates; what is not measured is absent."""

from absl.testing import absltest

from robust_tfds.eval.run import timing


class StagesTest(absltest.TestCase):
  def test_summary(self):
    stages = timing.Stages()
    for stage, seconds in (
      ("prepare", 1.0),
      ("prepare", 2.0),
      ("compile", 4.0),
      ("wall", 14.0),
      ("corrupt", 0.1),
      ("corrupt", 0.3),
      ("corrupt", 9.0),
      ("infer a", 0.2),
      ("infer b", 0.3),
    ):
      stages.add(stage, seconds)
    stages.images = 50
    got = stages.summary(waited_s=0.5, decoded=30, decoding_s=6.0)
    self.assertEqual(got["prepare_s"], 3.0)
    self.assertEqual(got["corrupt_s"], 0.3)  # the median
    self.assertEqual(got["infer b_s"], 0.3)
    self.assertEqual(got["waited_s"], 0.5)
    self.assertEqual((got["images"], got["rate"]), (50.0, 5.0))
    self.assertEqual(got["input_rate"], 5.0)
    self.assertAlmostEqual(got["device_rate"], 2 / (0.2 + 0.3 + 0.3))

  def test_nothing_measured(self):
    got = timing.Stages().summary(waited_s=0.0, decoded=0, decoding_s=0.0)
    self.assertEqual(got, {"waited_s": 0.0})


if __name__ == "__main__":
  absltest.main()
