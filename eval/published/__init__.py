"""Printed numbers of the papers, to set beside ours; facts with their source."""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Mapping

_FOLDER = pathlib.Path(__file__).parent
# Sets whose numbers the paper prints, and the metrics that belong to each.
_METRICS = {
  "imagenet_c": ("clean_error", "mce", "relative_mce"),
  "imagenet_p": ("clean_error", "mfr", "mt5d", "fr", "t5d"),
}


@functools.cache
def load(name: str = "hendrycks2019") -> Mapping:
  """A paper's numbers: `source`, `models` by our names."""
  return json.loads((_FOLDER / f"{name}.json").read_text("utf-8"))


def of(model: str, dataset: str) -> dict[str, object]:
  """What is printed of a model on a data set; empty where nothing is.

  Returns:
    Metric -> fraction, `fr` and `t5d` by perturbation; `source` in words.
  """
  printed = load()["models"].get(model, {})
  wanted = {k: printed[k] for k in _METRICS.get(dataset, ()) if k in printed}
  return {**wanted, "source": load()["source"]} if wanted else {}


def networks(dataset: str, *metrics: str) -> dict[str, tuple[float, ...]]:
  """Printed name -> these metrics, of every network that has them all."""
  if any(m not in _METRICS.get(dataset, ()) for m in metrics):
    return {}
  return {
    printed["name"]: tuple(printed[m] for m in metrics)
    for printed in load()["models"].values()
    if all(m in printed for m in metrics)
  }
