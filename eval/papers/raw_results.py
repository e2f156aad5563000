"""The detection paper's raw results: P of every condition, apart from printed rows.

They are facts from the authors' raw data (bethgelab/robust-detection-benchmark,
MIT licence), rounded to six decimals; figures draw them, and the printed rows
follow from them or are doubtful.
"""

import functools
import statistics
from collections.abc import Mapping

from eval.papers import printed_rows
from robust_tfds import conditions
from robust_tfds.conditions import Condition

PAPER = "michaelis2019"
_LEVELS = ("0", "1", "2", "3", "4", "5")

Cells = Mapping[Condition, float]


@functools.cache
def files() -> Mapping[tuple[str, str, str], Cells]:
  """Return P of every condition by (data set, results file, `p` or `segm/p`)."""
  return _tables("raw_results")


@functools.cache
def rmse() -> Mapping[str, Cells]:
  """Return the RMSE of corrupted pixels by data set, as in the authors' file.

  Its differences wrap around in uint8, so that none exceeds 16: only Figure 6
  is drawn from it.
  """
  return {key[0]: cells for key, cells in _tables("rmse").items()}


def cells(dataset: str, file: str, metric: str = "p") -> Cells:
  """Return P of every condition of a results file; {} without any."""
  return files().get((dataset, file, metric), {})


def source(table: str = "raw_results") -> str:
  """Return the source of the numbers, in words."""
  return printed_rows.facts(PAPER)["raw_results"][table]


def _tables(name: str) -> dict[tuple[str, str, str], dict[Condition, float]]:
  out: dict[tuple[str, str, str], dict[Condition, float]] = {}
  for line in printed_rows.lines(PAPER, name):
    key = line["dataset"], line.get("model", ""), line["metric"]
    listed = out.setdefault(key, {})
    for level in _LEVELS:
      if level in line:
        corruption = line["corruption"] if level != "0" else ""
        listed[Condition(corruption, int(level))] = float(line[level])
  return out


def summary(performance: Cells) -> dict[str, float]:
  """Return `p`, `mpc` and `rpc` of a file's conditions, over the 15 common ones."""
  common = conditions.PICTURES.names("common")
  mean = statistics.fmean(v for c, v in performance.items() if c.name in common)
  return {
    "p": performance[Condition()],
    "mpc": mean,
    "rpc": mean / performance[Condition()],
  }
