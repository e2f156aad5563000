"""Effective robustness, of every task."""

from robust_tfds.eval.site.definitions.base import TAORI, Definition, Topic

TOPIC = Topic(
  "Effective robustness",
  "",
  "Accuracy under shift above what the accuracy without it predicts.",
  (
    Definition(
      "effective_robustness_logit",
      "Effective robustness",
      "Accuracy under shift above a line over the accuracy without it, fitted on"
      " logit axes over a named reference.",
      "y − expit(a · logit(x) + b)",
      "higher",
      source=TAORI,
    ),
  ),
)
