"""Pivots of the table that several reports share; no report itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence

from eval import reports

# Task -> the benchmark's numbers, as (metric, heading).
HEADLINES: Mapping[str, Sequence[tuple[str, str]]] = {
  "classification": (
    ("clean_error", "Clean error"),
    ("mean_corruption_error", "Mean error (15)"),
    ("mce", "mCE"),
    ("relative_mce", "Relative mCE"),
    ("extra_mean_corruption_error", "Mean error (extra 4)"),
  ),
  "sequences": (
    ("clean_error", "Clean error"),
    ("mean_flip_probability", "Mean FP (10)"),
    ("mfr", "mFR"),
    ("mean_unnormalised_t5d", "Mean uT5D (10)"),
    ("mt5d", "mT5D"),
  ),
  "frames": (
    ("acc_orig", "pm-0"),
    ("acc_pmk", "pm-10"),
    ("drop", "Drop"),
    ("acc_static_worst", "Static worst frames"),
    ("effective_robustness", "Above the published line"),
  ),
  "detection": (
    ("p", "P"),
    ("mpc", "mPC"),
    ("rpc", "rPC"),
    ("mpc_all", "mPC (19)"),
    ("rpc_all", "rPC (19)"),
    ("mpc_validation", "mPC (validation 4)"),
    ("segm/p", "Mask P"),
    ("segm/mpc", "Mask mPC"),
    ("segm/rpc", "Mask rPC"),
  ),
  "video": (
    ("clean_accuracy", "Clean accuracy"),
    ("natural_accuracy", "Accuracy under natural shifts"),
    ("natural_category_accuracy", "Mean of the categories"),
    ("gamma_a", "gamma_a"),
    ("gamma_r", "gamma_r"),
    ("gamma_r/noise", "gamma_r, noise"),
    ("gamma_r/blur", "blur"),
    ("gamma_r/digital", "digital"),
    ("gamma_r/temporal", "temporal"),
    ("gamma_r/camera", "camera"),
  ),
}
# Where more is better; errors and drops are the rule.
_HIGHER = (
  "acc_orig",
  "acc_pmk",
  "acc_static_worst",
  "effective_robustness",
  "mean_ap",
  "segm/mean_ap",
  *(metric for metric, _ in HEADLINES["detection"]),
  *(metric for metric, _ in HEADLINES["video"]),
)
# Task -> the numbers of each corruption, plain and normalised.
DETAILS: Mapping[str, Sequence[tuple[str, str]]] = {
  "classification": (("mean_error", "error"), ("ce", "CE")),
  "sequences": (
    ("flip_probability", "FP"),
    ("fr", "FR"),
    ("unnormalised_t5d", "uT5D"),
    ("t5d", "T5D"),
  ),
  "frames": (),
  "detection": (("mean_ap", "AP"), ("segm/mean_ap", "mask AP")),
  "video": (("gamma_a", "gamma_a"), ("gamma_r", "gamma_r")),
}
# Task -> what one corruption is called, and the mean over the common ones.
_WORDS = {
  "classification": ("corruption", "CE and mCE", "mCE"),
  "sequences": ("perturbation", "FR, T5D, mFR and mT5D", "mFR and mT5D"),
  "frames": ("condition", "", ""),
  "detection": ("corruption", "", "mPC"),
  "video": ("perturbation", "", ""),
}
_DISTANCES = ("unnormalised_t5d", "mean_unnormalised_t5d", "zipf_distance")


def headlines(context: reports.Context) -> Sequence[tuple[str, str]]:
  """The task's headline numbers that the table has."""
  return _there(context, HEADLINES[context.task])


def details(context: reports.Context) -> Sequence[tuple[str, str]]:
  """The numbers of each corruption that the table has."""
  return _there(context, DETAILS[context.task])


def main_details(context: reports.Context) -> list[tuple[str, str]]:
  """Of every plain and normalised pair the normalised one, if it is there."""
  known = DETAILS[context.task]
  there = details(context)
  if context.task in ("detection", "video"):  # each for itself
    return list(there)
  pairs = zip(known[::2], known[1::2])
  return [
    normalised if normalised in there else plain
    for plain, normalised in pairs
    if plain in there
  ]


def noun(context: reports.Context) -> str:
  """`corruption` or `perturbation`."""
  return _WORDS[context.task][0]


def sections(context: reports.Context) -> list[tuple[str, list[str]]]:
  """(heading, names) of the common and the extra corruptions of the run."""
  kind = f"{noun(context)}s"
  listed = [
    (f"common {kind}", common(context)),
    (f"extra {kind} (never in {_WORDS[context.task][2]})", extra(context)),
  ]
  return [(heading, names) for heading, names in listed if names]


def text(metric: str, number: float) -> str:
  """A number as reports print it: rates in percent, distances as they are."""
  if metric in _DISTANCES:
    return "-" if math.isnan(number) else f"{number:.2f}"
  return percent(number)


def _there(context, listed):
  metrics = {r.metric for r in context.rows}
  return [(metric, label) for metric, label in listed if metric in metrics]


def value(context: reports.Context, model: str, **equal: object) -> float:
  """The one value with these columns; nan where there is none."""
  for row in context.rows:
    if row.model == model and all(
      getattr(row, k) == v for k, v in equal.items()
    ):
      return row.value
  return math.nan


def headline(context: reports.Context, model: str, metric: str) -> float:
  """A metric of the whole benchmark; nan where there is none."""
  return value(context, model, corruption="", config="", metric=metric)


def by_corruption(context: reports.Context, model: str, metric: str, name: str):
  """A metric of one corruption; nan where there is none.

  Over all severities, or of the easiest difficulty of a sequence.
  """
  return value(context, model, corruption=name, metric=metric)


def percent(number: float, digits: int = 1) -> str:
  """A fraction in percent, `-` for nan."""
  return "-" if math.isnan(number) else f"{100 * number:.{digits}f}"


def common(context: reports.Context) -> list[str]:
  """The run's common corruptions, in paper order."""
  return [n for n in context.corruptions if n in context.common]


def extra(context: reports.Context) -> list[str]:
  """The run's other corruptions."""
  return [n for n in context.corruptions if n not in context.common]


def missing(context: reports.Context) -> list[str]:
  """Common corruptions that the run lacks: without them there is no mCE."""
  return [n for n in context.common if n not in context.corruptions]


def best(numbers: Sequence[float], metric: str = "error") -> int | None:
  """Index of the best number of a metric, None where all are nan."""
  sign = -1 if metric in _HIGHER else 1
  real = [(sign * x, i) for i, x in enumerate(numbers) if not math.isnan(x)]
  return min(real)[1] if real else None


def note(context: reports.Context) -> str:
  """What normalised numbers mean in this run."""
  if context.task == "frames":
    return (
      "pm-0: right on the anchor; pm-10: right on the anchor and on every"
      " similar frame within 10."
    )
  if context.task == "detection":
    return (
      "P: AP (VOC: AP50) on clean images; mPC: its mean over the 15 corruptions"
      " and 5 severities; rPC: mPC / P."
    )
  if context.task == "video":
    return (
      "gamma_a: 1 - (clean accuracy - accuracy); gamma_r: accuracy / clean"
      " accuracy; means over severities, then perturbations, then groups."
    )
  if not context.baseline or context.baseline.startswith("none"):
    return "No baseline: plain means only."
  _, normalised, mean = _WORDS[context.task]
  said = (
    f"{normalised} are normalised by {context.baseline}; 100 is the baseline."
  )
  absent = missing(context)
  if absent:
    said += f" No {mean}: the run lacks {', '.join(absent)}."
  return said
