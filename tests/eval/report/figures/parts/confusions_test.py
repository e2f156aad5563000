"""Which cells a confusion shows, and its counts."""

import dataclasses

import numpy as np
import pytest
from absl.testing import parameterized

from eval.report.figures.parts import confusions, own
from robust_tfds import errors
from tests.eval.report.figures import boards, lines


class ConfusionsTest(parameterized.TestCase):
  def lines(self, name, condition=""):
    request = boards.request("video")
    return lines.of(name, dataclasses.replace(request, condition=condition))

  @parameterized.parameters("schiappa_f8", "schiappa_f21")
  @pytest.mark.slow
  def test_a_condition_can_be_chosen(self, name):
    shown = self.lines(name, "jumbling_2")
    cells = {(x["perturbation"], x["severity"]) for x in shown}
    self.assertEqual(cells, {("clean", 0), ("jumbling", 2)})

  def test_the_worst_one_by_default(self):
    shown = self.lines("schiappa_f21")
    self.assertEqual({x["severity"] for x in shown}, {0, 5})

  def test_counts(self):
    shown = self.lines("schiappa_f21", "jumbling_1")
    ours = [x for x in shown if x["model"] == "ours" and x["severity"] == 1]
    of_first = {x["predicted"]: x for x in ours if x["true"] == "cat_0"}
    self.assertEqual(of_first["dog"]["videos"], 1)
    self.assertEqual(of_first["dog"]["share of the true class"], 0.5)
    self.assertEqual(sum(x["videos"] for x in ours), 6)

  def test_an_unknown_condition_is_refused(self):
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'jumbling_5'"):
      self.lines("schiappa_f8", "jumblin_5")

  def test_cells_of_a_model(self):
    request = boards.request("video")
    model = own.from_boards(request.boards)[1]
    pairs = confusions.model_pairs(request, model)
    self.assertLen(pairs, 11)
    self.assertEqual({k[0] for k in pairs}, {"base"})
    self.assertEqual(
      confusions.chosen(pairs, "shot_noise_4"), ("shot_noise", 4)
    )
    self.assertIn(confusions.lowest(pairs), ("shot_noise_5", "jumbling_5"))

  def test_nothing_perturbed(self):
    self.assertEqual(confusions.lowest({("a", "", 0): np.zeros((1, 2))}), "")
