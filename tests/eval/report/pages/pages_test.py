"""Pages: what is on the index, on a board, on a model's page; the whole site."""

import pathlib
import posixpath
import re

import pytest
from absl.testing import absltest

from eval.cells.number import Number
from eval.metrics import definitions
from eval.report.pages import (
  board_page,
  entry_charts,
  index_page,
  layout,
  model_page,
  site,
)
from eval.report.pages import view as view_lib
from robust_tfds import errors
from robust_tfds.conditions import Condition
from tests.eval.report.pages import boards, html_check

_ALL = boards.several()


def _board_page_html(board, others=()) -> str:
  return board_page.html(view_lib.View(board), [board, *others])


def _board_page_page(board, others=()) -> html_check.Page:
  return html_check.Page(_board_page_html(board, others))


def _table(board) -> str:
  """The markup of the table of the models."""
  return re.search(
    '<table class="board.*?</table>', _board_page_html(board), re.S
  )[0]


def _values(page) -> list[str]:
  return [a["value"] for name, a in page.elements if name == "option"]


class BoardPageTest(absltest.TestCase):
  def test_every_kind_of_board(self):
    for board in _ALL:
      page = _board_page_page(board)
      self.assertEmpty(page.faults)
      for entry in board.entries:
        self.assertIn(entry.label, page.text)
      self.assertIn(board.title, page.text)

  def test_what_differs_and_where_the_others_are(self):
    one, other = _ALL[:2]
    page = _board_page_page(one, [other])
    self.assertIn("cannot be compared", page.text)
    self.assertIn("codecjpeg85", page.text)
    self.assertIn("../boards/imagenet-c-raw.html", page.links)
    self.assertNotIn(
      "cannot be compared", _board_page_page(boards.detection()).text
    )

  def test_what_is_not_known_differs_as_well(self):
    board = boards.classification(
      1, differs={"codec": None, "ids": "ab" * 32, "subset": ""}
    )
    text = _board_page_page(board).text
    self.assertIn("codecunknownidsabababababab...subsetall examples", text)

  def test_the_heat_map_of_conditions_has_all_of_them(self):
    board = boards.classification(2)
    page = _board_page_page(board)
    keys = [
      a["data-k"] for n, a in page.elements if n == "th" and "data-l" in a
    ]
    self.assertEqual(keys, [c.config for c in board.conditions])

  def test_one_condition_has_no_heat_map(self):
    ids = _board_page_page(boards.frames()).ids
    self.assertNotIn("cells", ids)
    self.assertNotIn("by-condition", ids)

  def test_reasons_of_missing_numbers(self):
    note = "missing: fog <3>"
    mce = {("mce", "", None): Number(None, note=note)}
    board = boards.changed(
      boards.classification(2), lambda e: {"numbers": {**e.numbers, **mce}}
    )
    first = board.entries[0].label
    self.assertIn(
      f"{note}: mCE of {first}, mCE of", _board_page_page(board).text
    )

  def test_files_are_offered(self):
    page = _board_page_page(boards.detection())
    files = [a["href"] for _, a in page.elements if "download" in a]
    self.assertEqual(
      files,
      [f"../boards/coco-c{end}.csv" for end in ("", ".numbers")],
    )

  def test_the_baseline_is_named(self):
    text = _board_page_page(boards.classification(1)).text
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
    page = _board_page_page(boards.classification(1, printed=3))
    self.assertEmpty(page.faults)
    self.assertEqual(page.links.count("#reference-1"), 3)
    self.assertEqual(page.links.count("#reference-2"), 3)
    self.assertEqual(page.text.count("Its protocol is another one"), 1)

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

  def test_no_numbers_at_all(self):
    self.assertEmpty(_board_page_page(boards.one(numbers={}, rank=None)).faults)

  def test_what_can_be_chosen(self):
    page = _board_page_page(boards.awkward())
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


def _index_page_page(listed) -> html_check.Page:
  views = [view_lib.View(board) for board in listed]
  return html_check.Page(index_page.html(views))


class IndexPageTest(absltest.TestCase):
  def test_every_board_and_model_is_linked(self):
    listed = boards.several()
    page = _index_page_page(listed)
    self.assertEmpty(page.faults)
    for board in listed:
      self.assertIn(layout.board(board), page.links)
      for entry in board.entries:
        self.assertIn(layout.model(entry), page.links)

  def test_boards_of_a_data_set_are_headed_by_what_differs(self):
    listed = boards.several()[:2]
    text = _index_page_page(listed).text
    self.assertIn("2 boards: these runs are not of the same data", text)
    self.assertIn("BoardFirstCodecMadeEntries", text)
    self.assertIn("rawbeforehand, a prepared set", text)

  def test_rows_say_task_and_corruptions(self):
    page = _index_page_page([boards.detection()])
    rows = [a for n, a in page.elements if n == "tr" and "data-t" in a]
    self.assertEqual(rows[0]["data-t"], "detection")
    self.assertIn("fog", rows[0]["data-c"].split())
    self.assertIn("group:noise", rows[0]["data-c"].split())

  def test_what_was_held_out_stands_beside_the_number_that_ranks(self):
    names = ("mce", "held_out_mce")
    numbers = {(name, "", None): boards.number(0.5) for name in names}
    text = _index_page_page([boards.one(numbers=numbers)]).text
    shown = "50.0 % (49.4–50.6)"
    self.assertIn(f"mCE {shown}, mCE (not trained on) {shown}", text)

  def test_nothing_ranked(self):
    self.assertIn(
      "nothing is ranked", _index_page_page([boards.one(rank=None)]).text
    )

  def test_no_boards(self):
    page = _index_page_page([])
    self.assertEmpty(page.faults)
    self.assertIn("0 boards", page.text)


def _model_page_html(board, entry) -> str:
  view = view_lib.View(board)
  return model_page.html(view, entry, entry_charts.SeverityCharts(view))


def _model_page_page(board, place=0) -> html_check.Page:
  return html_check.Page(_model_page_html(board, board.entries[place]))


class ModelPageTest(absltest.TestCase):
  def test_every_kind_of_entry(self):
    for board, entry in ((b, e) for b in boards.several() for e in b.entries):
      page = html_check.Page(_model_page_html(board, entry))
      self.assertEmpty(page.faults)
      self.assertIn(entry.label, page.text)
      self.assertNotIn("script", [name for name, _ in page.elements])

  def test_rank_and_its_range_in_words(self):
    board = boards.classification(4)
    text = _model_page_page(board, 1).text
    self.assertIn("Rank 2 of 4 by mCE; the data leave ranks 1 to 3 open.", text)
    self.assertIn("seed ", text)

  def test_states_in_words(self):
    board = boards.awkward()
    page = _model_page_page(board, -2)
    self.assertIn("Partial. missing: fog 3, fog 4 (2 of 75)", page.text)
    self.assertIn("Not ranked.", page.text)
    printed = _model_page_page(board, -1)
    self.assertIn("Printed.", printed.text)
    self.assertIn("Source: Hendrycks & Dietterich 2019", printed.text)

  def test_what_nobody_says_of_training_is_said(self):
    facts = {"name": "x", "trained_on": None, "corruptions_seen": None}
    board = boards.one(model_facts=facts)
    text = " ".join(_model_page_page(board).texts)
    self.assertIn("trained on not stated", text)
    self.assertIn("corruptions seen not stated", text)

  def test_missing_facts_are_named(self):
    text = _model_page_page(boards.classification(1)).text
    self.assertIn("Unknown: classes, sha256.", text)
    self.assertIn("trained onImageNet-1k, training split", text)

  def test_all_cells_with_the_interval_of_the_main_number(self):
    board = boards.classification(1)
    html = _model_page_html(board, board.entries[0])
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
    self.assertIn("<no> labels: fog 3, Error, %", _model_page_page(board).text)

  def test_difficulties_have_columns_of_their_own(self):
    text = _model_page_page(boards.sequences()).text
    self.assertIn("FP, % (difficulty 3)", text)
    self.assertIn("FR, % (difficulty 1)", text)

  def test_nothing_to_show(self):
    page = _model_page_page(boards.one(numbers={}, cells={}))
    self.assertEmpty(page.faults)
    for title in ("The benchmark", "By corruption", "All cells", "curves"):
      self.assertNotIn(title, page.text)


_MOST_BYTES = 5_000_000


class SiteTest(absltest.TestCase):
  def _write(self, listed) -> pathlib.Path:
    folder = pathlib.Path(self.create_tempdir().full_path) / "new" / "site"
    paths = site.write(listed, folder)
    self.assertEqual(paths[0].name, "index.html")
    files = {p for p in folder.rglob("*") if p.is_file()}
    self.assertEqual({pathlib.Path(p) for p in paths}, files)
    self.assertLen(paths, len(files))
    return folder

  def test_no_link_leads_nowhere_and_every_page_is_reached(self):
    folder = self._write(boards.several())
    ids, links = {}, {}
    for path in folder.rglob("*.html"):
      page = html_check.Page(path.read_text("utf-8"))
      self.assertEmpty(page.faults, path)
      name = path.relative_to(folder).as_posix()
      ids[name], links[name] = page.ids, page.links
    seen = {"index.html"}
    for start, of_page in links.items():
      for link in of_page:
        target, _, mark = link.partition("#")
        place = posixpath.normpath(
          posixpath.join(posixpath.dirname(start), target)
        )
        if not target:
          continue
        self.assertTrue((folder / place).is_file(), f"{start}: {link}")
        if mark:
          self.assertIn(mark, ids[place], f"{start}: {link}")
        seen.add(place)
    self.assertEqual(
      seen, {p.relative_to(folder).as_posix() for p in folder.rglob("*.*")}
    )

  @pytest.mark.slow
  def test_a_hundred_models_of_96_conditions_are_small(self):
    board = boards.classification(100)
    self.assertGreaterEqual(len(board.conditions), 96)
    folder = self._write([board])
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    self.assertLess(size, _MOST_BYTES)

  def test_equal_boards_write_equal_bytes(self):
    one, other = (
      self._write([boards.classification(2), boards.frames()]) for _ in range(2)
    )
    for path in one.rglob("*.*"):
      twin = other / path.relative_to(one)
      self.assertEqual(path.read_bytes(), twin.read_bytes(), path)

  def test_all_definitions_are_there(self):
    page = html_check.Page(site.definitions_page())
    self.assertEmpty(page.faults)
    for topic in definitions.topics():
      for metric in topic.metrics:
        self.assertIn(definitions.anchor(topic, metric), page.ids)
        for text in (metric.words, metric.formula, metric.source):
          self.assertIn(text, page.text)

  def test_a_folder_that_cannot_be_written(self):
    file = self.create_tempfile().full_path
    with self.assertRaisesRegex(errors.UserError, "folder belongs"):
      site.write([boards.frames()], file)
