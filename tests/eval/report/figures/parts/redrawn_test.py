"""Figures of reports over boards: the same rows under the figure's name."""

from absl.testing import absltest

from eval.report.figures.parts import own, redrawn
from tests.eval.report.figures import boards


class RedrawnTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.request = boards.request("video")
    self.models = own.from_boards(self.request.boards)

  def test_context(self):
    told = redrawn.context(self.request, self.models, baseline="x")
    self.assertEqual(told.models, ["ours", "base"])
    self.assertEqual(told.corruptions, ["shot_noise", "jumbling"])
    self.assertEqual(told.class_names, ["cat_0", "dog", "newt"])
    self.assertEqual(told.provenance, ["own runs: made_up (digits_c)"])
    self.assertEqual(told.baseline, "x")

  def test_rows_are_the_entrys_numbers(self):
    model = self.models[0]
    rows = redrawn.rows(model)
    count = len(model.entry.numbers)
    count += sum(map(len, model.entry.cells.values()))
    self.assertLen(rows, count)
    (row,) = [
      r for r in rows if r.config == "jumbling_3" and r.metric == "accuracy"
    ]
    self.assertEqual((row.corruption, row.severity), ("jumbling", 3))

  def test_numbers_of_a_figure(self):
    lines = redrawn.numbers(self.models, lambda r: r.metric == "clean_accuracy")
    self.assertEqual([x[0] for x in lines], ["ours", "base"])
    self.assertEqual({x[-1] for x in lines}, {"own run made_up, digits_c"})
