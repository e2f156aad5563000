"""What is measured of action recognition under perturbation."""

from robust_tfds.eval.metrics.definitions.base import Metric, Topic

_SCHIAPPA = "Schiappa et al. 2023 (arXiv 2207.01398)"
TOPIC = Topic(
  "Action recognition under perturbation",
  "video",
  "A is the accuracy on clean videos, A(p, s) that at severity s of perturbation"
  " p; softmax scores are averaged over a video's clips. Means are over severities,"
  " then the perturbations of a group, then the groups.",
  (
    Metric(
      "accuracy",
      "Accuracy",
      "higher",
      "The share of videos whose most likely class is the true one. Behind the"
      " slash: a category or a natural shift.",
      "right / n",
      source=f"{_SCHIAPPA}, section 4",
    ),
    Metric(
      "top5_accuracy",
      "Top-5 accuracy",
      "higher",
      "The share of videos whose true class is among the five most likely.",
      "right in one of five / n",
    ),
    Metric(
      "clean_accuracy",
      "Clean accuracy",
      "higher",
      "The accuracy on videos without perturbation.",
      "A",
      source=f"{_SCHIAPPA}, section 4",
    ),
    Metric(
      "gamma_a",
      "gamma_a",
      "higher",
      "Absolute robustness: one less the accuracy that is lost. Behind the slash:"
      " of one group.",
      "γ_a = 1 − (A − A(p, s))",
      source=f"{_SCHIAPPA}, section 4",
    ),
    Metric(
      "gamma_r",
      "gamma_r",
      "higher",
      "Relative robustness: the share of the accuracy that is left. Behind the"
      " slash: of one group.",
      "γ_r = 1 − (A − A(p, s)) / A",
      source=f"{_SCHIAPPA}, section 4",
    ),
    Metric(
      "natural_accuracy",
      "Accuracy under natural shifts",
      "higher",
      "The accuracy on videos that show a shift by nature (UCF101-DS).",
      "right / n",
      source=f"{_SCHIAPPA}, section 3",
    ),
    Metric(
      "natural_category_accuracy",
      "Mean of the categories",
      "higher",
      "The mean of the categories' accuracies.",
      "Σ_k accuracy(k) / categories",
      source=f"{_SCHIAPPA}, section 3",
    ),
  ),
  {
    f"gamma_r/{group}": group
    for group in ("blur", "digital", "temporal", "camera")
  },
)
