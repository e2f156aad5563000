"""Printed numbers of the papers, to set beside ours; facts with their source.

One JSON file a paper: `source`, and `models` by our names (of several data sets
with tables of their own: `datasets`, then `models`), each with its printed
`name` and its numbers: fractions, or fractions by condition, with an empty name
for the whole benchmark. A number that no paper prints is absent.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Mapping
from typing import Any

from robust_tfds import reading

DETECTION = "michaelis2019"
_FOLDER = pathlib.Path(__file__).parent
# Data set -> the paper that prints its numbers.
_PAPERS = {
  "imagenet_c": "hendrycks2019",
  "imagenet_p": "hendrycks2019",
  "imagenet_vid_robust": "shankar2021_imagenet_vid_robust",
  "ytbb_robust": "shankar2021_ytbb_robust",
  "kinetics400_p": "schiappa2023",
  "ssv2_p": "schiappa2023",
  "ucf101_p": "schiappa2023",
  "hmdb51_p": "schiappa2023",
}
# What of a paper of several data sets belongs to each.
_METRICS = {
  "imagenet_c": ("clean_error", "mce", "relative_mce", "ce", "relative_ce"),
  "imagenet_p": ("clean_error", "mfr", "mt5d", "fr", "t5d"),
}
# Our names of the detection paper's data sets.
_DETECTION_SETS = {
  "coco_c": "coco",
  "pascal_c": "pascal_voc",
  "cityscapes_c": "cityscapes",
}

Numbers = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class DetectionRow:
  """A row of Michaelis et al. 2019, in percent.

  Attributes:
    where: the table.
    dataset: `coco`, `pascal_voc` or `cityscapes`.
    model: name of the raw results file that it is printed of.
    task: `bbox` or `segm`.
    metric: `AP`, of VOC `AP50`.
    p: performance on clean images.
    mpc: mean performance under corruption; None where it is not printed.
    rpc: their ratio.
    note: why the number does not follow from the file, where it does not.
  """

  where: str
  dataset: str
  model: str
  task: str
  metric: str
  p: float | None
  mpc: float | None
  rpc: float | None
  note: str

  @property
  def numbers(self) -> tuple[float | None, float | None, float | None]:
    """P, mPC and rPC."""
    return self.p, self.mpc, self.rpc


def names() -> tuple[str, ...]:
  """Names of the papers' files."""
  return tuple(sorted(p.stem for p in _FOLDER.glob("*.json")))


@functools.cache
def load(name: str) -> Numbers:
  """A paper's file as it is."""
  return reading.json_file(_FOLDER / f"{name}.json")


def printed(model: str, dataset: str) -> dict[str, Any]:
  """What is printed of a model on a data set; empty where nothing is.

  Returns:
    Metric -> fraction, or -> condition -> fraction; `source` in words.
  """
  numbers = {
    metric: value
    for metric, value in _models(dataset).get(model, {}).items()
    if _belongs(metric, dataset)
  }
  return {**numbers, "source": _paper(dataset)["source"]} if numbers else {}


def networks(dataset: str, *metrics: str) -> dict[str, tuple[float, ...]]:
  """Printed name -> these metrics, of every network that has them all."""
  if not all(_belongs(m, dataset) for m in metrics):
    return {}
  return {
    numbers["name"]: tuple(numbers[m] for m in metrics)
    for numbers in _models(dataset).values()
    if all(m in numbers for m in metrics)
  }


def intervals(dataset: str, *metrics: str) -> dict[str, tuple[float, ...]]:
  """Printed name -> (lo, hi) of these metrics, one after the other."""
  return {
    numbers["name"]: tuple(
      end for m in metrics for end in numbers.get(f"{m}_interval", ())
    )
    for numbers in _models(dataset).values()
  }


def testbed(dataset: str) -> dict[str, tuple[float, float]]:
  """Name -> (pm-0, pm-10) of the authors' testbed; empty where there is none."""
  paper = _paper(dataset)
  n = paper.get("anchors", 1)
  return {m: (a / n, b / n) for m, a, b in paper.get("testbed", ())}


def anchors(dataset: str) -> int | None:
  """How many anchor sets the printed numbers of a data set are of."""
  return _paper(dataset).get("anchors")


def detection_rows() -> list[DetectionRow]:
  """The printed rows of Michaelis et al. 2019 that have raw results."""
  return [DetectionRow(**row) for row in load(DETECTION)["rows"]]


def detectors(dataset: str) -> dict[str, tuple[float, float]]:
  """Printed name -> (P, mPC) of box detectors of Michaelis et al. 2019."""
  name = _DETECTION_SETS.get(dataset, dataset)
  return {
    row.model: (row.p / 100, row.mpc / 100)
    for row in detection_rows()
    if row.dataset == name
    and row.task == "bbox"
    and row.p is not None
    and row.mpc is not None
  }


def _paper(dataset: str) -> Numbers:
  """The paper that a data set comes from; empty where none prints it."""
  return load(_PAPERS[dataset]) if dataset in _PAPERS else {}


def _models(dataset: str) -> Mapping[str, Numbers]:
  """Our name -> the printed numbers of a model on a data set."""
  paper = _paper(dataset)
  if "datasets" in paper:
    return paper["datasets"][dataset]
  return paper.get("models", {})


def _belongs(metric: str, dataset: str) -> bool:
  """Whether a metric of a paper is one of the data set's table."""
  if metric == "name" or metric.endswith("_interval"):
    return False
  return metric in _METRICS.get(dataset, (metric,))
