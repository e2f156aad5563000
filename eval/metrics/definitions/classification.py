"""What is measured of classification under corruption."""

from robust_tfds.eval.metrics.definitions.base import HENDRYCKS, Metric, Topic

TOPIC = Topic(
  "Classification under corruption",
  "classification",
  "E(c, s) is the top-1 error at severity s of corruption c, E(clean) that on"
  " clean pictures; B is the same of the baseline (AlexNet in the paper). The 15"
  " common corruptions enter the means, the 4 extra ones only the means that say"
  " so, a user's own none.",
  (
    Metric(
      "error",
      "Error",
      "lower",
      "The share of pictures whose most likely class is not the true one.",
      "E = wrong / n",
      source=f"{HENDRYCKS}, section 4",
    ),
    Metric(
      "top5_error",
      "Top-5 error",
      "lower",
      "The share of pictures whose true class is not among the five most likely.",
      "wrong in all five / n",
    ),
    Metric(
      "clean_error",
      "Clean error",
      "lower",
      "The error on the pictures before anything is done to them.",
      "E(clean)",
      source=f"{HENDRYCKS}, section 4",
    ),
    Metric(
      "mean_error",
      "error",
      "lower",
      "The plain mean of a corruption's errors, not normalised.",
      "Σ_s E(c, s) / 5",
      title="Mean error",
    ),
    Metric(
      "ce",
      "CE",
      "lower",
      "Corruption error: a corruption's errors as a share of the baseline's."
      " 100 % is as good as the baseline.",
      "CE(c) = Σ_s E(c, s) / Σ_s B(c, s)",
      normalises="mean_error",
      source=f"{HENDRYCKS}, section 4",
    ),
    Metric(
      "relative_ce",
      "Relative CE",
      "lower",
      "What a corruption adds to the clean error, as a share of what it adds to"
      " the baseline's.",
      "Σ_s (E(c, s) − E(clean)) / Σ_s (B(c, s) − B(clean))",
      source=f"{HENDRYCKS}, section 4",
    ),
    Metric(
      "mce",
      "mCE",
      "lower",
      "Mean corruption error over the 15 common corruptions.",
      "mCE = Σ_c CE(c) / 15",
      normalises="mean_corruption_error",
      source=f"{HENDRYCKS}, section 4",
    ),
    Metric(
      "relative_mce",
      "Relative mCE",
      "lower",
      "The mean of the relative CE over the 15 common corruptions.",
      "Σ_c relative CE(c) / 15",
      source=f"{HENDRYCKS}, section 4",
    ),
    Metric(
      "mean_corruption_error",
      "Mean error (15)",
      "lower",
      "The plain mean error over the 15 common corruptions and 5 severities; other"
      " papers call this mCE as well, it is not normalised.",
      "Σ_c Σ_s E(c, s) / 75",
    ),
    Metric(
      "extra_mean_corruption_error",
      "Mean error (extra 4)",
      "lower",
      "The same over the 4 extra corruptions, which are published for validation.",
      "Σ_c Σ_s E(c, s) / 20",
    ),
  ),
)
