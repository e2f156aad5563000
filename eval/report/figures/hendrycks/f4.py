"""Figure 4: mFR and mT5D against accuracy."""

from __future__ import annotations

from robust_tfds.eval.report.figures.parts import benchmark_scatter


class Figure4(benchmark_scatter.BenchmarkScatter):
  """Stability under perturbations over accuracy."""

  title = "Figure 4: flip rate and top-5 distance over accuracy"
  source = "eval/papers: Tables 3 and 4"
  tasks = ("sequences",)
  panels = (benchmark_scatter.PERTURBATIONS,)
