"""Calibration: binned errors of the answers' scores, NLL and Brier score."""

from eval.metrics import calibration
from eval.metrics.answers.base import AnswerMetric
from eval.metrics.definitions.base import Topic

_BIASED = (
  "No interval: the estimate is biased upwards by how many examples a bin has."
)

TOPIC = Topic(
  "Calibration",
  "A model gives a confidence p, the probability of the class it predicts. It is"
  " calibrated where it is right in a share p of the cases. acc and conf are means"
  " within a bin. The errors are biased upwards, the more the fewer examples there"
  " are, and have no interval. `mean_` before a name is the mean of the conditions'"
  " numbers.",
  (
    AnswerMetric(
      name="ece",
      heading="ECE",
      sense="lower",
      bounds=(0, 1),
      words="Expected calibration error over 15 bins of equal width.",
      population=_BIASED,
      formula="Σ_b n_b / n · |acc(b) − conf(b)|",
      source="Guo et al. 2017 (arXiv 1706.04599), equation 3",
      number=lambda a: calibration.ece(a.score, a.correct),
      needs=("score",),
    ),
    AnswerMetric(
      name="ece_adaptive",
      heading="Adaptive ECE",
      sense="lower",
      bounds=(0, 1),
      words="The same over 15 bins of equally many examples.",
      population=_BIASED,
      formula="Σ_b n_b / n · |acc(b) − conf(b)|",
      source="Nixon et al. 2019 (arXiv 1904.01685), section 3.3; top class alone",
      number=lambda a: calibration.ece_adaptive(a.score, a.correct),
      needs=("score",),
    ),
    AnswerMetric(
      name="rms_calibration_error",
      heading="RMS calibration error",
      sense="lower",
      bounds=(0, 1),
      words="The root of the mean squared gap over bins of about 100 examples each.",
      population=_BIASED,
      formula="√(Σ_b n_b / n · (acc(b) − conf(b))²)",
      source="Hendrycks et al. 2019 (arXiv 1812.04606)",
      number=lambda a: calibration.rms_calibration_error(a.score, a.correct),
      needs=("score",),
    ),
    AnswerMetric(
      name="nll",
      heading="NLL",
      sense="lower",
      bounds=(0, float("inf")),
      words="Negative log-likelihood of the true class under the whole softmax.",
      population="The expected negative log-likelihood of an example of the"
      " population that the set's are drawn from.",
      formula="mean of −ln p(true class)",
      percent=False,
      unit="nats",
      values=lambda a: a.nll,
      needs=("score", "nll"),
    ),
    AnswerMetric(
      name="brier",
      heading="Brier",
      sense="lower",
      bounds=(0, 2),
      words="Squared distance of the whole softmax to the truth.",
      population="The expected Brier score of an example of the population that"
      " the set's are drawn from.",
      formula="mean of Σ_k (p(k) − [k is true])²",
      percent=False,
      unit="none, 0 to 2",
      source="Brier 1950",
      title="Brier score",
      values=lambda a: a.brier,
      needs=("score", "brier"),
    ),
  ),
)
