"""Tables 1 to 4: printed lines, lines of runs, all numbers in the CSV."""

import csv
import pathlib

from absl.testing import absltest, parameterized

from robust_tfds.eval import papers
from robust_tfds.eval.report import figures
from robust_tfds.eval.report.figures import base
from tests.eval.report.figures import boards


class TablesTest(parameterized.TestCase):
  def drawn(self, name, *of):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (figure,) = figures.select(name)
    figure.draw(base.Request(boards=of), folder)
    with open(folder / f"{name}.csv", newline="") as f:
      return (folder / f"{name}.md").read_text("utf-8"), list(csv.DictReader(f))

  @parameterized.parameters(1, 2, 3, 4)
  def test_every_printed_number(self, number):
    text, lines = self.drawn(f"hendrycks_t{number}")
    rows = [
      r for r in papers.rows("hendrycks2019") if r.table == f"table{number}"
    ]
    printed = {(r.network, r.metric, r.name): r.value for r in rows}
    stored = {
      (line["network"], line["metric"], line["condition"]): float(line["value"])
      for line in lines
    }
    self.assertEqual(stored, printed)
    of_text = [r for r in text.splitlines() if r.startswith("| SqueezeNet")]
    self.assertLen(of_text, 1)
    cells = [c.strip() for c in of_text[0].split("|")]
    for row in rows:
      if row.network == "SqueezeNet":
        self.assertIn(row.text, cells)

  def test_doubts_stand_below(self):
    text, _ = self.drawn("hendrycks_t3")
    self.assertIn("the mean of its 10 FRs is 64.40, printed 65.1", text)

  @parameterized.parameters(
    ("hendrycks_t1", "classification", "mce", "ce"),
    ("hendrycks_t3", "sequences", "mfr", "fr"),
  )
  def test_runs_are_added(self, name, task, mean, detail):
    board = boards.normalised(task, run="mine")
    text, lines = self.drawn(name, board)
    added = [line for line in lines if "mine" in line["source"]]
    self.assertLen({line["network"] for line in added}, len(board.runs))
    self.assertContainsSubset(
      {mean, detail}, {line["metric"] for line in added}
    )
    self.assertIn("not comparable with the printed numbers", text)

  def test_a_run_without_the_mean_is_named(self):
    board = boards.normalised("classification", run="mine")
    for entry in board.entries:
      del entry.numbers["mce", "", None]
    text, lines = self.drawn("hendrycks_t1", board)
    self.assertFalse([line for line in lines if "mine" in line["source"]])
    self.assertIn("None of these numbers are known of", text)


if __name__ == "__main__":
  absltest.main()
