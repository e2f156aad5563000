"""Figure 6: networks that aggregate more features, on both benchmarks."""

from __future__ import annotations

from robust_tfds.eval.report.figures.parts import benchmark_scatter


class Figure6(benchmark_scatter.BenchmarkScatter):
  """ResNet-50 beside DenseNets and ResNeXts: section 5.2."""

  title = "Figure 6: feature aggregation: DenseNet and ResNeXt beside ResNet-50"
  source = "eval/papers: section 5.2"
  tasks = ("classification", "sequences")
  table = "section5_2"
  panels = (
    benchmark_scatter.CORRUPTIONS,
    benchmark_scatter.PERTURBATIONS,
  )
