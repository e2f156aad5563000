"""The table of a board: ranks, states, sources, intervals."""

import dataclasses
import re

from absl.testing import absltest

from robust_tfds.eval.compare.boards.board import Number
from robust_tfds.eval.site import board_table
from robust_tfds.eval.site import layout as layout_lib
from robust_tfds.eval.site import view as view_lib
from tests.eval.site import boards, html_check


def _table(board):
  layout = layout_lib.Layout.of([board])
  return board_table.BoardTable(
    view_lib.View(board), layout, layout.board(board)
  )


class BoardTableTest(absltest.TestCase):
  def test_a_row_an_entry_in_order(self):
    board = boards.classification(5, printed=2)
    table = _table(board)
    text = table.table()
    references = table.reference_list()
    self.assertEmpty(html_check.Page(text + references).faults)
    labels = re.findall(r'<th scope="row"><a [^>]*><bdi>([^<]*)', text)
    self.assertEqual(labels, [e.label for e in board.entries])

  def test_ranks_stand_with_their_ranges(self):
    text = _table(boards.classification(3)).table()
    found = re.findall(r"<td class=rank>(\d)<i>(\d–\d)</i>", text)
    self.assertEqual(found, [("1", "1–2"), ("2", "1–3"), ("3", "2–3")])

  def test_states_are_words(self):
    text = _table(boards.awkward()).table()
    states = re.findall(r'<span class="state">([^<]*)', text)
    self.assertEqual(
      states, ["trained on test conditions", "partial", "printed"]
    )
    page = html_check.Page(text)
    self.assertIn("missing: fog 3, fog 4 (2 of 75)", page.text)
    self.assertIn("trained on gaussian_noise, <b>fog</b>", page.text)
    tokens = re.findall(r'<tr data-s="([^"]*)"', text)
    self.assertIn("whole ranked ours", tokens)
    self.assertEqual(tokens[-3:], ["seen ours", "partial ours", "printed"])

  def test_printed_rows_share_their_source_and_remark(self):
    table = _table(boards.classification(1, printed=3))
    self.assertLen(table.references, 2)
    page = html_check.Page(table.table() + table.reference_list())
    self.assertEmpty(page.faults)
    self.assertEqual(page.links.count("#reference-1"), 3)
    self.assertEqual(page.links.count("#reference-2"), 3)
    self.assertEqual(page.text.count("Its protocol is another one"), 1)

  def test_a_remark_of_one_row_stands_there(self):
    table = _table(boards.awkward())
    self.assertLen(table.references, 1)  # the source of the printed row
    self.assertIn("missing: fog 3, fog 4", table.table())

  def test_whiskers_span_the_table(self):
    board = boards.classification(2)
    numbers = [Number(0.2, 0.1, 0.4), Number(0.8, 0.7, 0.9)]
    entries = [
      dataclasses.replace(e, numbers={("mce", "", None): n})
      for e, n in zip(board.entries, numbers)
    ]
    text = _table(dataclasses.replace(board, entries=entries)).table()
    # 132 px wide, 5 px at the edges, in halves: 0.1 at 10, 0.9 at 254.
    self.assertEqual(
      re.findall(r'class=l d="([^"]*)"', text), ["M10 18l92 0", "M193 18l61 0"]
    )

  def test_the_scale_of_the_whiskers_is_named(self):
    board = boards.classification(1)
    numbers = {("mce", "", None): Number(0.8, 0.71, 0.9)}
    entry = dataclasses.replace(board.entries[0], numbers=numbers)
    text = _table(dataclasses.replace(board, entries=[entry])).table()
    self.assertIn("Interval <small>71 to 90</small>", text)

  def test_nothing_is_ranked(self):
    board = dataclasses.replace(boards.classification(1), ranked_by="")
    self.assertIn("Nothing is ranked", _table(board).table())

  def test_no_numbers_at_all(self):
    board = boards.classification(1)
    entry = dataclasses.replace(board.entries[0], numbers={}, rank=None)
    text = _table(dataclasses.replace(board, entries=[entry])).table()
    self.assertEmpty(html_check.Page(text).faults)


if __name__ == "__main__":
  absltest.main()
