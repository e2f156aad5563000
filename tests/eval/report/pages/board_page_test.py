"""A board's page: what is on it, for every kind of board."""

import dataclasses
import re

from absl.testing import absltest, parameterized

from robust_tfds.eval.compare.boards.board import Number
from robust_tfds.eval.site import board_page
from robust_tfds.eval.site import layout as layout_lib
from robust_tfds.eval.site import view as view_lib
from tests.eval.site import boards, html_check

_ALL = boards.several()


def _page(board, others=()) -> html_check.Page:
  layout = layout_lib.Layout.of([board, *others])
  return html_check.Page(board_page.of(view_lib.View(board), layout).html())


class BoardPageTest(parameterized.TestCase):
  @parameterized.parameters(*range(len(_ALL)))
  def test_every_kind_of_board(self, place):
    board = _ALL[place]
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
    board = boards.classification(2)
    note = "missing: fog <3>"
    entries = [
      dataclasses.replace(
        e, numbers={**e.numbers, ("mce", "", None): Number(None, note=note)}
      )
      for e in board.entries
    ]
    text = _page(dataclasses.replace(board, entries=entries)).text
    self.assertIn(f"{note}: mCE of {entries[0].label}, mCE of", text)

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


if __name__ == "__main__":
  absltest.main()
