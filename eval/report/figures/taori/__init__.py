"""Effective robustness: distance above the line of a reference, on logit axes."""

from __future__ import annotations

from robust_tfds.eval.compare.boards import effective
from robust_tfds.eval.report.figures.taori import effective_robustness

CITATION = (
  "Taori et al. 2020 (NeurIPS), Measuring Robustness to Natural Distribution"
  " Shifts in Image Classification, arXiv 2007.00644"
)

FIGURES = (
  effective_robustness.EffectiveRobustness(
    "effective_robustness",
    "Effective robustness: how far above the line of other models",
    source="eval/papers: the testbed of 335 models, or the printed networks",
    tasks=tuple(effective.AXES),
  ),
)
