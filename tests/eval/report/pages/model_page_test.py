"""An entry's page: all numbers, facts, notes."""

import re

from absl.testing import absltest

from eval.cells.number import Number
from eval.report.pages import entry_charts, model_page
from eval.report.pages import view as view_lib
from robust_tfds.conditions import Condition
from tests.eval.report.pages import boards, html_check


def _html(board, entry) -> str:
  view = view_lib.View(board)
  return model_page.html(view, entry, entry_charts.SeverityCharts(view))


def _page(board, place=0) -> html_check.Page:
  return html_check.Page(_html(board, board.entries[place]))


class ModelPageTest(absltest.TestCase):
  def test_every_kind_of_entry(self):
    for board, entry in ((b, e) for b in boards.several() for e in b.entries):
      page = html_check.Page(_html(board, entry))
      self.assertEmpty(page.faults)
      self.assertIn(entry.label, page.text)
      self.assertNotIn("script", [name for name, _ in page.elements])

  def test_rank_and_its_range_in_words(self):
    board = boards.classification(4)
    text = _page(board, 1).text
    self.assertIn("Rank 2 of 4 by mCE; the data leave ranks 1 to 3 open.", text)
    self.assertIn("seed ", text)

  def test_states_in_words(self):
    board = boards.awkward()
    page = _page(board, -2)
    self.assertIn("Partial. missing: fog 3, fog 4 (2 of 75)", page.text)
    self.assertIn("Not ranked.", page.text)
    printed = _page(board, -1)
    self.assertIn("Printed.", printed.text)
    self.assertIn("Source: Hendrycks & Dietterich 2019", printed.text)

  def test_what_nobody_says_of_training_is_said(self):
    facts = {"name": "x", "trained_on": None, "corruptions_seen": None}
    board = boards.one(model_facts=facts)
    text = " ".join(_page(board).texts)
    self.assertIn("trained on not stated", text)
    self.assertIn("corruptions seen not stated", text)

  def test_missing_facts_are_named(self):
    text = _page(boards.classification(1)).text
    self.assertIn("Unknown: classes, sha256.", text)
    self.assertIn("trained onImageNet-1k, training split", text)

  def test_all_cells_with_the_interval_of_the_main_number(self):
    board = boards.classification(1)
    html = _html(board, board.entries[0])
    cells = html[html.index("All cells") :]
    rows = re.findall(r"<tr><th scope=row>([^<]*)(.*?)(?=<tr>|</tbody>)", cells)
    self.assertLen(rows, len(board.conditions))
    first, shown = rows[0]
    self.assertEqual(first, "clean")
    number = board.entries[0].cells[Condition()]["error"]
    low, high = 100 * number.lo, 100 * number.hi
    self.assertIn(
      f"<td>{100 * number.value:.1f}<i>{low:.1f}–{high:.1f}</i>", shown
    )
    self.assertEqual(shown.count("<td>"), 7)
    self.assertIn("n = 50,000", cells)

  def test_notes_of_cells(self):
    fog = {Condition("fog", 3): {"error": Number(None, note="<no> labels")}}
    board = boards.changed(
      boards.classification(1), lambda e: {"cells": {**e.cells, **fog}}
    )
    self.assertIn("<no> labels: fog 3, Error, %", _page(board).text)

  def test_difficulties_have_columns_of_their_own(self):
    text = _page(boards.sequences()).text
    self.assertIn("FP, % (difficulty 3)", text)
    self.assertIn("FR, % (difficulty 1)", text)

  def test_one_condition_is_a_list_of_numbers_with_n(self):
    text = _page(boards.frames()).text
    self.assertRegex(text, r"pm-10, k=7, %[\d.]+–[\d.]+\.\d20\n")

  def test_numbers_that_are_no_headlines_are_there(self):
    numbers = {("mean_nll", "", None): Number(1.234)}
    self.assertIn("Mean NLL1.23", _page(boards.one(numbers=numbers)).text)

  def test_nothing_to_show(self):
    page = _page(boards.one(numbers={}, cells={}))
    self.assertEmpty(page.faults)
    for title in ("The benchmark", "By corruption", "All cells", "curves"):
      self.assertNotIn(title, page.text)
