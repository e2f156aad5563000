"""What is measured of action recognition under perturbation."""

from robust_tfds.eval.site.definitions.base import Definition, Topic

_SCHIAPPA = "Schiappa et al. 2023 (arXiv 2207.01398)"
TOPIC = Topic(
  "Action recognition under perturbation",
  "video",
  "A is the accuracy on clean videos, A(p, s) that at severity s of perturbation"
  " p; softmax scores are averaged over a video's clips. Means are over severities,"
  " then the perturbations of a group, then the groups.",
  (
    Definition(
      "accuracy",
      "Accuracy",
      "The share of videos whose most likely class is the true one. Behind the"
      " slash: a category or a natural shift.",
      "right / n",
      "higher",
      source=f"{_SCHIAPPA}, section 4",
    ),
    Definition(
      "top5_accuracy",
      "Top-5 accuracy",
      "The share of videos whose true class is among the five most likely.",
      "right in one of five / n",
      "higher",
    ),
    Definition(
      "clean_accuracy",
      "Clean accuracy",
      "The accuracy on videos without perturbation.",
      "A",
      "higher",
      source=f"{_SCHIAPPA}, section 4",
    ),
    Definition(
      "gamma_a",
      "γ_a",
      "Absolute robustness: one less the accuracy that is lost. Behind the slash:"
      " of one group.",
      "γ_a = 1 − (A − A(p, s))",
      "higher",
      source=f"{_SCHIAPPA}, section 4",
    ),
    Definition(
      "gamma_r",
      "γ_r",
      "Relative robustness: the share of the accuracy that is left. Behind the"
      " slash: of one group.",
      "γ_r = 1 − (A − A(p, s)) / A",
      "higher",
      source=f"{_SCHIAPPA}, section 4",
    ),
    Definition(
      "natural_accuracy",
      "Accuracy under natural shifts",
      "The accuracy on videos that show a shift by nature (UCF101-DS).",
      "right / n",
      "higher",
      source=f"{_SCHIAPPA}, section 3",
    ),
    Definition(
      "natural_category_accuracy",
      "Mean of the categories",
      "The mean of the categories' accuracies.",
      "Σ_k accuracy(k) / categories",
      "higher",
      source=f"{_SCHIAPPA}, section 3",
    ),
  ),
)
