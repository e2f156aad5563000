"""Printed tables: the numbers as printed, ours below or among them."""

import dataclasses
from typing import Any

from absl.testing import absltest

from eval.report.figures import base
from eval.report.figures.parts import own, printed_table
from tests.eval.report.figures import boards, lines


class PrintedTableTest(absltest.TestCase):
  def lines(self, name, *boards_of) -> list[dict[str, Any]]:
    return lines.of(name, base.Request(boards=boards_of))

  def test_own_rows_of_the_same_data_by_their_accuracy(self):
    board = boards.board("frames", dataset="imagenet_vid_robust")
    data = {"examples": 22_179, "merge": "max", "subset": ""}
    entries = [dataclasses.replace(e, data=data) for e in board.entries]
    board = dataclasses.replace(board, entries=entries)
    shown = self.lines("shankar_t5", board)
    self.assertLen(shown, 47)
    values = [line["pm-0"] for line in shown]
    self.assertEqual(values, sorted(values, reverse=True))

  def test_own_rows_of_other_data_stand_below(self):
    shown = self.lines("shankar_t5", boards.board("frames"))
    self.assertLen(shown, 47)
    values = [x["pm-0"] for x in shown[:45]]
    self.assertEqual(values, sorted(values, reverse=True))
    self.assertEqual(
      {x["source"] for x in shown[45:]}, {"own run made_up, digits_c"}
    )

  def test_the_smallest_first(self):
    shown = self.lines("hendrycks_readme_c")
    values = [x["mCE"] for x in shown]
    self.assertEqual(values, sorted(values))
    self.assertEqual(shown[0]["model"], "DeepAugment+AugMix")

  def test_a_line_stays_a_line(self):
    shown = self.lines("hendrycks_s5_2")
    self.assertLen(shown, 11)
    errors = [x["clean error"] for x in shown if x["model"] == "ResNet-50"]
    self.assertEqual(errors, [0.2387, 0.239])

  def test_own_lines_by_condition(self):
    board = boards.board("frames")
    model = own.from_boards([board])[0]
    shown = [
      (x["condition"], x["pm-10"])
      for x in self.lines("shankar_t4", board)
      if x["model"] == model.label
    ]
    unreviewed = model.cell_number("acc_pmk/unreviewed").value
    self.assertEqual(
      shown, [("all", unreviewed), ("reviewed", model.value("acc_pmk"))]
    )

  def test_own_numbers_and_their_difference(self):
    model = own.from_boards([boards.board("frames")])[0]
    metrics = ("acc_orig", "acc_pmk", "drop", "anchors", "mce")
    numbers = printed_table.own_numbers(model, metrics, "/fps=25")
    drop = numbers["acc_orig"].value - numbers["acc_pmk"].value
    self.assertAlmostEqual(numbers["drop"].value, drop)
    self.assertEqual(numbers["anchors"].value, 20)
    self.assertNotIn("mce", numbers)
