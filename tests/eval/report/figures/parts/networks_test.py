"""Numbers of networks: as printed, and of runs."""

import math

from absl.testing import absltest

from eval.report.figures.parts import networks, own, printed
from tests.eval.report.figures import boards

_CE = ("ce", "shot_noise")


class NetworksTest(absltest.TestCase):
  def test_printed(self):
    rows = printed.table("hendrycks2019", "figure5")
    resnet, *_ = networks.printed(rows)
    self.assertEqual((resnet.label, resnet.value(*_CE)), ("ResNet-50", 0.816))
    self.assertEqual(resnet.source, rows[0].source)
    self.assertTrue(math.isnan(resnet.value("mce", "")))
    line = ["ResNet-50", *_CE, 0.816, None, None, "printed"]
    self.assertIn(line, networks.printed(rows, "printed")[0].lines())

  def test_of_runs_those_that_have_a_number(self):
    models = own.from_boards([boards.normalised("classification")])
    ours, base = networks.from_runs(models, [_CE, ("fr", "tilt")])
    self.assertEqual(ours.numbers, {_CE: models[0].number(*_CE)})
    self.assertEqual(base.source, models[1].source)
    self.assertEmpty(networks.from_runs(models, [("fr", "tilt")]))
