"""A board's page: what is on it, for every kind of board."""

import dataclasses
import re

from absl.testing import absltest

from eval.cells.number import Number
from eval.report.pages import board_page
from eval.report.pages import view as view_lib
from tests.eval.report.pages import boards, html_check

_ALL = boards.several()


def _html(board, others=()) -> str:
  return board_page.html(view_lib.View(board), [board, *others])


def _page(board, others=()) -> html_check.Page:
  return html_check.Page(_html(board, others))


def _table(board) -> str:
  """The markup of the table of the models."""
  return re.search('<table class="board.*?</table>', _html(board), re.S)[0]


def _values(page) -> list[str]:
  return [a["value"] for name, a in page.elements if name == "option"]


class BoardPageTest(absltest.TestCase):
  def test_every_kind_of_board(self):
    for board in _ALL:
      page = _page(board)
      self.assertEmpty(page.faults)
      for entry in board.entries:
        self.assertIn(entry.label, page.text)
      self.assertIn(board.title, page.text)

  def test_what_differs_and_where_the_others_are(self):
    one, other = _ALL[:2]
    page = _page(one, [other])
    self.assertIn("cannot be compared", page.text)
    self.assertIn("codecjpeg85", page.text)
    self.assertIn("../boards/imagenet-c-raw.html", page.links)
    self.assertNotIn("cannot be compared", _page(boards.detection()).text)

  def test_what_is_not_known_differs_as_well(self):
    board = boards.classification(
      1, differs={"codec": None, "ids": "ab" * 32, "subset": ""}
    )
    text = _page(board).text
    self.assertIn("codecunknownidsabababababab...subsetall examples", text)

  def test_the_heat_map_of_conditions_has_all_of_them(self):
    board = boards.classification(2)
    page = _page(board)
    keys = [
      a["data-k"] for n, a in page.elements if n == "th" and "data-l" in a
    ]
    self.assertEqual(keys, [c.config for c in board.conditions])

  def test_columns_without_a_number_are_left_out(self):
    page = _page(boards.sequences())
    keys = [
      a["data-k"] for n, a in page.elements if n == "th" and "data-l" in a
    ]
    self.assertNotIn("clean", keys)
    self.assertIn("shot_noise_3", keys)

  def test_one_condition_has_no_heat_map(self):
    ids = _page(boards.frames()).ids
    self.assertNotIn("cells", ids)
    self.assertNotIn("by-condition", ids)

  def test_printed_rows_stand_by_corruption_as_well(self):
    page = _page(boards.classification(1, printed=1))
    self.assertLen(re.findall("Printed 0", page.text), 2)

  def test_reasons_of_missing_numbers(self):
    note = "missing: fog <3>"
    mce = {("mce", "", None): Number(None, note=note)}
    board = boards.changed(
      boards.classification(2), lambda e: {"numbers": {**e.numbers, **mce}}
    )
    first = board.entries[0].label
    self.assertIn(f"{note}: mCE of {first}, mCE of", _page(board).text)

  def test_files_are_offered(self):
    page = _page(boards.detection())
    files = [a["href"] for _, a in page.elements if "download" in a]
    self.assertEqual(
      files,
      [f"../boards/coco-c{end}.csv" for end in ("", ".corruptions", ".cells")],
    )

  def test_the_baseline_is_named(self):
    text = _page(boards.classification(1)).text
    self.assertIn("CE and mCE are relative to AlexNet", text)

  def test_a_row_an_entry_in_order(self):
    board = boards.classification(5, printed=2)
    text = _table(board)
    labels = re.findall(r'<th scope="row"><a [^>]*><bdi>([^<]*)', text)
    self.assertEqual(labels, [e.label for e in board.entries])

  def test_ranks_stand_with_their_ranges(self):
    text = _table(boards.classification(3))
    found = re.findall(r"<td class=rank>(\d)<i>(\d–\d)</i>", text)
    self.assertEqual(found, [("1", "1–2"), ("2", "1–3"), ("3", "2–3")])

  def test_states_are_words(self):
    text = _table(boards.awkward())
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
    page = _page(boards.classification(1, printed=3))
    self.assertEmpty(page.faults)
    self.assertEqual(page.links.count("#reference-1"), 3)
    self.assertEqual(page.links.count("#reference-2"), 3)
    self.assertEqual(page.text.count("Its protocol is another one"), 1)

  def test_a_remark_of_one_row_stands_there(self):
    text = _html(boards.awkward())
    self.assertNotIn('id="reference-2"', text)  # the source of the printed row
    self.assertIn("missing: fog 3, fog 4", _table(boards.awkward()))

  def test_whiskers_span_the_table(self):
    numbers = iter([Number(0.2, 0.1, 0.4), Number(0.8, 0.7, 0.9)])
    board = boards.changed(
      boards.classification(2),
      lambda _: {"numbers": {("mce", "", None): next(numbers)}},
    )
    text = _table(board)
    # 132 px wide, 5 px at the edges: 0.1 at 5, 0.9 at 127.
    paths = re.findall(r'<path d="([^"]*)"', text)
    self.assertEqual(paths, ["M5 9H51", "M96 9H127"])
    self.assertEqual(re.findall(r"<circle cx=(\d+)", text), ["20", "112"])

  def test_the_scale_of_the_whiskers_is_named(self):
    numbers = {("mce", "", None): Number(0.8, 0.71, 0.9)}
    text = _table(boards.one(numbers=numbers))
    self.assertIn("Interval <small>71 to 90</small>", text)

  def test_nothing_is_ranked(self):
    board = dataclasses.replace(boards.classification(1), ranked_by="")
    self.assertIn("Nothing is ranked", _table(board))

  def test_no_numbers_at_all(self):
    self.assertEmpty(_page(boards.one(numbers={}, rank=None)).faults)

  def test_what_can_be_chosen(self):
    page = _page(boards.awkward())
    values = _values(page)
    for value in ("ranked", "ours", "partial", "seen", "printed", "fog"):
      self.assertIn(value, values)
    self.assertIn("group:weather", values)
    self.assertEqual(values[-5:], ["1", "2", "3", "4", "5"])
    (form,) = [a for name, a in page.elements if name == "form"]
    self.assertIn("hidden", form)
    names = [name for name, _ in page.elements]
    fields = names.count("input") + names.count("select")
    self.assertEqual(names.count("label"), fields)

  def test_states_that_no_entry_has_are_not_offered(self):
    self.assertNotIn("printed", _values(_page(boards.video())))
