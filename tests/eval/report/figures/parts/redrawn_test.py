"""Figures of reports over boards: the same rows under the figure's name."""

import pathlib

from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.eval.report import figures
from robust_tfds.eval.report.figures.parts import own, redrawn
from tests.eval.report.figures import boards


class RedrawnTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.request = boards.request("video")
    self.models = own.of(self.request.boards)

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

  def test_files_have_the_figures_name(self):
    (sixteen,) = figures.select("schiappa_f16")
    files = sixteen.draw(self.request, self.folder)
    self.assertCountEqual(
      [f.name for f in files],
      [f"schiappa_f16.{s}" for s in ("png", "svg", "csv")],
    )

  def test_nothing_to_draw_is_refused_and_says_what_it_needs(self):
    (ten,) = figures.select("schiappa_f10")
    (board,) = self.request.boards
    for entry in board.runs:
      for numbers in entry.cells.values():
        numbers.clear()
    with self.assertRaisesRegex(
      errors.UserError, "cannot.* needs .* UCF101-DS"
    ):
      ten.draw(self.request, self.folder)

  def test_numbers_of_a_figure(self):
    lines = redrawn.numbers(self.models, lambda r: r.metric == "clean_accuracy")
    self.assertEqual([x[0] for x in lines], ["ours", "base"])
    path = redrawn.numbers_sheet(lines).write_csv(self.folder, "fig")
    self.assertIn("own run made_up, digits_c", path.read_text("utf-8"))


if __name__ == "__main__":
  absltest.main()
