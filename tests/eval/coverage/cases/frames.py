"""pm-k of anchor sets: alone, and several of one video."""

import dataclasses
import functools
from collections.abc import Mapping
from unittest import mock

import ml_collections
import numpy as np
from scipy import stats

from eval import papers
from eval.cells.cell import Cell
from eval.metrics import trend
from eval.papers import testbed_kinds
from eval.tasks import base, frames
from robust_tfds.conditions import Condition
from tests.eval.coverage import case as case_lib

WORDS = (
  "Sets of an anchor and 20 neighbours, with what makes a video hard and what makes an"
  " anchor hard; harder sets move more. Where a video gives several anchors whole"
  " videos are drawn."
)
_OFFSETS = np.arange(-10, 11)
_VIDEO, _ANCHOR, _FRAME = 0.9, 0.6, 0.5  # standard deviations of the effects
_THRESHOLD = -0.6  # wrong below it
_LEVEL = 0.5  # of the CDF of distances
_CLASSES = 5
_HEADLINES = {"pm-0": "acc_orig", "pm-10": "acc_pmk", "drop": "drop"}
_BREAKDOWNS = {
  "pm-3": "acc_pmk/k=3",
  "pm-10, one class": "acc_pmk/class=0",
  "pm-10 before review": "acc_pmk/unreviewed",
  "error at offset 1": "error/offset=+1",
  "conditional": "conditional/distance=1",
  "l∞, pairs": f"linf_cdf/pairs={_LEVEL:.2f}",
  "l∞, mistakes": f"linf_cdf/mistakes={_LEVEL:.2f}",
}
_ABOVE = "effective robustness"
_FIELDS = {
  **{n: {"metric": m, "config": ""} for n, m in _HEADLINES.items()},
  **{n: {"metric": m, "config": "clean"} for n, m in _BREAKDOWNS.items()},
  _ABOVE: {"metric": "effective_robustness"},
}


@dataclasses.dataclass(frozen=True)
class Videos:
  """How the data sets are.

  Attributes:
    videos: how many.
    anchors: of each; 0: one to three, as many as the others have in the mean.
  """

  videos: int
  anchors: int

  @property
  def words(self) -> str:
    """For the table."""
    return f"{self.videos:,} videos with {self.anchors or '1-3'} anchors each"

  def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The columns of a model's predictions."""
    each = np.full(self.videos, self.anchors)
    each = (
      each if self.anchors else np.tile([1, 2, 3], self.videos)[: len(each)]
    )
    video = np.repeat(np.arange(self.videos), each)
    hard = rng.normal(0, _VIDEO, self.videos)[video]
    hard = hard + rng.normal(0, _ANCHOR, len(video))
    shape = len(video), len(_OFFSETS)
    noise = rng.normal(0, _FRAME, (2, *shape))
    wrong = hard[:, None] + noise[0] < _THRESHOLD
    levels = np.round(255 * stats.norm.cdf(noise[1] - hard[:, None]))
    label = rng.integers(0, _CLASSES, self.videos)[video]
    names = [f"a/v{v}_{i}/frame-1.jpg" for i, v in enumerate(video.tolist())]
    return columns(
      np.array(names), label, wrong, levels, rng.random(len(video)) < 0.9
    )


def columns(
  names: np.ndarray,
  label: np.ndarray,
  wrong: np.ndarray,
  levels: np.ndarray,
  reviewed: np.ndarray,
) -> dict[str, np.ndarray]:
  """A model's predictions of sets `[A]` with frames `[A, 21]`.

  Args:
    names: texts `[A]`.
    label: int `[A]`.
    wrong: bool `[A, 21]`.
    levels: distances from the anchor `[A, 21]`, 0 to 255.
    reviewed: bool `[A]`.
  """
  each = len(_OFFSETS)
  labels = np.full((wrong.size, 8), -1, np.int32)
  labels[:, 0] = np.repeat(label, each)
  top5 = np.full((wrong.size, 5), -1, np.int32)
  top5[:, 0] = np.where(wrong.ravel(), _CLASSES, labels[:, 0])
  frame = np.tile(_OFFSETS, len(names))
  distance = np.where(frame == 0, 0, levels.ravel() / 255)
  return {
    "example_id": np.arange(wrong.size).astype(str),
    "group_id": np.repeat(names, each),
    "frame": frame,
    "label": labels[:, 0],
    "labels": labels,
    "top5": top5,
    "reviewed": np.repeat(reviewed, each),
    "frame_type": np.full(wrong.size, ""),
    "fps": np.zeros(wrong.size, np.float32),
    "linf": distance.astype(np.float32),
  }


@functools.cache
def truth() -> Mapping[str, float]:
  """By Gauss-Hermite quadrature over what makes a set hard."""
  nodes, weights = np.polynomial.hermite_e.hermegauss(200)
  hard = np.hypot(_VIDEO, _ANCHOR) * nodes
  wrong = stats.norm.cdf((_THRESHOLD - hard) / _FRAME)
  highest = (np.floor(255 * _LEVEL) + 0.5) / 255
  near = stats.norm.cdf((stats.norm.ppf(highest) + hard) / _FRAME)

  def mean(values: np.ndarray) -> float:
    return float(values @ weights / weights.sum())

  right, mistaken = 1 - wrong, (1 - wrong) * wrong
  orig, pmk = mean(right), mean(right ** len(_OFFSETS))
  standard = papers.testbed("ytbb_robust", testbed_kinds.STANDARD)
  line = trend.fit(*zip(*standard.values()))
  return {
    "pm-0": orig,
    "pm-10": pmk,
    "drop": orig - pmk,
    "pm-3": mean(right**7),
    "pm-10, one class": pmk,
    "pm-10 before review": pmk,
    "error at offset 1": 1 - orig,
    "conditional": mean(right**2) / orig,
    "l∞, pairs": mean(near),
    "l∞, mistakes": mean(mistaken * near) / mean(mistaken),
    _ABOVE: float(line.above(orig, pmk)),
  }


def _case(of: Videos) -> case_lib.Case:
  task = frames.Frames(
    base.Setting("ytbb_robust", data=ml_collections.ConfigDict())
  )
  cell = Cell("m", "ytbb_robust", Condition())

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    drawn = of.draw(rng)
    whole = int(drawn["reviewed"][drawn["frame"] == 0].sum())
    with mock.patch.object(papers, "anchors", return_value=whole):
      rows = task.score([(cell, drawn)]).rows
    return case_lib.of_rows(rows, _FIELDS)

  return case_lib.Case(of.words, truth, intervals, sets=300)


CASES = tuple(
  _case(of) for of in (Videos(100, 1), Videos(100, 2), Videos(40, 0))
)
