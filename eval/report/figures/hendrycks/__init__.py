"""Corruptions and perturbations of pictures: ImageNet-C, ImageNet-P."""

from __future__ import annotations

from robust_tfds import conditions
from robust_tfds.eval.report.figures.hendrycks import app_d, f5, f9
from robust_tfds.eval.report.figures.parts import benchmark_scatter
from robust_tfds.eval.report.figures.parts.benchmark_scatter import (
  BenchmarkScatter,
)
from robust_tfds.eval.report.figures.parts.condition_table import ConditionTable
from robust_tfds.eval.report.figures.parts.printed_table import PrintedTable

CITATION = (
  "Hendrycks and Dietterich 2019 (ICLR), Benchmarking Neural Network Robustness"
  " to Common Corruptions and Perturbations, arXiv 1903.12261"
)

FIGURES = (
  ConditionTable(
    "hendrycks_t1",
    "Table 1: clean error, mCE, and CE of every corruption",
    source="eval/papers: Table 1",
    tasks=("classification",),
    table="table1",
    mean=("mce", "mCE"),
    detail="ce",
    family=conditions.PICTURES,
  ),
  ConditionTable(
    "hendrycks_t2",
    "Table 2: clean error, relative mCE, and relative CE of every corruption",
    source="eval/papers: Table 2",
    tasks=("classification",),
    table="table2",
    mean=("relative_mce", "relative mCE"),
    detail="relative_ce",
    family=conditions.PICTURES,
  ),
  ConditionTable(
    "hendrycks_t3",
    "Table 3: clean error, mFR, and FR of every perturbation",
    source="eval/papers: Table 3",
    tasks=("sequences",),
    table="table3",
    mean=("mfr", "mFR"),
    detail="fr",
    family=conditions.SEQUENCES,
  ),
  ConditionTable(
    "hendrycks_t4",
    "Table 4: clean error, mT5D, and T5D of every perturbation",
    source="eval/papers: Table 4",
    tasks=("sequences",),
    table="table4",
    mean=("mt5d", "mT5D"),
    detail="t5d",
    family=conditions.SEQUENCES,
  ),
  app_d.AppendixD(
    "hendrycks_app_d",
    "Appendix D: AlexNet's mean error under every corruption",
    source="eval/papers: Appendix D",
    tasks=("classification",),
  ),
  # Stability training, denoising, networks of fewer channels.
  PrintedTable(
    "hendrycks_app_f",
    "Appendix F: what was tried besides",
    of=("hendrycks2019", "appendix_f"),
    tasks=("classification", "sequences"),
  ),
  PrintedTable(
    "hendrycks_readme_augmix",
    "README of AugMix: its ResNet-50 on ImageNet-C",
    of=("hendrycks2019", "readme_augmix"),
    tasks=("classification",),
  ),
  # Networks trained on ImageNet alone, the smallest mCE first.
  PrintedTable(
    "hendrycks_readme_c",
    "README: the authors' board of ImageNet-C",
    of=("hendrycks2019", "readme_imagenet_c"),
    tasks=("classification",),
    lowest_first="mce",
  ),
  PrintedTable(
    "hendrycks_readme_p",
    "README: the authors' board of ImageNet-P",
    of=("hendrycks2019", "readme_imagenet_p"),
    tasks=("sequences",),
    lowest_first="mfr",
  ),
  BenchmarkScatter(
    "hendrycks_f3",
    "Figure 3: corruption error and relative corruption error over accuracy",
    source="eval/papers: Tables 1 and 2",
    tasks=("classification",),
    panels=(benchmark_scatter.CORRUPTIONS,),
  ),
  BenchmarkScatter(
    "hendrycks_f4",
    "Figure 4: flip rate and top-5 distance over accuracy",
    source="eval/papers: Tables 3 and 4",
    tasks=("sequences",),
    panels=(benchmark_scatter.PERTURBATIONS,),
  ),
  f5.Figure5(
    "hendrycks_f5",
    "Figure 5: CE of noise: multiscale networks beside ResNet-50",
    source="eval/papers: Figure 5, its bars digitised",
    tasks=("classification",),
  ),
  # Flip probability and unnormalised top-5 distance.
  PrintedTable(
    "hendrycks_s5_1",
    "Section 5.1: ResNet-18 under scaling",
    of=("hendrycks2019", "section5_1"),
  ),
  # CLAHE, multiscale and aggregating networks, Stylized ImageNet, ALP.
  PrintedTable(
    "hendrycks_s5_2",
    "Section 5.2: what made networks more robust",
    of=("hendrycks2019", "section5_2"),
    tasks=("classification", "sequences"),
  ),
  # ResNet-50 beside DenseNets and ResNeXts: section 5.2.
  BenchmarkScatter(
    "hendrycks_f6",
    "Figure 6: feature aggregation: DenseNet and ResNeXt beside ResNet-50",
    source="eval/papers: section 5.2",
    tasks=("classification", "sequences"),
    table="section5_2",
    panels=(
      benchmark_scatter.CORRUPTIONS,
      benchmark_scatter.PERTURBATIONS,
    ),
  ),
  f9.Figure9(
    "hendrycks_f9",
    "Figure 9: accuracy on seen and unseen subtypes over accuracy",
    source="eval/papers: Figure 9, its points digitised from the draft",
  ),
)
