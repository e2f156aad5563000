"""Figure 3: mCE and relative mCE against accuracy."""

from __future__ import annotations

from robust_tfds.eval.report.figures.parts import benchmark_scatter


class Figure3(benchmark_scatter.BenchmarkScatter):
  """Robustness to corruptions over accuracy: does it follow from accuracy?"""

  title = (
    "Figure 3: corruption error and relative corruption error over accuracy"
  )
  source = "eval/papers: Tables 1 and 2"
  tasks = ("classification",)
  panels = (benchmark_scatter.CORRUPTIONS,)
