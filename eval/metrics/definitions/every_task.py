"""What is measured in every task: calibration, effective robustness."""

from robust_tfds.eval.metrics.definitions.base import TAORI, Metric, Topic

CALIBRATION = Topic(
  "Calibration",
  "",
  "A model gives a confidence p, the probability of the class it predicts. It is"
  " calibrated where it is right in a share p of the cases. acc and conf are means"
  " within a bin. The errors are biased upwards, the more the fewer examples there"
  " are, and have no interval. `mean_` before a name is the mean of the conditions'"
  " numbers.",
  (
    Metric(
      "ece",
      "ECE",
      "lower",
      "Expected calibration error over 15 bins of equal width.",
      "Σ_b n_b / n · |acc(b) − conf(b)|",
      source="Guo et al. 2017 (arXiv 1706.04599), equation 3",
    ),
    Metric(
      "ece_adaptive",
      "Adaptive ECE",
      "lower",
      "The same over 15 bins of equally many examples.",
      "Σ_b n_b / n · |acc(b) − conf(b)|",
      source="Nixon et al. 2019 (arXiv 1904.01685), section 3.3; top class alone",
    ),
    Metric(
      "rms_calibration_error",
      "RMS calibration error",
      "lower",
      "The root of the mean squared gap over bins of about 100 examples each.",
      "√(Σ_b n_b / n · (acc(b) − conf(b))²)",
      source="Hendrycks et al. 2019 (arXiv 1812.04606)",
    ),
    Metric(
      "nll",
      "NLL",
      "lower",
      "Negative log-likelihood of the true class under the whole softmax.",
      "mean of −ln p(true class)",
      percent=False,
      unit="nats",
    ),
    Metric(
      "brier",
      "Brier",
      "lower",
      "Squared distance of the whole softmax to the truth.",
      "mean of Σ_k (p(k) − [k is true])²",
      title="Brier score",
      percent=False,
      unit="none, 0 to 2",
      source="Brier 1950",
    ),
  ),
)

EFFECTIVE_ROBUSTNESS = Topic(
  "Effective robustness",
  "",
  "Accuracy under shift above what the accuracy without it predicts.",
  (
    Metric(
      "effective_robustness_logit",
      "Effective robustness (logit)",
      "higher",
      "Accuracy under shift above a line over the accuracy without it, fitted on"
      " logit axes over a named reference.",
      "y − expit(a · logit(x) + b)",
      title="Effective robustness",
      source=TAORI,
    ),
  ),
)

TOPICS = (CALIBRATION, EFFECTIVE_ROBUSTNESS)
