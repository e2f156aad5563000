"""What is measured of natural perturbations in videos."""

from robust_tfds.eval.site.definitions.base import TAORI, Definition, Topic

_SHANKAR = "Shankar et al. 2021 (arXiv 1906.02168)"
TOPIC = Topic(
  "Natural perturbations in videos",
  "frames",
  "An anchor is a labelled frame; its set holds the frames at most k before or"
  " after it that humans found similar.",
  (
    Definition(
      "acc_orig",
      "pm-0",
      "Accuracy on the anchors alone.",
      "right anchors / anchors",
      "higher",
      source=f"{_SHANKAR}, section 2",
    ),
    Definition(
      "acc_pmk",
      "pm-10",
      "The share of anchors that are right together with every frame of their set"
      " (k = 10, or as the slash says).",
      "anchors right on themselves and on all of their set / anchors",
      "higher",
      source=f"{_SHANKAR}, section 2, Eq. 1",
    ),
    Definition(
      "drop",
      "Drop",
      "What the set's worst frame costs.",
      "pm-0 − pm-10",
      source=f"{_SHANKAR}, section 4",
    ),
    Definition(
      "acc_static_worst",
      "Static worst frames",
      "Accuracy on the frame of each set that most models get wrong.",
      sense="higher",
      source=f"{_SHANKAR}, appendix C",
    ),
    Definition(
      "effective_robustness",
      "Above the published line",
      "pm-10 above the least-squares line over pm-0 of the authors' 335 models, on"
      " linear axes.",
      "pm-10 − (slope · pm-0 + intercept)",
      "higher",
      source=f"{_SHANKAR}, Figure 3; {TAORI}",
    ),
    Definition(
      "error",
      "Error",
      "The share of wrong frames at an offset from their anchor.",
      source=f"{_SHANKAR}, Figure 5",
    ),
    Definition(
      "conditional",
      "Conditional accuracy",
      "Accuracy at exactly one distance, given a right anchor.",
      sense="higher",
      source="Gu et al. 2019 (arXiv 1904.10076)",
    ),
    Definition(
      "linf_cdf",
      "l∞ distances",
      "The share of pairs, and of those with a mistake, within an l∞ distance.",
      sense="",
      source=f"{_SHANKAR}, appendix F",
    ),
  ),
)
