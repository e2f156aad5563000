"""Reliability diagrams: pools add up, bars are where accuracies are."""

from absl.testing import absltest

from eval.metrics.calibration import Bins
from eval.report.pages import reliability
from robust_tfds import conditions
from robust_tfds.conditions import Condition

_ONE = Bins([10, 0, 30], [0.2, None, 0.9], [0.1, None, 0.5])
_OTHER = Bins([30, 5, 10], [0.3, 0.5, 0.8], [0.3, 0.4, 0.9])


class ReliabilityTest(absltest.TestCase):
  def test_clean_and_every_level_without_extra_corruptions(self):
    family = conditions.PICTURES
    cells = {
      Condition(): _ONE,
      Condition("fog", 2): _ONE,
      Condition("snow", 2): _OTHER,
      Condition("spatter", 2): _OTHER,
      Condition("fog", 5): _OTHER,
    }
    drawn = reliability.diagrams(cells, family)
    names = [picture.name for picture in drawn]
    self.assertEqual(names, ["Clean", "Severity 2", "Severity 5"])
    # (40 x 0.025 + 5 x 0.1 + 40 x 0.275) / 85, over the bins of both.
    self.assertEqual(drawn[1].small, "ECE 14.7 %, n = 85")

  def test_bars_have_the_height_of_the_accuracy(self):
    (drawn,) = reliability.diagrams({Condition(): _ONE}, conditions.PICTURES)
    (bars,) = [data for class_, data, _ in drawn.paths if class_ == "r"]
    # The side is 136 px: 10 % and 50 % of it in halves of a pixel.
    self.assertRegex(bars, r"v-27M.*v-136$")

  def test_nothing_known(self):
    self.assertEmpty(reliability.diagrams({}, conditions.PICTURES))
    empty = {Condition(): Bins([0], [None], [None])}
    self.assertEmpty(reliability.diagrams(empty, conditions.PICTURES))
