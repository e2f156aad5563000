"""Robustness of video action recognition: UCF101-P, HMDB51-P, K400-P, SSv2-P."""

from __future__ import annotations

from robust_tfds.eval.report.figures.parts.confusions import Confusions
from robust_tfds.eval.report.figures.parts.drop_bars import DropBars
from robust_tfds.eval.report.figures.parts.perturbation_table import (
  PerturbationTable,
)
from robust_tfds.eval.report.figures.parts.printed_table import PrintedTable
from robust_tfds.eval.report.figures.parts.redrawn import Redrawn
from robust_tfds.eval.report.figures.parts.robustness_scatter import (
  RobustnessScatter,
)
from robust_tfds.eval.report.figures.parts.severity_curves import SeverityCurves
from robust_tfds.eval.report.figures.parts.severity_groups import SeverityGroups
from robust_tfds.eval.report.figures.parts.stored_pictures import StoredPicture
from robust_tfds.eval.report.figures.schiappa import (
  f2,
  f6,
  f12,
  f13,
  f22,
  f27,
  t8,
)
from robust_tfds.eval.report.reports.video import shifts

CITATION = (
  "Schiappa et al. 2023 (CVPR), A Large-scale Robustness Analysis of Video"
  " Action Recognition Models, arXiv 2207.01398"
)

FIGURES = (
  PrintedTable(
    "schiappa_t1", "Table 1: the networks", of=("schiappa2023", "table1")
  ),
  PrintedTable(
    "schiappa_t2",
    "Table 2: robustness on Kinetics400-P by group",
    of=("schiappa2023", "table2"),
    tasks=("video",),
  ),
  PrintedTable(
    "schiappa_t3",
    "Table 3: robustness on SSv2-P by group",
    of=("schiappa2023", "table3"),
    tasks=("video",),
  ),
  PerturbationTable(
    "schiappa_t4",
    "Table 4: robustness on Kinetics400-P by perturbation",
    dataset="kinetics400_p",
  ),
  PerturbationTable(
    "schiappa_t5",
    "Table 5: robustness on SSv2-P by perturbation",
    dataset="ssv2_p",
  ),
  PerturbationTable(
    "schiappa_t6",
    "Table 6: robustness on UCF101-P by perturbation",
    dataset="ucf101_p",
  ),
  PerturbationTable(
    "schiappa_t7",
    "Table 7: robustness on HMDB51-P by perturbation",
    dataset="hmdb51_p",
  ),
  t8.Table8(
    "schiappa_t8",
    "Table 8: natural shifts of UCF101-DS",
    of=("schiappa2023", "table8"),
    tasks=("video",),
  ),
  # gamma_r of four networks by what they were trained on.
  PrintedTable(
    "schiappa_t12",
    "Figure 12 as a table: training on perturbed data, on UCF101-DS",
    of=("schiappa2023", "figure12"),
  ),
  RobustnessScatter(
    "schiappa_f1",
    "Figure 1: robustness against clean accuracy on UCF101-P",
    dataset="ucf101_p",
  ),
  f2.Figure2(
    "schiappa_f2",
    "Figure 2: perturbations by severity, on a clip of our own",
    drawn_from="our own code",
    source="no paper's pixels: our own clip and our perturbations",
  ),
  DropBars(
    "schiappa_f3",
    "Figure 3: accuracy lost on Kinetics400-P",
    dataset="kinetics400_p",
  ),
  SeverityGroups(
    "schiappa_f4",
    "Figure 4: robustness by group and severity on Kinetics400-P",
    dataset="kinetics400_p",
  ),
  SeverityGroups(
    "schiappa_f5",
    "Figure 5: robustness by group and severity on SSv2-P",
    dataset="ssv2_p",
  ),
  f6.Figure6(
    "schiappa_f6",
    "Figure 6: from scratch against pretrained, by kind of perturbation",
    source="eval/papers: means of the lines of Tables 6 and 7",
  ),
  DropBars(
    "schiappa_f7", "Figure 7: accuracy lost on SSv2-P", dataset="ssv2_p"
  ),
  Confusions(
    "schiappa_f8",
    "Figure 8: what is taken for what, clean, and where each group hurts most",
  ),
  Redrawn(
    "schiappa_f10",
    "Figure 10: accuracy under the natural shifts of UCF101-DS",
    source="runs over UCF101-DS; the paper prints no numbers of it",
    tasks=("video",),
    report=shifts.Shifts(),
    shows=("accuracy/category/", "accuracy/shift/"),
    needs="a run over the data set UCF101-DS (`ucf101_ds`)",
  ),
  SeverityGroups(
    "schiappa_f11",
    "Figure 11: robustness by group and severity on UCF101-P",
    dataset="ucf101_p",
  ),
  f12.Figure12(
    "schiappa_f12",
    "Figure 12: training on perturbed data, tested on UCF101-DS",
    source="eval/papers: the numbers of Figure 12",
  ),
  f13.Figure13(
    "schiappa_f13",
    "Figure 13: clips of UCF101-DS by category (our reading of it)",
    source="eval/papers: Table 8",
  ),
  SeverityCurves(
    "schiappa_f14",
    "Figure 14: accuracy against severity on Kinetics400-P",
    dataset="kinetics400_p",
  ),
  SeverityCurves(
    "schiappa_f15",
    "Figure 15: accuracy against severity on SSv2-P",
    dataset="ssv2_p",
  ),
  SeverityCurves(
    "schiappa_f16",
    "Figure 16: accuracy against severity on UCF101-P",
    dataset="ucf101_p",
  ),
  SeverityCurves(
    "schiappa_f17",
    "Figure 17: accuracy against severity on HMDB51-P",
    dataset="hmdb51_p",
  ),
  RobustnessScatter(
    "schiappa_f19",
    "Figure 19: robustness against clean accuracy on HMDB51-P",
    dataset="hmdb51_p",
  ),
  Confusions(
    "schiappa_f21",
    "Figure 21: what is taken for what, clean, and one condition",
    one=True,
  ),
  f22.Figure22(
    "schiappa_f22",
    "Figure 22: accuracy lost by class in a condition (our reading of it)",
    source="runs; the paper prints no numbers of it",
    tasks=("video",),
    needs_runs=True,
  ),
  DropBars(
    "schiappa_f23",
    "Figure 23: accuracy lost on UCF101-P, networks trained from scratch",
    dataset="ucf101_p",
    training="scratch",
  ),
  DropBars(
    "schiappa_f24",
    "Figure 24: accuracy lost on UCF101-P, networks pretrained on Kinetics-400",
    dataset="ucf101_p",
    training="kinetics400",
  ),
  StoredPicture(
    "schiappa_f25",
    "Figure 25: frames of one video under every perturbation",
    source="pictures that the reports of a run have drawn",
    tasks=("video",),
    file="action_strips.png",
  ),
  StoredPicture(
    "schiappa_f26",
    "Figure 26: frames of one video under every perturbation",
    source="pictures that the reports of a run have drawn",
    tasks=("video",),
    file="action_strips.png",
  ),
  f27.Figure27(
    "schiappa_f27",
    "Figure 27: frames under temporal perturbations (our reading of it)",
    drawn_from="our own code",
    source="no paper's numbers: our perturbations of a clip of 64 frames",
  ),
  DropBars(
    "schiappa_f28", "Figure 28: accuracy lost on HMDB51-P", dataset="hmdb51_p"
  ),
)
