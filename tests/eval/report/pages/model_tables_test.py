"""The tables of an entry's page: values, intervals, n, notes."""

import dataclasses
import re

from absl.testing import absltest

from robust_tfds.conditions import Condition
from robust_tfds.eval.compare.boards.board import Board, Number
from robust_tfds.eval.site import model_tables
from robust_tfds.eval.site import view as view_lib
from tests.eval.site import boards, html_check


def tables(board: Board) -> model_tables.ModelTables:
  """Those of a board's first entry."""
  return model_tables.ModelTables(view_lib.View(board), board.entries[0])


class ModelTablesTest(absltest.TestCase):
  def test_all_cells_with_the_interval_of_the_main_number(self):
    board = boards.classification(1)
    cells = tables(board).cells()
    rows = re.findall(r"<tr><th scope=row>([^<]*)(.*?)(?=<tr>|</tbody>)", cells)
    self.assertLen(rows, len(board.conditions))
    first, numbers = rows[0]
    self.assertEqual(first, "clean")
    number = board.entries[0].cells[Condition()]["error"]
    low, high = 100 * number.lo, 100 * number.hi
    self.assertIn(
      f"<td>{100 * number.value:.1f}<i>{low:.1f}–{high:.1f}</i>", numbers
    )
    self.assertEqual(numbers.count("<td>"), 7)
    self.assertIn("n = 50,000", cells)

  def test_notes_of_cells(self):
    board = boards.classification(1)
    entry = board.entries[0]
    fog = Condition("fog", 3)
    cells = {**entry.cells, fog: {"error": Number(None, note="<no> labels")}}
    entry = dataclasses.replace(entry, cells=cells)
    board = dataclasses.replace(board, entries=[entry])
    page = html_check.Page(tables(board).cells())
    self.assertIn("<no> labels: fog 3, Error, %", page.text)

  def test_difficulties_have_columns_of_their_own(self):
    board = boards.sequences()
    text = html_check.Page(tables(board).corruptions()).text
    self.assertIn("FP, % (difficulty 3)", text)
    self.assertIn("FR, % (difficulty 1)", text)

  def test_one_condition_is_a_list_of_numbers_with_n(self):
    text = html_check.Page(tables(boards.frames()).cells()).text
    self.assertIn("pm-10, k=7, %", text)
    self.assertIn("1,109", text)

  def test_numbers_that_are_no_headlines_are_there(self):
    board = boards.classification(1)
    numbers = {
      **board.entries[0].numbers,
      ("mean_nll", "", None): Number(1.234),
    }
    entry = dataclasses.replace(board.entries[0], numbers=numbers)
    board = dataclasses.replace(board, entries=[entry])
    page = html_check.Page(tables(board).headlines())
    self.assertIn("Mean NLL1.23", page.text)

  def test_nothing_to_show(self):
    board = boards.classification(1)
    entry = dataclasses.replace(board.entries[0], numbers={}, cells={})
    board = dataclasses.replace(board, entries=[entry])
    for section in ("headlines", "corruptions", "cells"):
      self.assertEqual(getattr(tables(board), section)(), "")


if __name__ == "__main__":
  absltest.main()
