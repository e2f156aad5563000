"""Curves: a panel a corruption, the clean number at the left of each."""

import dataclasses
from unittest import mock

from absl.testing import absltest

from eval.report.reports import classification, video
from tests.eval.report.reports import contexts


class SeverityCurvesTest(absltest.TestCase):
  def test_panels_and_their_clean_number(self):
    context = contexts.of_task("classification", names=("fog", "speckle_noise"))
    figure = classification.REPORTS["severity_curves"].draw(context)
    fog, extra = figure.axes
    self.assertEqual(fog.get_title(loc="left"), "fog\nweather")
    self.assertEqual(extra.get_title(loc="left"), "speckle noise\nnoise, extra")
    line = fog.lines[0]
    clean = context.rows_of["ours", "error"][0]
    self.assertEqual(line.get_xdata()[0], 0)
    self.assertAlmostEqual(line.get_ydata()[0], 100 * clean.value)

  def test_a_corruption_of_ones_own_is_no_extra_one(self):
    context = contexts.of_task("classification", names=("fog",))
    own = dataclasses.replace(context.family.row("fog"), set="own")
    with mock.patch.object(type(context.family), "row", return_value=own):
      figure = classification.REPORTS["severity_curves"].draw(context)
    self.assertEqual(figure.axes[0].get_title(loc="left"), "fog\nweather")
    context = dataclasses.replace(
      context, corruptions=("speckle_noise",), family=context.family
    )
    own = dataclasses.replace(own, name="speckle_noise", group="digital")
    with mock.patch.object(type(context.family), "row", return_value=own):
      figure = classification.REPORTS["severity_curves"].draw(context)
    heading = figure.axes[0].get_title(loc="left")
    self.assertEndsWith(heading, "digital, own")

  def test_nothing_without_corruptions(self):
    context = contexts.of_task("video", names=())
    self.assertIsNone(video.CURVES.draw(context))
