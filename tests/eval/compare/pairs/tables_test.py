"""Comparisons as CSV and Markdown."""

import csv
import io
import math

from absl.testing import absltest

from eval import tasks
from eval.cells.number import Number
from eval.compare.pairs import lines, tables
from eval.compare.pairs.lines import Line
from robust_tfds.conditions import Condition
from tests.eval.report.reports import contexts


def comparison(**changes) -> lines.Comparison:
  """A small one of a classifier, with a name that tables have to escape."""
  test = lines.Test("exact McNemar", 1e-9, 0.02, "error", lines.BETTER)
  fields = {
    "dataset": "digits_c",
    "facts": tasks.get("classification").facts,
    "first": contexts.EVIL,
    "second": "=1+1",
    "benchmark": [
      Line(
        "mce",
        "",
        None,
        None,
        0.7,
        0.8,
        Number(-0.1, -0.2, 0.05),
        Number(0.125, -0.05, 0.3),
      ),
      Line("relative_mce", "", None, None, 1.0, math.nan, Number(None)),
    ],
    "corruptions": [
      Line("ce", "fog", None, None, 0.5, 0.5, Number(0.0), note="why")
    ],
    "cells": [
      Line(
        "error",
        "fog",
        level,
        Condition("fog", level),
        0.25,
        0.5,
        Number(-0.25, -0.3, -0.2),
        n=40,
        test=test if level < 3 else lines.Test(),
      )
      for level in (1, 2, 3)
    ],
    "sentences": ["A better than B in 2 of 2 cells."],
    "notes": ["Seeds differ."],
  }
  return lines.Comparison(**fields | changes)


class TablesTest(absltest.TestCase):
  def test_csv(self):
    text = tables.csv([comparison(), comparison(dataset="other_c")])
    rows = list(csv.DictReader(io.StringIO(text)))
    self.assertLen(rows, 12)
    self.assertEqual(tuple(rows[0]), tables.HEADER)
    self.assertEqual(rows[0]["second_model"], "'=1+1")
    self.assertEqual(float(rows[0]["relative_decrease"]), 0.125)
    self.assertEqual((rows[1]["second"], rows[1]["difference"]), ("", ""))
    self.assertEqual(rows[2]["note"], "why")
    cell = rows[3]
    self.assertEqual(
      (cell["config"], cell["corruption"], cell["severity"], cell["n"]),
      ("fog_1", "fog", "1", "40"),
    )
    self.assertEqual(
      (float(cell["p"]), float(cell["p_holm"]), cell["verdict"]),
      (1e-9, 0.02, "better"),
    )
    self.assertEqual(rows[5]["p"], "")
    self.assertEqual(rows[11]["dataset"], "other_c")

  def test_markdown(self):
    text = tables.text([comparison()])
    self.assertIn("A better than B in 2 of 2 cells.", text)
    self.assertIn("- Seeds differ.", text)
    self.assertIn("| mCE | 70.00 | 80.00 | -10.00 (-20.00 to +5.00) |", text)
    self.assertIn("+12.50 (-5.00 to +30.00) |", text)
    self.assertIn("| Relative mCE | 100.00 | - | - | - |", text)
    self.assertIn("| < 1e-6 | 0.02 | better |", text)
    self.assertIn("| - | - | no test |", text)
    self.assertNotIn("<script>", text)
    for line in text.splitlines():
      if line.startswith("|"):
        self.assertIn(line.replace("\\|", "").count("|"), (6, 8))

  def test_nothing_over_cells(self):
    text = tables.text([comparison(benchmark=[], corruptions=[])])
    self.assertNotIn("Whole benchmark", text)
    self.assertIn("## Cells", text)
