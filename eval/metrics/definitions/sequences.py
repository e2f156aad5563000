"""What is measured of perturbation sequences."""

from robust_tfds.eval.metrics.definitions.base import HENDRYCKS, Metric, Topic

TOPIC = Topic(
  "Stability over perturbation sequences",
  "sequences",
  "Neighbouring frames of a sequence are compared (frames j and j + d at"
  " difficulty d); of noise every frame with the first. Every pair of a sequence"
  " weighs the same, then every sequence. B is the baseline's number (AlexNet in"
  " the paper, known at difficulty 1). The 10 common perturbations enter the means.",
  (
    Metric(
      "error",
      "Error",
      "lower",
      "The share of clean frames whose most likely class is not the true one.",
      "wrong / n",
    ),
    Metric(
      "clean_error",
      "Clean error",
      "lower",
      "The same, as a number of the benchmark.",
      "wrong / n",
      source=f"{HENDRYCKS}, section 4",
    ),
    Metric(
      "flip_probability",
      "FP",
      "lower",
      "Flip probability: the share of pairs whose predicted classes differ.",
      "FP(p) = mean of [class(earlier) ≠ class(later)]",
      axis="flip probability",
      source=f"{HENDRYCKS}, section 4",
    ),
    Metric(
      "fr",
      "FR",
      "lower",
      "Flip rate: the flip probability as a share of the baseline's.",
      "FR(p) = FP(p) / B(p)",
      normalises="flip_probability",
      axis="flip rate FR",
      source=f"{HENDRYCKS}, section 4",
    ),
    Metric(
      "mean_flip_probability",
      "Mean FP (10)",
      "lower",
      "The plain mean of the flip probabilities.",
      "Σ_p FP(p) / 10",
    ),
    Metric(
      "mfr",
      "mFR",
      "lower",
      "Mean flip rate over the 10 common perturbations.",
      "mFR = Σ_p FR(p) / 10",
      normalises="mean_flip_probability",
      source=f"{HENDRYCKS}, section 4",
    ),
    Metric(
      "unnormalised_t5d",
      "uT5D",
      "lower",
      "Top-5 distance: how far the five best classes move in rank between the"
      " frames of a pair; σ(i) is the later rank of the class that was i-th.",
      "mean of Σ_{i=1..5} |min(i − 1, 5) − min(σ(i) − 1, 5)|",
      axis="top-5 distance",
      percent=False,
      unit="ranks, 0 to 15",
      source=f"{HENDRYCKS}, section 4, appendix C",
    ),
    Metric(
      "t5d",
      "T5D",
      "lower",
      "The top-5 distance as a share of the baseline's.",
      "T5D(p) = uT5D(p) / B(p)",
      normalises="unnormalised_t5d",
      axis="top-5 distance T5D",
      source=f"{HENDRYCKS}, section 4",
    ),
    Metric(
      "mean_unnormalised_t5d",
      "Mean uT5D (10)",
      "lower",
      "The plain mean of the top-5 distances.",
      "Σ_p uT5D(p) / 10",
      percent=False,
      unit="ranks, 0 to 15",
    ),
    Metric(
      "mt5d",
      "mT5D",
      "lower",
      "The mean of T5D over the 10 common perturbations.",
      "mT5D = Σ_p T5D(p) / 10",
      normalises="mean_unnormalised_t5d",
      source=f"{HENDRYCKS}, section 4",
    ),
    *(
      Metric(
        f"{name}_relative_decrease",
        f"{heading}, relative decrease",
        "higher",
        f"By how much a defence lowers the {words}, as a share of what it is"
        " without it.",
        f"1 − {heading}(defended) / {heading}(plain)",
        source=f"{HENDRYCKS}, section 5.2",
      )
      for name, heading, words in (
        ("mfp", "mFP", "mean flip probability"),
        ("mt5d", "mT5D", "mean top-5 distance"),
      )
    ),
    Metric(
      "zipf_distance",
      "Zipf",
      "lower",
      "How far all classes move in rank, the first ranks weighing most.",
      "mean of Σ_{i=1..K} 1/i · |1/i − 1/σ(i)|",
      title="Zipf distance",
      percent=False,
      source=f"{HENDRYCKS}, appendix D",
    ),
  ),
)
