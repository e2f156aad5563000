"""CSVs: what is absent, floats, texts that a spreadsheet would run."""

import math

import numpy as np
from absl.testing import absltest

from eval.tables import csv_text


class CsvTextTest(absltest.TestCase):
  def test_cells(self):
    for value, text in (
      (None, ""),
      (math.nan, ""),
      (0.1 + 0.2, "0.30000000000000004"),
      (-0.5, "-0.5"),
      (np.float64(0.1), "0.1"),
      (7, "7"),
      ("=1+1", "'=1+1"),
      ([1, 2], '"[1, 2]"'),
      ({"b": 1, "a": None}, '"{""a"": null, ""b"": 1}"'),
    ):
      self.assertEqual(csv_text.text(["x"], [["a", value]]), f"x\na,{text}\n")
