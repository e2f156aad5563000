"""What is measured of the top score and the softmax, of every task."""

from robust_tfds.eval.site.definitions.base import Definition, Topic

TOPIC = Topic(
  "Calibration",
  "",
  "A model gives a confidence p, the probability of the class it predicts. It is"
  " calibrated where it is right in a share p of the cases. acc and conf are means"
  " within a bin. The errors are biased upwards, the more the fewer examples there"
  " are, and have no interval. `mean_` before a name is the mean of the conditions'"
  " numbers.",
  (
    Definition(
      "ece",
      "ECE",
      "Expected calibration error over 15 bins of equal width.",
      "Σ_b n_b / n · |acc(b) − conf(b)|",
      source="Guo et al. 2017 (arXiv 1706.04599), equation 3",
    ),
    Definition(
      "ece_adaptive",
      "Adaptive ECE",
      "The same over 15 bins of equally many examples.",
      "Σ_b n_b / n · |acc(b) − conf(b)|",
      source="Nixon et al. 2019 (arXiv 1904.01685), section 3.3; top class alone",
    ),
    Definition(
      "rms_calibration_error",
      "RMS calibration error",
      "The root of the mean squared gap over bins of about 100 examples each.",
      "√(Σ_b n_b / n · (acc(b) − conf(b))²)",
      source="Hendrycks et al. 2019 (arXiv 1812.04606)",
    ),
    Definition(
      "nll",
      "NLL",
      "Negative log-likelihood of the true class under the whole softmax.",
      "mean of −ln p(true class)",
      percent=False,
      unit="nats",
    ),
    Definition(
      "brier",
      "Brier score",
      "Squared distance of the whole softmax to the truth.",
      "mean of Σ_k (p(k) − [k is true])²",
      percent=False,
      unit="none, 0 to 2",
      source="Brier 1950",
    ),
  ),
)
