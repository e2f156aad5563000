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
  "imagenet_vid_robust": ("acc_orig", "acc_pmk", "drop"),
  "ytbb_robust": ("acc_orig", "acc_pmk", "drop"),
}
# Which file has them, where it is not Hendrycks & Dietterich's.
_PAPERS = {
  "imagenet_vid_robust": "shankar2021_imagenet_vid_robust",
  "ytbb_robust": "shankar2021_ytbb_robust",
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
  paper = load_of(dataset)
  printed = paper["models"].get(model, {})
  wanted = {k: printed[k] for k in _METRICS.get(dataset, ()) if k in printed}
  return {**wanted, "source": paper["source"]} if wanted else {}


def networks(dataset: str, *metrics: str) -> dict[str, tuple[float, ...]]:
  """Printed name -> these metrics, of every network that has them all."""
  if any(m not in _METRICS.get(dataset, ()) for m in metrics):
    return {}
  return {
    printed["name"]: tuple(printed[m] for m in metrics)
    for printed in load_of(dataset)["models"].values()
    if all(m in printed for m in metrics)
  }


def intervals(dataset: str, *metrics: str) -> dict[str, tuple[float, ...]]:
  """Printed name -> (lo, hi) of these metrics, one after the other."""
  return {
    printed["name"]: tuple(
      end for m in metrics for end in printed.get(f"{m}_interval", ())
    )
    for printed in load_of(dataset)["models"].values()
  }


def testbed(dataset: str) -> dict[str, tuple[float, float]]:
  """Name -> (pm-0, pm-10) of the authors' testbed; empty where there is none."""
  paper = load_of(dataset)
  n = paper.get("anchors", 1)
  return {m: (a / n, b / n) for m, a, b in paper.get("testbed", ())}


def anchors(dataset: str) -> int | None:
  """How many anchor sets the printed numbers of a data set are of."""
  return load_of(dataset).get("anchors")


def load_of(dataset: str) -> Mapping:
  """The numbers of the paper that a data set comes from."""
  return load(_PAPERS.get(dataset, "hendrycks2019"))


def detectors(dataset: str) -> dict[str, tuple[float, ...]]:
  """Printed name -> (P, mPC) of box detectors of Michaelis et al. 2019."""
  names = {"coco_c": "coco", "pascal_c": "pascal_voc"}
  name = names.get(dataset, dataset.removesuffix("_c"))
  return {
    row["model"]: (row["p"] / 100, row["mpc"] / 100)
    for row in load("michaelis2019")["rows"]
    if row["dataset"] == name and row["task"] == "bbox"
  }
