"""What boards have to show."""

import dataclasses

from absl.testing import absltest

from eval.cells.number import Number
from eval.report.pages import view as view_lib
from robust_tfds.conditions import Condition
from tests.eval.report.pages import boards


def _names(metrics) -> list[str]:
  return [metric.name for metric in metrics]


class ViewTest(absltest.TestCase):
  def test_the_number_that_ranks_stands_first(self):
    view = view_lib.View(boards.classification(2))
    self.assertEqual(view.main.name, "mce")
    names = _names(view.headlines)
    self.assertEqual(names[:2], ["mce", "clean_error"])
    self.assertLen(names, 5)

  def test_beside_it_stands_what_was_held_out(self):
    names = ("clean_error", "mce", "held_out_mce")
    numbers = {(name, "", None): Number(0.5) for name in names}
    view = view_lib.View(boards.one(numbers=numbers))
    order = ["mce", "held_out_mce", "clean_error"]
    self.assertEqual(_names(view.headlines), order)

  def test_details_of_the_task_stand_on_boards_the_others_on_pages(self):
    view = view_lib.View(boards.classification(2))
    self.assertEqual(_names(view.board_details), ["mean_error", "ce"])
    self.assertIn("relative_ce", _names(view.details))

  def test_the_main_number_of_cells_is_that_of_corrupted_ones(self):
    self.assertEqual(
      view_lib.View(boards.sequences()).main_cell, "flip_probability"
    )
    self.assertEqual(view_lib.View(boards.detection()).main_cell, "bbox/AP")
    self.assertEqual(view_lib.View(boards.frames()).main_cell, "acc_orig")

  def test_medians_are_of_the_numbers_that_are_there(self):
    board = boards.classification(3)
    clean = Condition()
    values = (0.1, 0.3, 0.7)
    entries = [
      dataclasses.replace(e, cells={**e.cells, clean: {"error": Number(value)}})
      for e, value in zip(board.entries, values)
    ]
    view = view_lib.View(dataclasses.replace(board, entries=entries))
    self.assertEqual(view.medians[clean], 0.3)
    two = view_lib.View(dataclasses.replace(board, entries=entries[:2]))
    self.assertEmpty(two.medians)

  def test_a_board_of_printed_rows_alone(self):
    board = boards.classification(0, printed=2)
    view = view_lib.View(board)
    self.assertEmpty(view.conditions)
    self.assertEqual(view.main_cell, "")
    self.assertEmpty(view.cell_metrics)

  def test_numbers_that_are_no_headlines(self):
    numbers = {("mean_ece", "", None): Number(0.1)}
    view = view_lib.View(boards.one(numbers=numbers))
    self.assertEqual(_names(view.other_metrics), ["mean_ece"])
    self.assertEqual(view.other_metrics[0].heading, "Mean ECE")

  def test_examples_in_words(self):
    self.assertEqual(view_lib.examples([Number(1.0, n=5000)]), "n = 5,000")
    numbers = [Number(1.0, n=10), None, Number(1.0, n=7), Number(1.0)]
    self.assertEqual(view_lib.examples(numbers), "n from 7 to 10")
    self.assertEqual(view_lib.examples([None]), "")

  def test_equal_notes_are_one(self):
    numbers = {
      "a": Number(None, note="missing: fog 3"),
      "b": Number(0.1),
      "c": Number(None, note="missing: fog 3"),
    }
    self.assertEqual(view_lib.notes(numbers), {"missing: fog 3": ["a", "c"]})
