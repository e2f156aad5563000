"""A table in every format: the same numbers, the best one in bold, escaped."""

import math

from absl.testing import absltest

from eval.metrics.definitions import Metric
from eval.tables import writers
from eval.tables.pivot import Column, Table

_ERROR = Metric("error", "error", "lower")
_TABLE = Table(
  "Title",
  "Model",
  ["a_b", "c"],
  [Column("x&y", _ERROR, [0.5, 0.25]), Column("z", _ERROR, [math.nan, 0.1])],
  bold=True,
)


class WritersTest(absltest.TestCase):
  def test_markdown(self):
    self.assertEqual(
      writers.markdown(_TABLE).splitlines(),
      [
        "| Model | x&amp;y | z |",
        "|---|---:|---:|",
        r"| a\_b | 50.0 | - |",
        "| c | **25.0** | **10.0** |",
      ],
    )

  def test_latex(self):
    text = writers.latex(_TABLE)
    self.assertIn(r"\begin{tabular}{lrr}", text)
    self.assertIn(r"Model & \rotatebox{90}{x\&y} & \rotatebox{90}{z} \\", text)
    self.assertIn("a\\_b & 50.0 & -- \\\\\n", text)
    self.assertIn(r"c & \textbf{25.0} & \textbf{10.0} \\", text)

  def test_aligned(self):
    self.assertEqual(
      writers.aligned(_TABLE),
      [
        "Model   x&y     z",
        "-----------------",
        "a_b    50.0     -",
        "c      25.0  10.0",
      ],
    )
