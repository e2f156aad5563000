"""CSV files: all numbers, safe in spreadsheets."""

import csv
import io

from absl.testing import absltest

from eval.cells import formulas
from eval.cells.number import Number
from eval.report.pages import csv_files
from eval.report.pages import view as view_lib
from robust_tfds.conditions import Condition
from tests.eval.report.pages import boards


def _rows(text) -> list[dict]:
  return list(csv.DictReader(io.StringIO(text)))


class CsvFilesTest(absltest.TestCase):
  def test_headlines(self):
    board = boards.classification(3, printed=1)
    rows = _rows(csv_files.headlines(view_lib.View(board)))
    self.assertLen(rows, 4)
    first, entry = rows[0], board.entries[0]
    self.assertEqual(
      [first["label"], first["rank"], first["best_rank"], first["worst_rank"]],
      [entry.label, "1", "1", "2"],
    )
    number = entry.number("mce")
    self.assertAlmostEqual(float(first["mce"]), number.value, places=4)
    self.assertAlmostEqual(float(first["mce_hi"]), number.hi, places=4)
    self.assertEqual(first["clean_error_n"], "50000")
    self.assertEqual(rows[-1]["state"], "printed")
    self.assertEqual(rows[-1]["rank"], "")

  def test_corruptions_with_difficulties(self):
    board = boards.sequences()
    rows = _rows(csv_files.corruptions(view_lib.View(board)))
    levels = {
      r["difficulty"] for r in rows if r["perturbation"] == "shot_noise"
    }
    self.assertEqual(levels, {"1", "2", "3"})

  def test_cells(self):
    board = boards.classification(2)
    rows = _rows(csv_files.cells(view_lib.View(board)))
    self.assertLen(rows, 2 * len(board.conditions))
    entry = board.entries[0]
    row = next(r for r in rows if r["condition"] == "fog_3")
    number = entry.cells[Condition("fog", 3)]["error"]
    self.assertAlmostEqual(float(row["error"]), number.value, places=4)
    self.assertEqual(row["error_n"], "50000")

  def test_no_text_is_run_by_a_spreadsheet_and_all_come_back(self):
    board = boards.awkward()
    view = view_lib.View(board)
    for text in (
      csv_files.headlines(view),
      csv_files.corruptions(view),
      csv_files.cells(view),
    ):
      labels = {row["label"] for row in _rows(text)}
      for row in csv.reader(io.StringIO(text)):
        for field in row:
          try:
            float(field)
          except ValueError:
            self.assertNotRegex(field, r"^[=+\-@\t\r\n]")
      ours = {e.label for e in board.entries}
      self.assertContainsSubset({formulas.plain(x) for x in labels}, ours)

  def test_negative_numbers_stay_numbers(self):
    numbers = {("relative_mce", "", None): Number(-0.0123456)}
    view = view_lib.View(boards.one(numbers=numbers))
    (row,) = _rows(csv_files.headlines(view))
    self.assertEqual(row["relative_mce"], "-0.012346")
