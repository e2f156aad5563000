"""Baselines: what normalised numbers are divided by."""

from __future__ import annotations

from collections.abc import Sequence

from robust_tfds import errors
from robust_tfds.eval.metrics import corruption_error

_MODEL = "model:"


def model_label(baseline: str) -> str:
  """The label in `model:<label>`; empty for any other baseline."""
  return baseline.removeprefix(_MODEL) if baseline.startswith(_MODEL) else ""


def check(baseline: str, labels: Sequence[str]) -> None:
  """UserError unless the baseline is published, a model of `labels`, or empty."""
  label = model_label(baseline)
  if label:
    if label not in labels:
      raise errors.unknown("baseline model", label, labels)
  elif baseline and baseline not in corruption_error.baselines():
    raise errors.unknown("baseline", baseline, corruption_error.baselines())
