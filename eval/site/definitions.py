"""What every number of the site is: formula, unit, sense, source.

A metric `a/b=3` is of the family `a`: the text behind the slash says which part
(a class, a distance k, a group). A leading `bbox/` or `segm/` is no part: it says
whose overlap is meant. What nobody defined here has no definition and stands under
its own name.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Literal

from robust_tfds.eval.results.facts import Metric
from robust_tfds.eval.results.facts import TaskFacts

Sense = Literal["lower", "higher", ""]

_HENDRYCKS = "Hendrycks & Dietterich 2019 (arXiv 1903.12261)"
_MICHAELIS = "Michaelis et al. 2019 (arXiv 1907.07484)"
_SHANKAR = "Shankar et al. 2021 (arXiv 1906.02168)"
_SCHIAPPA = "Schiappa et al. 2023 (arXiv 2207.01398)"
_COCO = "Lin et al. 2014 (arXiv 1405.0312); the rules are pycocotools'"
_TAORI = "Taori et al. 2020 (arXiv 2007.00644), section 2"


@dataclasses.dataclass(frozen=True)
class Definition:
  """One metric, or one family of metrics.

  Attributes:
    metric: its name in tables; of a family without what follows the slash.
    heading: over a column.
    words: what is measured.
    formula: as plain text.
    sense: which direction is better; empty where neither is.
    percent: a fraction, shown in percent.
    source: paper and section.
    unit: of what is no fraction.
  """

  metric: str
  heading: str
  words: str
  formula: str = ""
  sense: Sense = "lower"
  percent: bool = True
  source: str = ""
  unit: str = ""

  @property
  def unit_words(self) -> str:
    """The unit, for the page of definitions."""
    return "%, stored as a fraction" if self.percent else self.unit or "none"

  @property
  def sense_words(self) -> str:
    """The direction, for the page of definitions."""
    return f"{self.sense} is better" if self.sense else "neither is better"


@dataclasses.dataclass(frozen=True)
class Topic:
  """Definitions that belong together.

  Attributes:
    title: over them.
    task: whose numbers they are; empty for every task's.
    words: what is common to them.
    definitions: in order.
  """

  title: str
  task: str
  words: str
  definitions: tuple[Definition, ...]


_D = Definition
_CLASSIFICATION = Topic(
  "Classification under corruption",
  "classification",
  "E(c, s) is the top-1 error at severity s of corruption c, E(clean) that on"
  " clean pictures; B is the same of the baseline (AlexNet in the paper). The 15"
  " common corruptions enter the means, the 4 extra ones only the means that say"
  " so, a user's own none.",
  (
    _D(
      "error",
      "Error",
      "The share of pictures whose most likely class is not the true one.",
      "E = wrong / n",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "top5_error",
      "Top-5 error",
      "The share of pictures whose true class is not among the five most likely.",
      "wrong in all five / n",
    ),
    _D(
      "clean_error",
      "Clean error",
      "The error on the pictures before anything is done to them.",
      "E(clean)",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "mean_error",
      "Mean error",
      "The plain mean of a corruption's errors, not normalised.",
      "Σ_s E(c, s) / 5",
    ),
    _D(
      "ce",
      "CE",
      "Corruption error: a corruption's errors as a share of the baseline's."
      " 100 % is as good as the baseline.",
      "CE(c) = Σ_s E(c, s) / Σ_s B(c, s)",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "relative_ce",
      "Relative CE",
      "What a corruption adds to the clean error, as a share of what it adds to"
      " the baseline's.",
      "Σ_s (E(c, s) − E(clean)) / Σ_s (B(c, s) − B(clean))",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "mce",
      "mCE",
      "Mean corruption error over the 15 common corruptions.",
      "mCE = Σ_c CE(c) / 15",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "relative_mce",
      "Relative mCE",
      "The mean of the relative CE over the 15 common corruptions.",
      "Σ_c relative CE(c) / 15",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "mean_corruption_error",
      "Mean error (15)",
      "The plain mean error over the 15 common corruptions and 5 severities; other"
      " papers call this mCE as well, it is not normalised.",
      "Σ_c Σ_s E(c, s) / 75",
    ),
    _D(
      "extra_mean_corruption_error",
      "Mean error (extra 4)",
      "The same over the 4 extra corruptions, which are published for validation.",
      "Σ_c Σ_s E(c, s) / 20",
    ),
  ),
)
_CALIBRATION = Topic(
  "Calibration",
  "",
  "A model gives a confidence p, the probability of the class it predicts. It is"
  " calibrated where it is right in a share p of the cases. acc and conf are means"
  " within a bin. The errors are biased upwards, the more the fewer examples there"
  " are, and have no interval. `mean_` before a name is the mean of the conditions'"
  " numbers.",
  (
    _D(
      "ece",
      "ECE",
      "Expected calibration error over 15 bins of equal width.",
      "Σ_b n_b / n · |acc(b) − conf(b)|",
      source="Guo et al. 2017 (arXiv 1706.04599), equation 3",
    ),
    _D(
      "ece_adaptive",
      "Adaptive ECE",
      "The same over 15 bins of equally many examples.",
      "Σ_b n_b / n · |acc(b) − conf(b)|",
      source="Nixon et al. 2019 (arXiv 1904.01685), section 3.3; top class alone",
    ),
    _D(
      "rms_calibration_error",
      "RMS calibration error",
      "The root of the mean squared gap over bins of about 100 examples each.",
      "√(Σ_b n_b / n · (acc(b) − conf(b))²)",
      source="Hendrycks et al. 2019 (arXiv 1812.04606)",
    ),
    _D(
      "nll",
      "NLL",
      "Negative log-likelihood of the true class under the whole softmax.",
      "mean of −ln p(true class)",
      percent=False,
      unit="nats",
    ),
    _D(
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
_SEQUENCES = Topic(
  "Stability over perturbation sequences",
  "sequences",
  "Neighbouring frames of a sequence are compared (frames j and j + d at"
  " difficulty d); of noise every frame with the first. Every pair of a sequence"
  " weighs the same, then every sequence. B is the baseline's number (AlexNet in"
  " the paper, known at difficulty 1). The 10 common perturbations enter the means.",
  (
    _D(
      "error",
      "Error",
      "The share of clean frames whose most likely class is not the true one.",
      "wrong / n",
    ),
    _D(
      "clean_error",
      "Clean error",
      "The same, as a number of the benchmark.",
      "wrong / n",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "flip_probability",
      "FP",
      "Flip probability: the share of pairs whose predicted classes differ.",
      "FP(p) = mean of [class(earlier) ≠ class(later)]",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "fr",
      "FR",
      "Flip rate: the flip probability as a share of the baseline's.",
      "FR(p) = FP(p) / B(p)",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "mean_flip_probability",
      "Mean FP (10)",
      "The plain mean of the flip probabilities.",
      "Σ_p FP(p) / 10",
    ),
    _D(
      "mfr",
      "mFR",
      "Mean flip rate over the 10 common perturbations.",
      "mFR = Σ_p FR(p) / 10",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "unnormalised_t5d",
      "uT5D",
      "Top-5 distance: how far the five best classes move in rank between the"
      " frames of a pair; σ(i) is the later rank of the class that was i-th.",
      "mean of Σ_{i=1..5} |min(i − 1, 5) − min(σ(i) − 1, 5)|",
      percent=False,
      unit="ranks, 0 to 15",
      source=f"{_HENDRYCKS}, section 4, appendix C",
    ),
    _D(
      "t5d",
      "T5D",
      "The top-5 distance as a share of the baseline's.",
      "T5D(p) = uT5D(p) / B(p)",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "mean_unnormalised_t5d",
      "Mean uT5D (10)",
      "The plain mean of the top-5 distances.",
      "Σ_p uT5D(p) / 10",
      percent=False,
      unit="ranks, 0 to 15",
    ),
    _D(
      "mt5d",
      "mT5D",
      "The mean of T5D over the 10 common perturbations.",
      "mT5D = Σ_p T5D(p) / 10",
      source=f"{_HENDRYCKS}, section 4",
    ),
    _D(
      "zipf_distance",
      "Zipf distance",
      "How far all classes move in rank, the first ranks weighing most.",
      "mean of Σ_{i=1..K} 1/i · |1/i − 1/σ(i)|",
      percent=False,
      source=f"{_HENDRYCKS}, appendix D",
    ),
  ),
)
_DETECTION = Topic(
  "Detection under corruption",
  "detection",
  "A detection counts as right where it overlaps an object of its class enough"
  " (IoU). `bbox/` is the overlap of boxes, `segm/` that of masks.",
  (
    _D(
      "AP",
      "AP",
      "Average precision at 101 recalls, the mean over the IoU thresholds 0.50,"
      " 0.55, ..., 0.95 and over the classes.",
      "mean over classes and thresholds of Σ_r precision(r) / 101",
      "higher",
      source=_COCO,
    ),
    _D(
      "AP50",
      "AP50",
      "Average precision at IoU 0.50; on Pascal VOC by VOC's rules (the area under"
      " the curve of precision over recall).",
      sense="higher",
      source=_COCO,
    ),
    _D(
      "AP75",
      "AP75",
      "Average precision at IoU 0.75.",
      sense="higher",
      source=_COCO,
    ),
    *(
      _D(
        f"AP{size}",
        f"AP {word}",
        f"AP of {word} objects ({area} pixels).",
        sense="higher",
        source=_COCO,
      )
      for size, word, area in (
        ("s", "small", "below 32²"),
        ("m", "medium", "32² to 96²"),
        ("l", "large", "above 96²"),
      )
    ),
    *(
      _D(
        f"AR{most}",
        f"AR {most}",
        f"Average recall with at most {most} detections a picture.",
        sense="higher",
        source=_COCO,
      )
      for most in ("1", "10", "100")
    ),
    *(
      _D(
        f"AR{size}",
        f"AR {word}",
        f"Average recall of {word} objects.",
        sense="higher",
        source=_COCO,
      )
      for size, word in (("s", "small"), ("m", "medium"), ("l", "large"))
    ),
    _D(
      "mean_ap",
      "Mean AP",
      "The mean of a corruption's performances over its severities.",
      "Σ_s P(c, s) / 5",
      "higher",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    _D(
      "p",
      "P",
      "Performance on clean pictures: AP, of Pascal VOC AP50.",
      "P = P(clean)",
      "higher",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    _D(
      "mpc",
      "mPC",
      "Mean performance under corruption, over the 15 common corruptions and 5"
      " severities.",
      "mPC = Σ_c Σ_s P(c, s) / 75",
      "higher",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    _D(
      "rpc",
      "rPC",
      "Relative performance under corruption: the share that is left.",
      "rPC = mPC / P",
      "higher",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    _D(
      "mpc_all",
      "mPC (19)",
      "The same mean over all 19 corruptions.",
      "Σ_c Σ_s P(c, s) / 95",
      "higher",
    ),
    _D("rpc_all", "rPC (19)", "mPC (19) / P.", "mPC (19) / P", "higher"),
    _D(
      "mpc_validation",
      "mPC (validation 4)",
      "The same mean over the 4 corruptions that are for validation.",
      "Σ_c Σ_s P(c, s) / 20",
      "higher",
    ),
  ),
)
_VIDEO = Topic(
  "Action recognition under perturbation",
  "video",
  "A is the accuracy on clean videos, A(p, s) that at severity s of perturbation"
  " p; softmax scores are averaged over a video's clips. Means are over severities,"
  " then the perturbations of a group, then the groups.",
  (
    _D(
      "accuracy",
      "Accuracy",
      "The share of videos whose most likely class is the true one. Behind the"
      " slash: a category or a natural shift.",
      "right / n",
      "higher",
      source=f"{_SCHIAPPA}, section 4",
    ),
    _D(
      "top5_accuracy",
      "Top-5 accuracy",
      "The share of videos whose true class is among the five most likely.",
      "right in one of five / n",
      "higher",
    ),
    _D(
      "clean_accuracy",
      "Clean accuracy",
      "The accuracy on videos without perturbation.",
      "A",
      "higher",
      source=f"{_SCHIAPPA}, section 4",
    ),
    _D(
      "gamma_a",
      "γ_a",
      "Absolute robustness: one less the accuracy that is lost. Behind the slash:"
      " of one group.",
      "γ_a = 1 − (A − A(p, s))",
      "higher",
      source=f"{_SCHIAPPA}, section 4",
    ),
    _D(
      "gamma_r",
      "γ_r",
      "Relative robustness: the share of the accuracy that is left. Behind the"
      " slash: of one group.",
      "γ_r = 1 − (A − A(p, s)) / A",
      "higher",
      source=f"{_SCHIAPPA}, section 4",
    ),
    _D(
      "natural_accuracy",
      "Accuracy under natural shifts",
      "The accuracy on videos that show a shift by nature (UCF101-DS).",
      "right / n",
      "higher",
      source=f"{_SCHIAPPA}, section 3",
    ),
    _D(
      "natural_category_accuracy",
      "Mean of the categories",
      "The mean of the categories' accuracies.",
      "Σ_k accuracy(k) / categories",
      "higher",
      source=f"{_SCHIAPPA}, section 3",
    ),
  ),
)
_FRAMES = Topic(
  "Natural perturbations in videos",
  "frames",
  "An anchor is a labelled frame; its set holds the frames at most k before or"
  " after it that humans found similar.",
  (
    _D(
      "acc_orig",
      "pm-0",
      "Accuracy on the anchors alone.",
      "right anchors / anchors",
      "higher",
      source=f"{_SHANKAR}, section 2",
    ),
    _D(
      "acc_pmk",
      "pm-10",
      "The share of anchors that are right together with every frame of their set"
      " (k = 10, or as the slash says).",
      "anchors right on themselves and on all of their set / anchors",
      "higher",
      source=f"{_SHANKAR}, section 2, Eq. 1",
    ),
    _D(
      "drop",
      "Drop",
      "What the set's worst frame costs.",
      "pm-0 − pm-10",
      source=f"{_SHANKAR}, section 4",
    ),
    _D(
      "acc_static_worst",
      "Static worst frames",
      "Accuracy on the frame of each set that most models get wrong.",
      sense="higher",
      source=f"{_SHANKAR}, appendix C",
    ),
    _D(
      "effective_robustness",
      "Above the published line",
      "pm-10 above the least-squares line over pm-0 of the authors' 335 models, on"
      " linear axes.",
      "pm-10 − (slope · pm-0 + intercept)",
      "higher",
      source=f"{_SHANKAR}, Figure 3; {_TAORI}",
    ),
    _D(
      "error",
      "Error",
      "The share of wrong frames at an offset from their anchor.",
      source=f"{_SHANKAR}, Figure 5",
    ),
    _D(
      "conditional",
      "Conditional accuracy",
      "Accuracy at exactly one distance, given a right anchor.",
      sense="higher",
      source="Gu et al. 2019 (arXiv 1904.10076)",
    ),
    _D(
      "linf_cdf",
      "l∞ distances",
      "The share of pairs, and of those with a mistake, within an l∞ distance.",
      sense="",
      source=f"{_SHANKAR}, appendix F",
    ),
  ),
)
_ROBUSTNESS = Topic(
  "Effective robustness",
  "",
  "Accuracy under shift above what the accuracy without it predicts.",
  (
    _D(
      "effective_robustness_logit",
      "Effective robustness",
      "Accuracy under shift above a line over the accuracy without it, fitted on"
      " logit axes over a named reference.",
      "y − expit(a · logit(x) + b)",
      "higher",
      source=_TAORI,
    ),
  ),
)
TOPICS = (
  _CLASSIFICATION,
  _SEQUENCES,
  _DETECTION,
  _VIDEO,
  _FRAMES,
  _CALIBRATION,
  _ROBUSTNESS,
)
# Of a number that is a mean of another over conditions.
_MEAN = "mean_"
_OVERLAPS: Mapping[str, str] = {"bbox": "", "segm": "Mask "}


def topic_of(task: str) -> Topic | None:
  """A task's own topic."""
  for topic in TOPICS:
    if topic.task == task:
      return topic
  return None


def anchor(topic: Topic, definition: Definition) -> str:
  """The id of a definition on its page: one metric has several meanings."""
  return (
    f"{topic.task}-{definition.metric}" if topic.task else definition.metric
  )


@functools.cache
def find(task: str, metric: str) -> tuple[Topic, Definition] | None:
  """The definition of a task's metric, or of its family; None: nobody wrote one.

  A mean over conditions that has no definition of its own has that of the number
  that is averaged.

  >>> find("frames", "acc_pmk/k=3")[1].heading
  'pm-10'
  >>> find("classification", "mean_ece")[1].heading
  'ECE'
  """
  name = _family(metric)
  own = [topic for topic in TOPICS if topic.task in (task, "")]
  # Clean cells of other tasks are scored as those of classification are.
  for topic in (*own, _CLASSIFICATION):
    for definition in topic.definitions:
      if definition.metric == name:
        return topic, definition
  if name.startswith(_MEAN):
    return find(task, name.removeprefix(_MEAN))
  return None


def shown(facts: TaskFacts, metric: str) -> Metric:
  """How a metric is shown: as the task says, else as its definition does.

  >>> from robust_tfds.eval.results import facts
  >>> shown(facts.TaskFacts("detection", "corruption", ()), "bbox/AP50").heading
  'AP50'
  """
  stated = (*facts.headlines, *facts.details, *facts.others)
  for one in stated:
    if one.name == metric:
      return one
  defined = find(facts.task, metric)
  if defined is None:
    return Metric(metric, metric.replace("_", " "))
  definition = defined[1]
  of_others = metric.startswith(_MEAN) and definition.metric != _family(metric)
  before = "Mean " if of_others else ""
  return Metric(
    metric,
    before + _heading(definition, metric),
    higher_is_better=definition.sense == "higher",
    percent=definition.percent,
  )


def _family(metric: str) -> str:
  """`acc_pmk` of `acc_pmk/k=3`, `AP` of `bbox/AP`."""
  parts = [part for part in metric.split("/") if part not in _OVERLAPS]
  return parts[0] if parts else ""


def _heading(definition: Definition, metric: str) -> str:
  """Of a family's member with its part: `pm-10, k=3`."""
  first, *rest = metric.split("/")
  if first in _OVERLAPS:
    return _OVERLAPS[first] + definition.heading
  part = ", ".join(rest).replace("_", " ")
  return f"{definition.heading}, {part}" if part else definition.heading
