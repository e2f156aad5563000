"""The first page: every board, every model, what differs."""

from absl.testing import absltest

from eval.report.pages import index_page, layout
from eval.report.pages import view as view_lib
from tests.eval.report.pages import boards, html_check


def _page(listed) -> html_check.Page:
  views = [view_lib.View(board) for board in listed]
  return html_check.Page(index_page.html(views))


class IndexPageTest(absltest.TestCase):
  def test_every_board_and_model_is_linked(self):
    listed = boards.several()
    page = _page(listed)
    self.assertEmpty(page.faults)
    for board in listed:
      self.assertIn(layout.board(board), page.links)
      for entry in board.entries:
        self.assertIn(layout.model(entry), page.links)

  def test_boards_of_a_data_set_are_headed_by_what_differs(self):
    listed = boards.several()[:2]
    text = _page(listed).text
    self.assertIn("2 boards: these runs are not of the same data", text)
    self.assertIn("BoardFirstCodecMadeEntries", text)
    self.assertIn("rawbeforehand, a prepared set", text)

  def test_tasks_have_parts_of_their_own(self):
    page = _page(boards.several())
    self.assertEqual([n for n, _ in page.elements].count("h2"), 6)

  def test_counts(self):
    text = _page([boards.classification(1, printed=2)]).text
    self.assertIn("1 board, 1 model of our runs, 2 printed rows.", text)

  def test_rows_say_task_and_corruptions(self):
    page = _page([boards.detection()])
    rows = [a for n, a in page.elements if n == "tr" and "data-t" in a]
    self.assertEqual(rows[0]["data-t"], "detection")
    self.assertIn("fog", rows[0]["data-c"].split())
    self.assertIn("group:noise", rows[0]["data-c"].split())

  def test_what_can_be_chosen(self):
    page = _page([boards.detection()])
    values = [a["value"] for name, a in page.elements if name == "option"]
    self.assertEqual(values[:3], ["", "detection", ""])
    self.assertIn("fog", values)

  def test_what_was_held_out_stands_beside_the_number_that_ranks(self):
    names = ("mce", "held_out_mce")
    numbers = {(name, "", None): boards.number(0.5) for name in names}
    text = _page([boards.one(numbers=numbers)]).text
    shown = "50.0 % (49.4–50.6)"
    self.assertIn(f"mCE {shown}, mCE (not trained on) {shown}", text)

  def test_nothing_ranked(self):
    self.assertIn("nothing is ranked", _page([boards.one(rank=None)]).text)

  def test_no_boards(self):
    page = _page([])
    self.assertEmpty(page.faults)
    self.assertIn("0 boards", page.text)
