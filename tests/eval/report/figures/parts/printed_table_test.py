"""Printed tables: the numbers as printed, ours below or among them."""

import csv
import dataclasses
import pathlib

from absl.testing import absltest, parameterized

from robust_tfds.eval import papers
from robust_tfds.eval.report import figures
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import own, printed, printed_table
from tests.eval.report.figures import boards

_TABLES = tuple(
  f.name for f in figures.figures() if isinstance(f, printed_table.PrintedTable)
)


class PrintedTableTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def lines(self, name, *boards_of) -> list[dict[str, str]]:
    (figure,) = figures.select(name)
    figure.draw(base.Request(boards=boards_of), self.folder)
    with open(self.folder / f"{name}.csv", encoding="utf-8") as file:
      return list(csv.DictReader(file))

  @parameterized.parameters(*_TABLES)
  def test_every_printed_number_is_there_and_no_other(self, name):
    (figure,) = figures.select(name)
    rows = printed.table(*figure.of)
    texts = {"dataset", "model", "condition", "note", "source"}
    got = [
      float(cell)
      for line in self.lines(name)
      for head, cell in line.items()
      if cell and head not in texts
    ]
    ends = [e for r in rows for e in (r.lo, r.hi) if e is not None]
    self.assertCountEqual(got, [*(r.value for r in rows), *ends])

  @parameterized.parameters(
    ("shankar_t5", "imagenet_vid_robust", 45),
    ("shankar_t6", "ytbb_robust", 60),
  )
  def test_a_line_a_model(self, name, dataset, count):
    lines = {line["model"]: line for line in self.lines(name)}
    self.assertLen(lines, count)
    metrics = "acc_orig", "acc_pmk", "drop"
    for model, numbers in papers.networks(dataset, *metrics).items():
      heads = "pm-0", "pm-10", "drop"
      got = [float(lines[model][head]) for head in heads]
      self.assertSequenceAlmostEqual(got, numbers, delta=1e-12)

  def test_own_rows_of_the_same_data_by_their_accuracy(self):
    board = boards.board("frames", dataset="imagenet_vid_robust")
    data = {"examples": 22_179, "merge": "max", "subset": ""}
    entries = [dataclasses.replace(e, data=data) for e in board.entries]
    board = dataclasses.replace(board, entries=entries)
    lines = self.lines("shankar_t5", board)
    self.assertLen(lines, 47)
    values = [float(line["pm-0"]) for line in lines]
    self.assertEqual(values, sorted(values, reverse=True))

  def test_own_rows_of_other_data_stand_below(self):
    lines = self.lines("shankar_t5", boards.board("frames"))
    self.assertLen(lines, 47)
    values = [float(x["pm-0"]) for x in lines[:45]]
    self.assertEqual(values, sorted(values, reverse=True))
    self.assertEqual(
      {x["source"] for x in lines[45:]}, {"own run made_up, digits_c"}
    )

  def test_the_smallest_first(self):
    lines = self.lines("hendrycks_readme_c")
    values = [float(x["mCE"]) for x in lines]
    self.assertEqual(values, sorted(values))
    self.assertEqual(lines[0]["model"], "DeepAugment+AugMix")

  def test_a_line_stays_a_line(self):
    lines = self.lines("hendrycks_s5_2")
    self.assertLen(lines, 11)
    errors = [x["clean error"] for x in lines if x["model"] == "ResNet-50"]
    self.assertEqual(errors, ["0.2387", "0.239"])

  def test_own_lines_by_condition(self):
    board = boards.board("frames")
    model = own.of([board])[0]
    lines = [
      (x["condition"], float(x["pm-10"]))
      for x in self.lines("shankar_t4", board)
      if x["model"] == model.label
    ]
    unreviewed = model.of_cell("acc_pmk/unreviewed").value
    self.assertEqual(
      lines, [("all", unreviewed), ("reviewed", model.value("acc_pmk"))]
    )

  def test_markdown_is_as_printed(self):
    self.lines("shankar_t5")
    text = (self.folder / "shankar_t5.md").read_text("utf-8")
    self.assertIn("| 84.8 | 82.5 | 86.8 | 70.2 | 67.4 | 72.8 | 14.6 |", text)
    self.lines("shankar_t10")
    text = (self.folder / "shankar_t10.md").read_text("utf-8")
    self.assertIn("| 1e-05 | 32 | 10 |", text)

  def test_own_numbers_and_their_difference(self):
    model = own.of([boards.board("frames")])[0]
    metrics = ("acc_orig", "acc_pmk", "drop", "anchors", "mce")
    numbers = printed_table.own_numbers(model, metrics, "/fps=25")
    drop = numbers["acc_orig"].value - numbers["acc_pmk"].value
    self.assertAlmostEqual(numbers["drop"].value, drop)
    self.assertEqual(numbers["anchors"].value, 20)
    self.assertNotIn("mce", numbers)

  def test_a_run_without_any_of_the_numbers_is_named(self):
    self.lines("schiappa_t8", boards.board("video", names=()))
    text = (self.folder / "schiappa_t8.md").read_text("utf-8")
    self.assertIn("of other data than ucf101", text)


if __name__ == "__main__":
  absltest.main()
