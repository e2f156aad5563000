"""Boards as CSVs: headers, every number, safe in spreadsheets."""

import csv
import pathlib
import tempfile

from absl.testing import absltest
from etils import epath

from eval.compare import runs, scores
from eval.compare.boards import build, tables
from tests import shared_data
from tests.eval.compare import small_runs
from tests.eval.report.pages import boards


class TablesTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = pathlib.Path(tempfile.mkdtemp())
    small_runs.write(
      cls.root / "run",
      {"=HYPERLINK(1)": 0.1, "b, c": 0.3},
      of_models={"b, c": {"trained_on": '@SUM("x")\nnext'}},
    )
    (run,) = runs.read([str(cls.root / "run")])
    cls.boards = build.boards(scores.of_run(run, lambda _: None))
    cls.files = tables.write(cls.boards, epath.Path(cls.root / "out"))

  def _read(self, name):
    return shared_data.lines(self.root / "out" / name)

  def test_files(self):
    names = [p.name for p in self.files]
    self.assertEqual(
      names, ["boards.csv", "aside.csv", "digits-c.csv", "digits-c_numbers.csv"]
    )
    (board,) = self._read("boards.csv")
    header = (self.root / "out" / "boards.csv").read_text().split("\n")[0]
    self.assertLen(set(header.split(",")), len(header.split(",")))
    self.assertEqual(
      (board["task"], board["entries"], board["ranked"], board["codec"]),
      ("classification", "2", "2", "raw"),
    )

  def test_entries(self):
    first, second = self._read("digits-c.csv")
    self.assertEqual(first["rank"], "1")
    self.assertEqual(second["model"], "b, c")
    self.assertEqual(second["data_px"], "[32, 32]")
    self.assertLess(
      float(first["mean_corruption_error_lo"]),
      float(first["mean_corruption_error"]),
    )

  def test_no_text_is_a_formula(self):
    for path in self.files:
      with open(path, newline="") as f:
        for row in csv.reader(f):
          for cell in row:
            try:
              float(cell)
            except ValueError:
              self.assertNotIn(cell[:1], ("=", "+", "-", "@", "\t", "\r"))

  def test_every_number(self):
    rows = self._read("digits-c_numbers.csv")
    (board,) = self.boards
    for entry in board.entries:
      mine = [r for r in rows if r["model"].lstrip("'") == entry.label]
      cells = sum(map(len, entry.cells.values()))
      self.assertLen(mine, cells + len(entry.numbers))
    (fog,) = [
      r
      for r in rows
      if (r["model"], r["corruption"], r["severity"], r["metric"])
      == ("b, c", "fog", "3", "error")
    ]
    self.assertEqual(float(fog["value"]), 15 / 40)  # 36 % of 40, rounded up
    self.assertEqual(fog["n"], "40")
    mean = next(r for r in rows if r["metric"] == "mean_corruption_error")
    self.assertLess(float(mean["jackknife_lo"]), float(mean["value"]))
    self.assertGreater(float(mean["jackknife_hi"]), float(mean["value"]))

  def test_summary(self):
    text = tables.summary(self.boards[0])
    self.assertIn("digits_c (classification)", text)
    self.assertIn("b, c", text)

  def test_a_summary_has_what_was_held_out(self):
    names = ("clean_error", "mean_corruption_error", "mce", "relative_mce")
    every = [p + n for n in (*names, "extra") for p in ("", "held_out_")]
    numbers = {(name, "", None): boards.number(0.5) for name in every}
    text = tables.summary(boards.one(numbers=numbers))
    for heading in ("mCE (not trained on)", "Relative mCE (not trained on)"):
      self.assertIn(heading, text)
