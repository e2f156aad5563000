"""P, mPC and rPC of arrays of AP against the metric of numbers."""

import numpy as np
from absl.testing import absltest

from eval.metrics import detection
from eval.tasks.headlines import headlines, precision_headlines
from robust_tfds import conditions
from robust_tfds.conditions import Condition

_FAMILY = conditions.PICTURES
_NAMES = _FAMILY.names()


def _cells(metrics=("bbox/AP",), names=_NAMES):
  rng = np.random.default_rng(0)
  shown = [Condition(n, s) for n in names for s in conditions.SEVERITIES]
  return {
    c: {m: headlines.value_alone(rng.uniform(0.1, 0.5)) for m in metrics}
    for c in [Condition(), *shown]
  }


def _numbers(cells):
  listed = precision_headlines.headlines(cells)
  return {
    key: float(number.value)
    for key, number in headlines.numbers(listed, cells, {}).items()
  }


class PrecisionHeadlinesTest(absltest.TestCase):
  def test_what_the_metric_says(self):
    cells = _cells()
    got = _numbers(cells)
    ap = {c: float(of["bbox/AP"].value) for c, of in cells.items()}
    rows = {
      n: [ap[Condition(n, s)] for s in conditions.SEVERITIES]
      for n in _FAMILY.names()
    }
    for suffix, scope in (("", "benchmark"), ("_all", "all")):
      want = detection.summarize(rows, ap[Condition()], scope)
      self.assertAlmostEqual(got[f"mpc{suffix}", "", None], want["mpc"])
      self.assertAlmostEqual(got[f"rpc{suffix}", "", None], want["rpc"])
    self.assertEqual(got["p", "", None], want["p"])
    self.assertAlmostEqual(got["mean_ap", "fog", None], np.mean(rows["fog"]))
    self.assertNotIn(("rpc_validation", "", None), got)

  def test_masks_beside_boxes_and_ap50_where_there_is_no_ap(self):
    got = _numbers(_cells(("bbox/AP50", "bbox/AR1", "segm/AP50", "segm/AP")))
    self.assertIn(("segm/mpc", "", None), got)
    self.assertEqual(
      got["p", "", None],
      float(_cells(("bbox/AP50",))[Condition()]["bbox/AP50"].value),
    )

  def test_the_15_alone_do_not_ask_for_19(self):
    cells = _cells(names=_FAMILY.names("common"))
    asked = [
      h.metric
      for h in precision_headlines.headlines(cells)
      if h.is_asked(cells)
    ]
    self.assertIn("mpc", asked)
    self.assertNotIn("mpc_all", asked)
    self.assertNotIn("segm/p", asked)
