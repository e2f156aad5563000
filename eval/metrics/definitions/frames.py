"""What is measured of natural perturbations in videos."""

from robust_tfds.eval.metrics.definitions.base import (
  HIGHER,
  LOWER,
  TAORI,
  Metric,
  Topic,
)

_SHANKAR = "Shankar et al. 2021 (arXiv 1906.02168)"
TOPIC = Topic(
  "Natural perturbations in videos",
  "frames",
  "An anchor is a labelled frame; its set holds the frames at most k before or"
  " after it that humans found similar.",
  (
    Metric(
      "acc_orig",
      "pm-0",
      "higher",
      "Accuracy on the anchors alone.",
      "right anchors / anchors",
      source=f"{_SHANKAR}, section 2",
    ),
    Metric(
      "acc_pmk",
      "pm-10",
      "higher",
      "The share of anchors that are right together with every frame of their set"
      " (k = 10, or as the slash says).",
      "anchors right on themselves and on all of their set / anchors",
      source=f"{_SHANKAR}, section 2, Eq. 1",
    ),
    Metric(
      "drop",
      "Drop",
      "lower",
      "What the set's worst frame costs.",
      "pm-0 − pm-10",
      source=f"{_SHANKAR}, section 4",
    ),
    *(
      Metric(
        f"map_{name}",
        f"mAP, {heading}",
        sense,
        f"The same of detection: {words}, mean average precision at IoU 0.50.",
        source=f"{_SHANKAR}, Table 3",
      )
      for name, heading, sense, words in (
        ("orig", "pm-0", HIGHER, "on the anchors alone"),
        ("pmk", "pm-10", HIGHER, "on the worst frame of every set"),
        ("drop", "drop", LOWER, "what the worst frames cost"),
      )
    ),
    Metric(
      "acc_static_worst",
      "Static worst frames",
      "higher",
      "Accuracy on the frame of each set that most models get wrong.",
      source=f"{_SHANKAR}, appendix C",
    ),
    Metric(
      "effective_robustness",
      "Above the published line",
      "higher",
      "pm-10 above the least-squares line over pm-0 of the authors' 335 models, on"
      " linear axes.",
      "pm-10 − (slope · pm-0 + intercept)",
      source=f"{_SHANKAR}, Figure 3; {TAORI}",
    ),
    *(
      Metric(
        f"{name}_{part}",
        f"{part.capitalize()}, {models}",
        "neither",
        f"{part.capitalize()} of the least-squares line of pm-10 over pm-0 of"
        f" {models}.",
        percent=part == "intercept",
        source=f"{_SHANKAR}, Figure 3",
      )
      for name, models in (
        ("published_trend", "the authors' testbed"),
        ("paper_trend", "the models of the paper's table"),
        ("trend", "the run's models"),
      )
      for part in ("slope", "intercept")
    ),
    Metric(
      "error",
      "Error",
      "lower",
      "The share of wrong frames at an offset from their anchor.",
      source=f"{_SHANKAR}, Figure 5",
    ),
    Metric(
      "conditional",
      "Conditional accuracy",
      "higher",
      "Accuracy at exactly one distance, given a right anchor.",
      source="Gu et al. 2019 (arXiv 1904.10076)",
    ),
    Metric(
      "linf_cdf",
      "l∞ distances",
      "neither",
      "The share of pairs, and of those with a mistake, within an l∞ distance.",
      source=f"{_SHANKAR}, appendix F",
    ),
  ),
)
