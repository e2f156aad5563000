"""What is measured of classification under corruption."""

from robust_tfds.eval.site.definitions.base import HENDRYCKS, Definition, Topic

TOPIC = Topic(
  "Classification under corruption",
  "classification",
  "E(c, s) is the top-1 error at severity s of corruption c, E(clean) that on"
  " clean pictures; B is the same of the baseline (AlexNet in the paper). The 15"
  " common corruptions enter the means, the 4 extra ones only the means that say"
  " so, a user's own none.",
  (
    Definition(
      "error",
      "Error",
      "The share of pictures whose most likely class is not the true one.",
      "E = wrong / n",
      source=f"{HENDRYCKS}, section 4",
    ),
    Definition(
      "top5_error",
      "Top-5 error",
      "The share of pictures whose true class is not among the five most likely.",
      "wrong in all five / n",
    ),
    Definition(
      "clean_error",
      "Clean error",
      "The error on the pictures before anything is done to them.",
      "E(clean)",
      source=f"{HENDRYCKS}, section 4",
    ),
    Definition(
      "mean_error",
      "Mean error",
      "The plain mean of a corruption's errors, not normalised.",
      "Σ_s E(c, s) / 5",
    ),
    Definition(
      "ce",
      "CE",
      "Corruption error: a corruption's errors as a share of the baseline's."
      " 100 % is as good as the baseline.",
      "CE(c) = Σ_s E(c, s) / Σ_s B(c, s)",
      source=f"{HENDRYCKS}, section 4",
    ),
    Definition(
      "relative_ce",
      "Relative CE",
      "What a corruption adds to the clean error, as a share of what it adds to"
      " the baseline's.",
      "Σ_s (E(c, s) − E(clean)) / Σ_s (B(c, s) − B(clean))",
      source=f"{HENDRYCKS}, section 4",
    ),
    Definition(
      "mce",
      "mCE",
      "Mean corruption error over the 15 common corruptions.",
      "mCE = Σ_c CE(c) / 15",
      source=f"{HENDRYCKS}, section 4",
    ),
    Definition(
      "relative_mce",
      "Relative mCE",
      "The mean of the relative CE over the 15 common corruptions.",
      "Σ_c relative CE(c) / 15",
      source=f"{HENDRYCKS}, section 4",
    ),
    Definition(
      "mean_corruption_error",
      "Mean error (15)",
      "The plain mean error over the 15 common corruptions and 5 severities; other"
      " papers call this mCE as well, it is not normalised.",
      "Σ_c Σ_s E(c, s) / 75",
    ),
    Definition(
      "extra_mean_corruption_error",
      "Mean error (extra 4)",
      "The same over the 4 extra corruptions, which are published for validation.",
      "Σ_c Σ_s E(c, s) / 20",
    ),
  ),
)
