"""Corruptions for detectors: PASCAL-C, COCO-C, Cityscapes-C."""

from __future__ import annotations

from robust_tfds.eval.report.figures.michaelis import f4, f5, f6
from robust_tfds.eval.report.figures.parts import trainings
from robust_tfds.eval.report.figures.parts.ap_curves import Model
from robust_tfds.eval.report.figures.parts.corruption_curves import (
  CorruptionCurves,
)
from robust_tfds.eval.report.figures.parts.printed_table import PrintedTable

CITATION = (
  "Michaelis et al. 2019, Benchmarking Robustness in Object Detection:"
  " Autonomous Driving when Winter is Coming, arXiv 1907.07484"
)

FIGURES = (
  PrintedTable(
    "michaelis_t1",
    "Table 1: P, mPC and rPC of object detectors",
    of=("michaelis2019", "table1"),
    tasks=("detection",),
  ),
  PrintedTable(
    "michaelis_t2",
    "Table 2: Faster R-CNN trained on standard, stylized and both data",
    of=("michaelis2019", "table2"),
    tasks=("detection",),
  ),
  PrintedTable(
    "michaelis_t3",
    "Table 3: masks: P, mPC and rPC of instance segmenters",
    of=("michaelis2019", "table3"),
    tasks=("detection",),
  ),
  PrintedTable(
    "michaelis_t4",
    "Table 4: masks of Mask R-CNN trained on standard, stylized and both data",
    of=("michaelis2019", "table4"),
    tasks=("detection",),
  ),
  PrintedTable(
    "michaelis_t5",
    "Table 5: boxes of networks with deformable convolutions",
    of=("michaelis2019", "table5"),
    tasks=("detection",),
  ),
  PrintedTable(
    "michaelis_t6",
    "Table 6: masks of networks with deformable convolutions",
    of=("michaelis2019", "table6"),
    tasks=("detection",),
  ),
  f4.Figure4(
    "michaelis_f4",
    "Figure 4: training pictures and their stylized versions",
    source="your own folders: nothing here makes stylized pictures",
    needs_folders=("clean", "stylized"),
  ),
  f5.Figure5(
    "michaelis_f5",
    "Figure 5: P against severity by training data",
    source="eval/papers: the authors' raw results",
    tasks=("detection",),
  ),
  f6.Figure6(
    "michaelis_f6",
    "Figure 6: relative performance over RMSE, and what stylizing gains",
    source="eval/papers: the authors' raw results and RMSE, Pascal-C",
    tasks=("detection",),
  ),
  CorruptionCurves(
    "michaelis_f7",
    "Figure 7: every corruption of Pascal-C by training data",
    dataset="pascal_c",
    models=trainings.of("pascal_c"),
    measure="AP50",
  ),
  CorruptionCurves(
    "michaelis_f8",
    "Figure 8: every corruption of COCO-C by training data",
    dataset="coco_c",
    models=trainings.of("coco_c"),
  ),
  CorruptionCurves(
    "michaelis_f9",
    "Figure 9: every corruption of Cityscapes-C by training data",
    dataset="cityscapes_c",
    models=trainings.of("cityscapes_c"),
  ),
  CorruptionCurves(
    "michaelis_f10",
    "Figure 10: every corruption of COCO-C by backbone",
    dataset="coco_c",
    models=(
      Model("r50", "faster_rcnn_r50_fpn_1x_coco"),
      Model("r101", printed=("Faster R-CNN r101", "standard")),
      Model("x101-32x4d", "faster_rcnn_x101_32x4d_fpn_1x"),
      Model("x101-64x4d", printed=("Faster R-CNN x101-64x4d", "standard")),
    ),
  ),
)
