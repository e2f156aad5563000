"""Do image classifiers generalize across time? ImageNet-Vid-Robust, YTBB-Robust."""

from __future__ import annotations

from robust_tfds.eval.report.figures.parts.breakdown_lines import BreakdownLines
from robust_tfds.eval.report.figures.parts.printed_table import PrintedTable
from robust_tfds.eval.report.figures.parts.redrawn import Redrawn
from robust_tfds.eval.report.figures.parts.stored_pictures import StoredPicture
from robust_tfds.eval.report.figures.shankar import (
  f2,
  f3,
  f4,
  f6,
  f9,
  t8,
)
from robust_tfds.eval.report.reports.frames import classes, distances, offsets

CITATION = (
  "Shankar et al. 2021 (ICCV), Do Image Classifiers Generalize Across Time?,"
  " arXiv 1906.02168"
)

FIGURES = (
  PrintedTable(
    "shankar_t1",
    "Table 1: anchors and pairs that the review accepted",
    of=("shankar2021", "table1"),
  ),
  PrintedTable(
    "shankar_t2",
    "Table 2: accuracy by kind of training",
    of=("shankar2021", "table2"),
    tasks=("frames",),
  ),
  PrintedTable(
    "shankar_t3",
    "Table 3: mAP of detectors on anchors and worst frames",
    of=("shankar2021", "table3"),
  ),
  PrintedTable(
    "shankar_t4",
    "Table 4: accuracy before and after the review",
    of=("shankar2021", "table4"),
    tasks=("frames",),
    # Reviewed frames, and all, where the run has both (config `all`).
    suffixes=(("all", "/unreviewed"), ("reviewed", "")),
  ),
  PrintedTable(
    "shankar_t5",
    "Table 5: accuracy on ImageNet-Vid-Robust",
    of=("shankar2021", "table5"),
    tasks=("frames",),
    best_first="acc_orig",
  ),
  PrintedTable(
    "shankar_t6",
    "Table 6: accuracy on YTBB-Robust",
    of=("shankar2021", "table6"),
    tasks=("frames",),
    best_first="acc_orig",
  ),
  PrintedTable(
    "shankar_t7",
    "Table 7: accuracy without anchors of a frame type",
    of=("shankar2021", "table7"),
    tasks=("frames",),
    suffixes=(
      ("all", ""),
      *((f"without {t}-frames", f"/without_frame_type={t}") for t in "IPB"),
    ),
  ),
  t8.Table8(
    "shankar_t8",
    "Table 8: accuracy by frame rate",
    of=("shankar2021", "table8"),
    tasks=("frames",),
  ),
  PrintedTable(
    "shankar_t9",
    "Table 9: a network of the thirty classes alone",
    of=("shankar2021", "table9"),
    tasks=("frames",),
  ),
  PrintedTable(
    "shankar_t10",
    "Table 10: how classifiers were fine-tuned",
    of=("shankar2021", "table10"),
  ),
  PrintedTable(
    "shankar_t11",
    "Table 11: how detectors were fine-tuned",
    of=("shankar2021", "table11"),
  ),
  # Sets of frames with a failing one.
  StoredPicture(
    "shankar_f1",
    "Figure 1: similar frames that a model gets wrong",
    source="pictures that the reports of a run have drawn",
    tasks=("frames",),
    file="natural_gallery.png",
  ),
  f2.Figure2(
    "shankar_f2",
    "Figure 2: frames that the review left out, by offset",
    source="runs with config.data.config=all, which has the frames before the review",
    tasks=("frames",),
    needs_runs=True,
  ),
  f3.Figure3(
    "shankar_f3",
    "Figure 3: accuracy on anchors and on worst frames",
    source="eval/papers: Table 5 and the authors' testbed of 335 models",
    tasks=("frames",),
  ),
  f4.Figure4(
    "shankar_f4",
    "Figure 4: detectors on anchors and worst frames, as numbers",
    source="eval/papers: Table 3; no frames or boxes are published",
  ),
  Redrawn(
    "shankar_f5",
    "Figure 5: errors at each offset from the anchor",
    source="runs; the paper prints no numbers of it",
    tasks=("frames",),
    report=offsets.Offsets(),
    shows=("error/offset=",),
  ),
  f6.Figure6(
    "shankar_f6",
    "Figure 6: the same worst frame for all models (Appendix C)",
    source="runs of two models or more; the paper prints no numbers of it",
    tasks=("frames",),
    needs_runs=True,
  ),
  Redrawn(
    "shankar_f7",
    "Figure 7: accuracy on anchors and worst frames by class",
    source="runs; the paper prints no numbers of it",
    tasks=("frames",),
    report=classes.Classes(),
    shows=("acc_orig/class=", "acc_pmk/class="),
  ),
  # The conditional accuracy of Gu et al. (Appendix E).
  BreakdownLines(
    "shankar_f8",
    "Figure 8: right at exactly this distance, given a right anchor",
    metric="conditional",
    breakdown="distance",
    axis="distance from the anchor (frames)",
  ),
  f9.Figure9(
    "shankar_f9",
    "Figure 9: how pm-k is scored (a scheme)",
    drawn_from="our own code",
    source="our own drawing: made-up frames, the rule of section 2.2",
  ),
  # Distribution of all pairs, and of those that each model gets wrong.
  Redrawn(
    "shankar_f10",
    "Figure 10: l-infinity distances of similar frames (Appendix F)",
    source="runs; the paper prints no numbers of it",
    tasks=("frames",),
    report=distances.Distances(),
    shows=("linf_cdf/",),
  ),
  # pm-k, cumulative: right on the anchor and on all frames within k.
  BreakdownLines(
    "shankar_f11",
    "Figure 11: pm-k accuracy, right on all frames within k",
    metric="acc_pmk",
    breakdown="k",
    axis="k (frames)",
  ),
)
